"""What a recrawl has changed: what came, changed, moved and went, and nothing else is delivered."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.report.changes import Changes
from tests.plugin.spiders import Site, moving_site
from tests.support import crawling
from tests.support.commands import run
from tests.support.crawling import ROOT, Crawl, crawl, document, serving
from tests.support.pages import text

Pages = dict[str, str]


def page(number: int, *more: str) -> str:
    return document(f"Page {number}", "".join(f"<p>{one}</p>" for one in (text(number, 60), *more)))


def day(folder: Path, url: str, paths: Sequence[str], **settings: object) -> Crawl:
    given = {"CONCURRENT_REQUESTS": 1, "DEDUP_UNCHANGED": "drop", "DEDUP_STORE_PAGES": True, **settings}
    urls = json.dumps([url.rstrip("/") + path for path in paths])
    return crawl(folder, "tests.plugin.spiders.ListedSpider", given, {"urls": urls})


def feed(folder: Path) -> list[dict[str, Any]]:
    with SQLiteIndex(folder / "pages.db", read_only=True) as index:
        records = list(Changes(index, index.runs.all()[-1].id))
    assert all(map(of_schema, records))
    return records


def of_schema(record: Mapping[str, Any]) -> bool:
    """Return whether the schema in the documentation has the fields of *record*."""
    schema = json.loads((ROOT / "docs/reference/changes.schema.json").read_text("utf-8"))
    one = schema["oneOf"][record["change"] == "summary"]
    change = one["properties"]["change"]
    is_known = record["change"] in change.get("enum", [change.get("const")])
    return is_known and set(one["required"]) <= set(record) <= set(one["properties"])


def told(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for record in feed(folder)[:-1]:
        found.setdefault(record["change"], set()).add(path_of(record["url"]))
    return found


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def delivered(done: Crawl) -> set[str]:
    paths = [path_of(item["url"]) for item in done.items]
    assert len(paths) == len(set(paths))
    return set(paths)


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_a_page_met_twice_in_a_crawl_is_told_by_the_first_time(tmp_path: Path, unchanged: str) -> None:
    pages: Pages = {f"/{number}": page(number) for number in range(4)}
    with serving(pages) as url:
        day(tmp_path, url, ["/0", "/1", "/2", "/0"], DEDUP_UNCHANGED=unchanged)
        pages["/0"] = page(0, text(77, 12))
        day(tmp_path, url, ["/0", "/1", "/3", "/0", "/3"], DEDUP_UNCHANGED=unchanged)
    assert told(tmp_path) == {"changed": {"/0"}, "added": {"/3"}}


@pytest.mark.parametrize("order", ["old first", "new first"])
def test_what_moved_is_added_there_and_removed_here_and_ten_are_removed(
    tmp_path: Path, order: str
) -> None:
    old = [f"/old/{number}" for number in range(20)]
    pages: Pages = {path: page(number) for number, path in enumerate(old)}
    with serving(pages) as url:
        day(tmp_path, url, old)
        new = [f"/new/{number}" for number in range(10)]
        pages.clear()
        pages |= {path: page(number) for number, path in enumerate(new)}
        pages |= {f"/old/{number}": f"/new/{number}" for number in range(1, 10, 2)}  # redirects
        both = [*old, *new] if order == "old first" else [*new, *old]
        done = day(tmp_path, url, both)
        assert told(tmp_path) == {"added": set(new), "removed": set(old)}
        assert delivered(done) == set(new)
        assert "10 added, 0 changed, 20 removed, 0 unchanged" in done.log
        # Links to what is gone are no news the next day.
        again = day(tmp_path, url, both)
    assert told(tmp_path) == {}
    assert delivered(again) == set()


def test_what_came_and_what_changed_word_by_word(tmp_path: Path) -> None:
    pages: Pages = {f"/{number}": page(number, "One line that stays.") for number in range(5)}
    with serving(pages) as url:
        first = day(tmp_path, url, list(pages))
        assert told(tmp_path) == {"added": set(pages)}
        assert "since" not in first.log.split("Deduplication of run")[1]
        pages["/1"] = page(1, "One line that went.")
        pages["/5"] = page(5)
        done = day(tmp_path, url, list(pages))
    assert told(tmp_path) == {"added": {"/5"}, "changed": {"/1"}}
    changed = next(record for record in feed(tmp_path) if record["change"] == "changed")
    said = [changed[what] for what in ("came", "went", "words_came", "words_went")]
    assert said == [["One line that went."], ["One line that stays."], 1, 1]
    assert delivered(done) == {"/1", "/5"}
    assert feed(tmp_path)[-1].items() >= {"change": "summary", "unchanged": 4, "partial": False}.items()


def test_a_page_that_shows_again_what_it_showed_is_no_news_until_it_stays(tmp_path: Path) -> None:
    pages, said = Pages(), []
    with serving(pages) as url:
        for number in [1, 2, 1, 2, 1, 1, 1, 2]:
            pages["/"] = page(number)
            done = day(tmp_path, url, ["/"])
            said.append((len(done.items), *told(tmp_path)))
    new, changed, same = (1, "added"), (1, "changed"), (0,)
    assert said == [new, changed, same, same, same, changed, same, same]


def test_what_comes_back_is_delivered_again(tmp_path: Path) -> None:
    pages = dict.fromkeys(paths := ["/", "/a", "/a?print"], page(1)) | {"/": page(0)}
    with serving(pages) as url:
        assert delivered(day(tmp_path, url, paths)) == {"/", "/a"}
        gone = pages.pop("/a")
        # Its text stands at the other address alone: it must not be lost with this one.
        assert delivered(day(tmp_path, url, paths)) == {"/a?print"}
        assert told(tmp_path) == {"added": {"/a?print"}, "removed": {"/a"}}
        del pages["/a?print"]
        assert delivered(day(tmp_path, url, paths)) == set()
        assert told(tmp_path) == {"removed": {"/a?print"}}
        pages["/a"] = gone
        assert (delivered(day(tmp_path, url, paths)), told(tmp_path)) == ({"/a"}, {"added": {"/a"}})
        assert delivered(day(tmp_path, url, paths)) == set()


def test_what_was_a_copy_for_a_day_is_delivered_again(tmp_path: Path) -> None:
    pages: Pages = {"/": page(0), "/a": page(1)}
    with serving(pages) as url:
        day(tmp_path, url, ["/", "/a"])
        pages["/a"] = page(0)
        assert delivered(day(tmp_path, url, ["/", "/a"])) == set()
        assert [one.get("copy_of") for one in feed(tmp_path)] == [url, None]
        pages["/a"] = page(1)
        assert delivered(day(tmp_path, url, ["/", "/a"])) == {"/a"}
        assert told(tmp_path) == {"changed": {"/a"}}
        assert delivered(day(tmp_path, url, ["/", "/a"])) == set()


def test_what_a_whole_copy_has_elsewhere_comes_again_once_that_changes(tmp_path: Path) -> None:
    pages: Pages = {"/a": page(1), "/b": page(1)}
    with serving(pages) as url:
        assert delivered(day(tmp_path, url, ["/a", "/b"])) == {"/a"}
        assert delivered(day(tmp_path, url, ["/b", "/a"], DEDUP_UNCHANGED="keep")) == {"/b"}
        assert delivered(day(tmp_path, url, ["/a", "/b"])) == set()
        pages["/b"] = page(2)
        assert delivered(day(tmp_path, url, ["/b", "/a"])) == {"/a", "/b"}


@pytest.mark.parametrize("order", [["/b", "/a"], ["/a", "/b"], ["/c", "/b", "/a"]])
@pytest.mark.parametrize("now", [page(2), page(3)])
def test_a_text_that_moved_is_delivered_though_its_old_address_shows_another_one(
    tmp_path: Path, order: list[str], now: str
) -> None:
    """As posts do whose numbers shift: also where the old address now repeats a third page.

    A server may answer after the last request, and then the next crawl delivers it.
    """
    pages: Pages = {"/a": page(1), "/b": page(4), "/c": page(5), "/d": page(3)}
    with serving(pages) as url:
        assert delivered(day(tmp_path, url, list(pages))) == {*pages}
        pages |= {"/a": now, "/b": page(1), "/c": page(1)}
        done = day(tmp_path, url, [*order, "/d"])
        came = delivered(done) | delivered(day(tmp_path, url, [*order, "/d"]))
    assert (len(came & {"/b", "/c"}), "/a" in came, "/d" in came) == (1, now == page(2), False)
    assert delivered(done) == came or "://" in crawling.index_of(tmp_path)


def test_nothing_is_removed_that_was_not_asked_for_or_failed(tmp_path: Path) -> None:
    pages: dict[str, Any] = {f"/{number}": page(number) for number in range(6)}
    with serving(pages) as url:
        day(tmp_path, url, list(pages))
        pages |= {"/1": 500, "/2": 403, "/3": "/5"}
        del pages["/4"]
        done = day(tmp_path, url, ["/0", "/1", "/2", "/3"], RETRY_ENABLED=False)
    assert told(tmp_path) == {}
    assert "2 unchanged, 4 not met again (dedup report --changes tells each)\n" in done.log
    with SQLiteIndex(tmp_path / "pages.db", read_only=True) as index:
        lines = list(Changes(index, index.runs.all()[-1].id).told())
    assert f"4 pages not met again: {url}1, {url}2, {url}3 and 1 more" in lines
    assert feed(tmp_path)[-1]["unchanged"] == 2


class Edited(Site):
    """Articles of which some change by a word, in a site where all else moves."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[int, str] = {}

    def body(self, number: int) -> str:
        return self.said.get(number) or super().body(number)


def test_on_a_site_where_all_moves_what_changed_is_delivered_and_nothing_else(tmp_path: Path) -> None:
    site, paths, draw = Edited(), [f"/{number}/0" for number in range(50)], Random(5)
    with moving_site(site) as (url, _):
        day(tmp_path, url, paths)
        for number in range(2):
            changed, words = draw.sample(range(50), 5), {}
            for one in changed:
                words[one] = text(one, 150).split()
                words[one][draw.randrange(150)] = f"new{number}"
                site.said[one] = f"<p>{' '.join(words[one])}</p>"
            paths.append(f"/{50 + number}/0")
            assert delivered(day(tmp_path, url, paths)) == {*(f"/{one}/0" for one in changed), paths[-1]}
            for record in feed(tmp_path)[:-2]:
                one = int(path_of(record["url"]).split("/")[1])
                assert (record["words_came"], record["came"]) == (1, [" ".join(words[one])])


def test_a_crawl_that_was_stopped_tells_that_it_is_partial(tmp_path: Path) -> None:
    pages: Pages = {f"/{number}": page(number) for number in range(9)}
    with serving(pages) as url:
        day(tmp_path, url, list(pages))
        done = day(tmp_path, url, list(pages), CLOSESPIDER_PAGECOUNT=2)
    assert feed(tmp_path)[-1]["partial"] is True
    assert "(partial: the crawl did not end)" in done.log
    assert "removed" not in told(tmp_path)


def test_the_report_escapes_what_pages_say_and_tells_edits_before_counters(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        for number in range(2):
            with Detector(index, DedupConfig(store_pages=True), spider="one") as detector:
                for n in range(7):
                    end = f"Read {n + number} times" if n < 6 else f"evil{number} \x1b[31m\u202e"
                    detector.check(Page.from_text(f"{text(n, 20)}\n{end}", url=f"http://a/{n}"))
    *shown, counts = run("report", "--changes", tmp_path / "pages.db").output.splitlines()
    assert shown == [
        "changed   http://a/6 (+1 -1 words)",
        "  - evil0 \\x1b[31m\\u202e",
        "  + evil1 \\x1b[31m\\u202e",
        "6 pages changed only in “Read # times”: http://a/0, http://a/1, http://a/2 and 3 more",
    ]
    assert counts.endswith("0 added, 7 changed, 0 unchanged")
