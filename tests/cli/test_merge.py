from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import Detector, SQLiteIndex
from dedup.cli import main
from tests.support.pages import edited, page, text


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def crawl(path: str, *contents: str) -> None:
    with SQLiteIndex(path) as index, Detector(index, spider="s") as detector:
        for number, content in enumerate(contents):
            detector.check(page(content, f"http://{path}/{number}"))


def urls(path: str) -> list[tuple[str, bool]]:
    with SQLiteIndex(path, create=False) as index:
        assert index.problems() == []
        return [(row.sighting.url, row.verdict.kept) for row in index.rows()]


def test_two_indexes_become_one_by_the_thresholds_of_settings() -> None:
    crawl("one.db", text(1), text(2))
    crawl("two.db", edited(1), text(3))
    before = Path("one.db").read_bytes()
    for other in ("one.db", "two.db"):
        assert f"{other}: 2 rows, 0 known already, 2 new (" in run("merge", other, "all.db").stdout
    assert Path("one.db").read_bytes() == before
    assert [kept for _, kept in urls("all.db")] == [True, True, False, True]
    again = run("merge", "two.db", "all.db").stdout
    assert again == "two.db: 2 rows, 2 known already, 0 new (0 of them kept)\n"
    assert run("merge", "two.db", "one.db", "-s", "DEDUP_MAX_LOST_WORDS=0").exit_code == 0
    assert urls("one.db")[2] == ("http://two.db/0", True)


def test_a_name_is_inert_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.cli.options.is_watched", lambda: True)
    name = "\x1b]0;title\x07[bold].db"
    crawl(name, text(1))
    done = run("merge", name, "other.db")
    assert done.exit_code == 0
    assert "merging \\x1b]0;title\\x07[bold].db" in done.stderr
    assert "\x1b]" not in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["merge"], 2, "Missing argument 'OTHER'"),
        (["merge", "none.db", "x.db"], 1, "none.db does not exist"),
        (
            ["merge", "one.db"],
            1,
            "there is no Scrapy project here, and no .scrapy/dedup.db; name an index",
        ),
        (["merge", "one.db", "one.db"], 0, "one.db: 1 rows, 1 known already, 0 new (0 of them kept)"),
        (["merge", "page.txt", "x.db"], 1, "page.txt is not an index"),
    ],
)
def test_mistakes_are_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    # Who reads the settings of a project in this process sets it.
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    crawl("one.db", text(1))
    Path("page.txt").write_text("some words of a text")
    done = run(*arguments)
    assert (done.exit_code, message in done.output) == (code, True), done.output
    assert not Path("x.db").exists()
