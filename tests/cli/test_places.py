"""``dedup places``."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.cli import main
from dedup.index.notes import SiteNoise, all_noise, put_noise
from dedup.index.rows import Note
from dedup.reading.noise import Evidence, Gap
from tests.support.pages import text

VIEWS = Gap("html>body>p", ("Views", ":"), ("$", "$"))
NUMBER = Gap("html>body>p", (":",), ("$",), is_number=True)
ONLINE = Gap("div#online>ul>li", heading="Who is \x1b[31monline")
STAYS = Gap("html>body>p", ("Price", ":"), ("$", "$"))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    moved = Evidence(moved=4, example="Views: 17")
    once = moved._replace(moved=1, crawls=1)
    gaps = {VIEWS: moved, NUMBER: moved, ONLINE: moved, STAYS: Evidence(moved=1, stayed=5)}
    with SQLiteIndex(path) as opened:
        put_noise(opened.store, SiteNoise("site", "news.example", 1, gaps))
        put_noise(opened.store, SiteNoise("site", "a.example", 1, {VIEWS: once}))
        opened.store.put(Note("noise.damaged", "[1, 2"), Note("noise.odd", "[[], 1, 2, [[1]]]"))
    return path


def run(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["places", *arguments])
    assert done.exit_code == code, done.output
    assert "\x1b" not in done.output
    return done


def test_lists_what_is_left_out(index: Path) -> None:
    lines = run(str(index)).output.splitlines()
    assert lines[0] == "  1  a.example: Views: #"
    assert lines[1] == "     changed on 2 pages, stayed on 0; in html>body>p"
    assert lines[2] == "     Views: 17"
    assert [line for line in lines if line[2:3].isdigit()][1:] == [
        "  2  news.example: Views: #",
        "  3  news.example: Who is \\x1b[31monline: #",
    ]


def test_a_place_is_switched_off_with_what_is_in_it(index: Path) -> None:
    said = run(str(index), "--off", "2").output
    assert said == "news.example: Views: # is not left out any more\n"
    with SQLiteIndex(index) as opened:
        off = {
            site.host: {gap for gap, one in site.gaps.items() if one.is_off}
            for site in all_noise(opened.store)
        }
        assert off == {"news.example": {VIEWS, NUMBER}, "a.example": set()}
    assert "2  news.example: Views: # (off)" in run(str(index)).output


def test_a_place_that_is_not_there_is_an_error(index: Path, tmp_path: Path) -> None:
    assert "there is no place 9; see `dedup places`" in run(str(index), "--off", "9", code=1).output
    with SQLiteIndex(tmp_path / "empty.db"):
        pass
    assert "no places are known" in run(str(tmp_path / "empty.db")).output


def test_the_report_and_an_explanation_tell_what_was_left_out(index: Path) -> None:
    with SQLiteIndex(index) as opened, Detector(opened, DedupConfig(store_pages=True)) as detector:
        for number, line in enumerate(("Likes: 17", "Views: 17", "Views:")):
            html = f"<body><p>{text(number)}</p><p>{line}</p>"
            url = f"http://a.example/{number}"
            detector.check(Page.from_html(html, url=url, with_places=True))
    report = CliRunner().invoke(main, ["report", "--index", str(index)]).output
    assert "  a.example\n    body > p “Views: [17]” (2 pages)\n" in report
    for number in range(3):  # the last one as it is stored without what is left out
        shown = CliRunner().invoke(main, ["explain", f"http://a.example/{number}", str(index)]).output
        assert ("  left out body > p “Views: [17]” (2 pages)\n" in shown) is bool(number)
