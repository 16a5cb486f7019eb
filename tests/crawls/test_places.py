"""What somebody says of a place where copies differ is obeyed by the next crawl, through the whole of it."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dedup import DedupConfig, SQLiteIndex
from dedup.files.marks_file import read_marks, write_marks
from dedup.index import Index
from dedup.report.clusters import GREEN, RED, Report
from tests.plugin.spiders import moving_site
from tests.plugin.test_probes import run
from tests.support.crawling import crawl, document
from tests.support.pages import text

SIZES, NAMES = ("S", "M", "L"), ("anna", "bert", "carl", "dora")
PATHS = [f"/{kind}/{n}/{turn}" for kind in ("jacket", "news") for n in range(4) for turn in range(3)]


JACKETS = {path for path in PATHS if path.startswith("/jacket")}


def path_of(item: dict[str, Any]) -> str:
    return urlsplit(str(item["url"])).path


def answer(path: str, _: int) -> str:
    """Return a jacket in a size, which is all that tells it from the next, or news, once for print."""
    kind, number, turn = path[1:].split("/")
    seed = int(number) + 10 * (kind == "news")
    said = f"<h1>{kind} {number}</h1><p>{text(seed, 150)}</p>"
    if kind == "jacket":
        return document(f"Jacket {seed}", f"{said}<p class='v'>Size {SIZES[int(turn)]}, colour red</p>")
    printed = f"<div class='printed'>Printed from our site by {NAMES[int(number)]}</div>"
    return document(f"News {seed}", said + printed * (turn == "2"))


def last(index: Index, path: Path) -> Report:
    run = max(one.id for one in index.runs.all())
    return Report(index, DedupConfig(exceptions=read_marks(path)[1]), run)


@pytest.mark.parametrize("spider", ["ListedSpider", "LinesSpider"])
@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_the_next_crawl_obeys_marks_on_a_place(tmp_path: Path, spider: str, unchanged: str) -> None:
    given: dict[str, Any] = {"DEDUP_PROBES": 0, "DEDUP_UNCHANGED": unchanged, "spider": spider}
    given |= {"DEDUP_TEXT_FIELDS": ["text"]} if spider == "LinesSpider" else {}
    first, _ = run(tmp_path, answer, PATHS, **given)
    known, marks = {path_of(item) for item in first.items}, tmp_path / "pages.marks.csv"
    with SQLiteIndex(tmp_path / "pages.db", read_only=True) as index:
        found = last(index, marks)
        places = {place.shown.split()[0]: place for place in found.losses.places}
        assert found.colour == RED
    assert {name: (len(place.copies), bool(place.records)) for name, place in places.items()} == {
        "Size": (len(JACKETS - known), True),
        "Printed": (len({f"/news/{number}/2" for number in range(4)} - known), False),
    }
    for name, says in (("Size", "different"), ("Printed", "copy")):
        if gap := places[name].name:
            cells = {"site": places[name].host, "says": says, "place": gap}
            write_marks(marks, read_marks(marks)[0].with_mark(cells))
    second, _ = run(tmp_path, answer, PATHS, **given)
    kept = {path_of(item) for item in second.items}
    assert kept & JACKETS == (JACKETS if unchanged == "keep" else JACKETS - known)
    assert not any(path.endswith("/2") for path in kept - JACKETS)
    third, _ = run(tmp_path, answer, PATHS, **given)
    assert len(third.items) == (16 if unchanged == "keep" else 0)
    with SQLiteIndex(tmp_path / "pages.db", read_only=True) as index:
        assert last(index, marks).colour == GREEN


def test_a_mark_is_about_all_that_is_shown_to_differ_in_a_place(tmp_path: Path) -> None:
    """Two numbers of jackets in one size differ in the middle, and others at the end, too."""
    numbers = ("A1-204-S", "A1-307-S", "A1-307-M")

    def shop(path: str, _: int) -> str:
        kind, turn = path[1:].split("/")
        said = f"<h1>{kind}</h1><p>{text(int(kind), 150)}</p>"
        return document(f"Jacket {kind}", f"{said}<p class='sku'>Item no. {numbers[int(turn)]}</p>")

    paths = [f"/{kind}/{turn}" for kind in range(3) for turn in range(3)]
    first, _ = run(tmp_path, shop, paths, DEDUP_PROBES=0)
    assert len(first.items) < 7
    assert "obeyed" not in first.log
    marks = tmp_path / "pages.marks.csv"
    with SQLiteIndex(tmp_path / "pages.db", read_only=True) as index:
        (place,) = last(index, marks).losses.places
    assert place.shown == "Item no. A1-#-#"
    write_marks(marks, read_marks(marks)[0].with_mark({**place.mark._asdict(), "says": "different"}))
    second, _ = run(tmp_path, shop, paths, DEDUP_PROBES=0)
    assert len(second.items) == 9
    assert f"1 mark obeyed, of {marks}" in second.log
    with SQLiteIndex(tmp_path / "pages.db", read_only=True) as index:
        again = Report(index, DedupConfig(exceptions=read_marks(marks)[1]), 1)
        assert (again.losses.places, place.name in read_marks(marks)[1].places[0]) == ([], True)


def test_a_place_that_is_most_of_a_page_is_never_left_out(tmp_path: Path) -> None:
    def whole(path: str, _: int) -> str:
        return document("Text", f"<p class='text'>{text(int(path[1:]), 150)}</p>")

    cells = {"site": "127.0.0.1", "says": "copy", "place": '["body>p.text", [], [], "", false]'}
    write_marks(tmp_path / "pages.marks.csv", read_marks(tmp_path / "none")[0].with_mark(cells))
    done, _ = run(tmp_path, whole, ["/1", "/2", "/3"])
    assert len(done.items) == 3


def test_a_mark_tells_of_pages_that_were_kept_before_it(tmp_path: Path) -> None:
    """A price is marked: the first crawl has stored what pages say there, so that copies are known."""
    prices = {"jacket": "29.50", "coat": "85.00", "hat": "12.00", "cap": "12.50"}

    def shop(path: str, _: int) -> str:
        kind, turn = path[1:].split("/")
        said = f"<h1>Of wool</h1><p>{text(len(kind) > 3, 150)}</p><p>EUR {prices[kind]}</p>"
        return document("Of wool", said + "<p>Linked by the index</p>" * (turn == "0"))

    def crawled(*turns: int) -> list[str]:
        urls = json.dumps([f"{site}/{kind}/{turn}" for kind in prices for turn in turns])
        given = {"CONCURRENT_REQUESTS": 1, "DEDUP_PROBES": 0}
        done = crawl(tmp_path, "tests.plugin.spiders.ListedSpider", given, {"urls": urls})
        return [path_of(item) for item in done.items]

    marks, place = tmp_path / "pages.marks.csv", '["html>body>p", ["EUR"], ["$"], "", false]'
    cells = {"site": "127.0.0.1", "says": "different", "place": place}
    with moving_site(shop) as (site, _):
        assert len(crawled(0)) < len(prices)
        write_marks(marks, read_marks(marks)[0].with_mark(cells))
        assert crawled(0, 1) == crawled(0, 1) == [f"/{kind}/0" for kind in prices]
