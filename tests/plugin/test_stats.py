"""What a crawl tells: of items that are records, not pages, of copies and keys, its stats and its summary."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Reason, Verdict
from dedup.model.verdict import FATE_OF
from dedup.plugin.stats import DuplicatePage, advice
from dedup.reading.markup import Excess
from dedup.report.text import MIN_COPIES
from tests.plugin import crawls
from tests.plugin.spiders import RecordSpider
from tests.support.crawling import KNOBS, ROOT, crawl
from tests.support.pages import edited, text

LONG = text(1, 300)
TEXTS: dict[str, Any] = {"DEDUP_TEXT_FIELDS": ["name", "description", "price", "address", "tags"]}
items = partial(crawls.items, spider="RecordSpider")


def product(size: int, **fields: Any) -> dict[str, Any]:
    return {"sku": f"s{size}", "name": "Tea", "description": LONG, "price": size, **fields}


PRODUCTS = [product(size) for size in range(12)]


def test_records_are_kept_and_not_judged(tmp_path: Path) -> None:
    done = items(tmp_path, *PRODUCTS, DEDUP_UNCHANGED="drop")
    assert done.items == PRODUCTS
    assert done.dedup() == {"seen": 12, "kept": 12, "not_judged": 12}
    assert done.log.count("An item holds no whole page (its fields are sku, name, description,") == 1
    assert "items by `html`, if it is a whole page; others are not judged" in done.log
    assert "NOTHING WAS JUDGED: the items hold no whole pages, and no fields were named" in done.log
    assert crawls.rows(tmp_path) == []


class Unwritable:
    def __str__(self) -> str:
        raise ValueError


class UnwritableSpider(RecordSpider):
    def found(self) -> Iterator[Any]:
        yield {"name": "Tea", "field": Unwritable()}


def test_a_record_that_cannot_be_told_of_is_kept(tmp_path: Path) -> None:
    done = crawl(tmp_path, f"{__name__}.UnwritableSpider", {"FEEDS": {}})
    assert (done.stats.get("item_scraped_count"), done.dedup()["not_judged"]) == (1, 1)


def test_items_with_a_part_of_a_page_are_records(tmp_path: Path) -> None:
    posts = [{"id": n, "html": "<div><p>Thanks, that has solved it!</p></div>"} for n in range(4)]
    assert items(tmp_path, *posts).items == posts
    assert items(tmp_path, *posts, DEDUP_TEXT_FIELDS=["html"]).items == posts[:1]


def test_the_same_key_again_is_judged_by_what_it_says(tmp_path: Path) -> None:
    found = product(1), product(1), product(1, description=text(2, 300))
    done = items(tmp_path, *found, DEDUP_KEY_FIELDS=["sku"], **TEXTS)
    assert [item["description"] for item in done.items] == [LONG, text(2, 300)]
    assert 'Dropped exact_duplicate: <data:,start> ["s1"] repeats' in done.log


def test_items_of_one_response_are_siblings_and_come_again(tmp_path: Path) -> None:
    quotes = [{"name": text(n)} for n in range(5)] + [{"name": edited(0)}]
    first = items(tmp_path, *quotes, DEDUP_TEXT_FIELDS=["name"])
    second = items(tmp_path, *quotes, DEDUP_TEXT_FIELDS=["name"])
    assert first.items == second.items == quotes[:5]
    assert second.dedup()["unchanged"] == 6
    assert {row.sighting.url for row in crawls.rows(tmp_path)} == {"data:,start"}


TEXT = "the names of the fields with their text"


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ({"id": 7, "headline": "Sea", "text": LONG, "date": "2026-11-01"}, '["headline", "text"]'),
        ({"word": "tea", "definitions": ["a drink", "a meal"], "usage": {"n": 7}}, '["definitions"]'),
        ({"title": "Sea", "lines": ["The tide", "is low"], "sku": "s1"}, '["title", "lines"]'),
        ({"isbn": "9780306406157", "key": "k", "sku": "s", "summary": "The sea."}, '["summary"]'),
        ({"href": "http://a/" + "tide-" * 80, "image": "data:image/png;base64," + "iVBO" * 90}, TEXT),
        ({"headline": "Low tide", "sku": "s1", "price": 7, "note": None}, TEXT),
        ({"content": [f"<p>{LONG * 4}</p>"], "\x1b[31m": 1}, '["content"]'),
    ],
)
def test_the_advice_names_settings_made_from_the_item(record: dict[str, Any], named: str) -> None:
    said = advice(record)
    assert said.endswith(f"judge them with DEDUP_TEXT_FIELDS = {named}")
    assert "\x1b" not in said


def test_named_fields_that_no_item_has_are_told_at_the_end(tmp_path: Path) -> None:
    found = [{"title": "Sea", "text": LONG}] * 3
    named: dict[str, Any] = {"DEDUP_TEXT_FIELDS": ["txet", "body"], "DEDUP_KEY_FIELDS": ["skuu"]}
    done = items(tmp_path, *found, **named)
    assert len(done.items) == 3
    said = "which no item had; the last one has title, text. Is a name misspelt"
    assert f'DEDUP_TEXT_FIELDS names ["txet", "body"], {said}' in done.log
    assert f'DEDUP_KEY_FIELDS names ["skuu"], {said}' in done.log
    assert "NOTHING WAS JUDGED: no item has a field that DEDUP_TEXT_FIELDS names" in done.log


def test_a_key_that_every_item_has_its_own_of_is_warned_of_at_the_end(tmp_path: Path) -> None:
    found = [{"id": number, "text": LONG} for number in range(20)]
    for more, is_told in ([], True), (found[:1], False):
        (folder := tmp_path / str(is_told)).mkdir()
        done = items(folder, *found, *more, DEDUP_TEXT_FIELDS=["text"], DEDUP_KEY_FIELDS=["id"])
        assert len(done.items) == 20
        assert ('names ["id"], which was different in each item' in done.log) is is_told


# What is common on a site is known from its hundredth page on.
EDITED = [text(seed, 300) for seed in range(120)] + [edited(seed, 25, 300) for seed in range(60)]
WITH_EDITS = [{"url": f"http://a/{n}", "html": f"<p>{page}</p>"} for n, page in enumerate(EDITED)]


def test_the_summary_says_what_copies_lose(tmp_path: Path) -> None:
    done = items(tmp_path, *WITH_EDITS)
    assert len(done.items) < 140
    assert re.search(r"  Look at .*: \d+ copies lose \d+", done.log)
    assert "may_be_records" not in done.dedup()
    assert "WARNING: " not in done.log


def test_a_crawl_warns_where_no_copy_could_be_checked_for_records(tmp_path: Path) -> None:
    knobs: dict[str, Any] = {KNOBS: {"dedup.settings.STORED": 0}}
    done = items(tmp_path, *WITH_EDITS, **knobs)
    assert re.search(r"WARNING: .* lose words were not checked for merged", done.log)
    assert done.dedup()["unchecked"] == 180 - len(done.items)


def test_a_crawl_names_the_fields_in_which_records_may_differ(tmp_path: Path) -> None:
    found = [product(80 + n, url=f"http://a/{n}", sku=f"s{n}") for n in range(3)]
    named: dict[str, Any] = {"DEDUP_TEXT_FIELDS": ["name", "description"]}
    done = items(tmp_path, *found, **named)
    assert len(done.items) == 1
    assert "WARNING: Records may have been merged: 2 copies differ" in done.log
    assert all(it in done.log for it in ("field sku: #", "or name sku in DEDUP_KEY_FIELDS."))
    assert done.dedup()["may_be_records"] == 2
    assert len(items(tmp_path, *found, **named, DEDUP_KEY_FIELDS=["sku"]).items) == 3


ITEMS = [crawls.item(number, text(number % 5)) for number in range(40)]
SWALLOWED = [{"url": f"http://trap/{n}", "text": edited(9, 1 + n % 9)} for n in range(30)]


def test_stats_tell_sizes_and_times(tmp_path: Path) -> None:
    done = crawls.items(tmp_path, *ITEMS)
    stats = {name.removeprefix("dedup/"): value for name, value in done.stats.items()}
    assert (stats["seen"], stats["new"], stats["exact_duplicate"], stats["kept"]) == (40, 5, 35, 5)
    assert (stats["index/rows"], stats["index/orphans"]) == (40, 0)
    assert stats["index/bytes"] >= (tmp_path / "pages.db").stat().st_size
    for step in ("parse", "fingerprint", "index"):
        assert 0 < stats[f"seconds/{step}"] < 60


@pytest.mark.parametrize(("copies", "is_told"), [(30, True), (MIN_COPIES, False)])
def test_a_cluster_that_swallows_a_crawl_warns(tmp_path: Path, copies: int, *, is_told: bool) -> None:
    done = crawls.items(tmp_path, *SWALLOWED[:copies], *ITEMS)
    assert (" pages are copies of http://trap/0: a trap?" in done.log) is is_told


def test_the_reference_names_every_stat() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "dedup" / "plugin").glob("*.py"))
    calls = re.findall(r"\.add\(([^)\n]*)\)", source)
    counted = {name for call in calls for name in re.findall(r'(?<!f)"([\w/]+)"', call)}
    counted |= set(re.findall(r'"dedup/([\w/]+)"', source)) | {reason.value for reason in Reason}
    counted |= set(FATE_OF.values())
    counted |= {f"seconds/{step}" for step in re.findall(r'timed\("(\w+)",', source)}
    counted |= {f"over_limit/{excess}" for excess in Excess}
    counted -= {f"responses/{reason}" for reason in Reason}
    page = (ROOT / "docs/reference/stats.md").read_text("utf-8")
    table = page[page.index("| stat |") : page.index("Each dropped item is one line")]
    named = set(re.findall(r"`([\w/<>]+)`", table)) - {"responses/<verdict>"}
    assert counted >= {"seen", "marked", "requests_saved", "index/rows", "seconds/index"}
    assert {name for name in named if not name.startswith("DEDUP_")} == counted


class WholeNumbers(MemoryStatsCollector):
    """Takes no others, and gives texts, as that of scrapy-redis does."""

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        super().inc_value(key, count.__index__(), start)

    def get_stats(self, spider: Any = None) -> dict[str, Any]:
        return {name: str(value) for name, value in self._stats.items()}


def test_a_collector_of_whole_numbers_is_enough(tmp_path: Path) -> None:
    done = crawls.items(tmp_path, *ITEMS, STATS_CLASS=f"{__name__}.WholeNumbers")
    assert len(done.items) == 5
    assert "  40 items seen = 5 kept + 35 exact copies; 35 dropped" in done.log


def test_a_crawl_without_its_server_says_once_why(tmp_path: Path) -> None:
    away = "postgresql://me:secret@127.0.0.1:1/pages"  # nobody listens there
    done = crawls.items(tmp_path, *ITEMS, DEDUP_INDEX=away)
    said = re.findall("The crawl begins without its server: .* until it is back: .*port 1 ", done.log)
    assert (len(said), "secret" in done.log, len(done.items)) == (1, False, 5)


def test_the_line_of_a_copy_says_what_of_it_stands_on_other_pages() -> None:
    verdict = Verdict(Reason.NEAR_DUPLICATE, kept=False, lost=70, missing=0, words=229)
    for missing, some in (0, ""), (5, " but about 5"):
        said = f": loses at most about 70 of 229 words, all{some} of which stand on other pages kept ("
        assert said in str(DuplicatePage("http://a/", replace(verdict, missing=missing)))
    assert ": loses nothing (" in str(DuplicatePage("http://a/", replace(verdict, lost=0)))
