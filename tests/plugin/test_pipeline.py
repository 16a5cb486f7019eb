"""Real crawls through the pipeline: what becomes of an item and of a copy; the stats are the assertion."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from scrapy import version_info

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome, Reason
from tests.plugin.crawls import item, items, listed, outcomes, rows
from tests.support.crawling import Crawl, crawl
from tests.support.pages import edited, of_another_recipe, text


def pages(folder: Path, *contents: str, meta: dict[str, Any] | None = None, **settings: Any) -> Crawl:
    arguments = {"contents": json.dumps(contents), "meta": json.dumps(meta or {})}
    return crawl(folder, "tests.plugin.spiders.OneItemAPage", settings, arguments)


def refused(done: Crawl) -> bool:
    """Return whether nothing was crawled, and the exit code is the one of a failed start."""
    # Before Scrapy 2.15 it is 0 whatever happens at the start.
    code = 0 if version_info < (2, 15) else 1
    return (done.code, done.stats, done.items) == (code, {}, [])


def test_copies_are_dropped_counted_and_explained(tmp_path: Path) -> None:
    done = items(tmp_path, item(1, text(1)), item(2, text(1)), item(3, edited(1)), item(4, text(2)))
    assert (done.code, [found["url"] for found in done.items]) == (0, ["http://a/1", "http://a/4"])
    verdicts = {"new": 2, "exact_duplicate": 1, "near_duplicate": 1}
    assert done.dedup() == {"seen": 4, "kept": 2, "dropped": 2, **verdicts}
    assert done.stats["item_dropped_reasons_count/DuplicatePage"] == 2
    assert "Dropped exact_duplicate: <http://a/2> repeats <http://a/1>" in done.log
    assert "Dropped: " not in done.log  # Scrapy's own line, with the whole item
    assert (
        "Dropped near_duplicate: <http://a/3> repeats <http://a/1>: loses at most about 1 of "
        in done.log
    )
    assert "; 2 dropped (50.0%)" in done.log
    assert f"dedup report {tmp_path / 'pages.db'}" in done.log
    assert list(outcomes(tmp_path).values()) == [Outcome.CONFIRMED] * 4


def test_a_second_run_finds_pages_unchanged_and_updated(tmp_path: Path) -> None:
    items(tmp_path, item(1, text(1)), item(2, text(1)), item(3, text(3)))
    done = items(tmp_path, item(1, text(1)), item(2, text(1)), item(3, edited(3)), item(4, edited(1)))
    counts = done.dedup()
    assert (counts["unchanged"], counts["updated"], counts["near_duplicate"]) == (2, 1, 1)
    assert [found["url"] for found in done.items] == ["http://a/1", "http://a/3"]
    assert "dropped_for_earlier_run" not in counts  # what they repeat came again
    done = items(tmp_path, item(1, text(1)), item(2, text(1)), DEDUP_UNCHANGED="drop")
    assert done.dedup()["dropped_for_earlier_run"] == 1
    assert "1 copy repeats a page of earlier runs (dedup forget --run 3 undoes this run)" in done.log


def test_every_type_of_item_is_judged_and_what_cannot_be_is_kept(tmp_path: Path) -> None:
    done = crawl(tmp_path, "tests.plugin.spiders.TypesSpider")
    counts = done.dedup()
    assert (counts["seen"], counts["exact_duplicate"], counts["not_judged"]) == (8, 4, 2)
    assert len(done.items) == 4


@pytest.mark.parametrize("settings", [{"DEDUP_SOURCE": "response"}, {"DEDUP_ACTION": "mark"}], ids=str)
def test_items_of_a_loader_are_judged_and_stay_so(tmp_path: Path, settings: dict[str, Any]) -> None:
    contents = [text(1), text(2), text(1)]
    spider, arguments = "tests.plugin.spiders.LoadedPages", {"contents": json.dumps(contents)}
    done = crawl(tmp_path, spider, {"CONCURRENT_REQUESTS": 1, **settings}, arguments)
    assert (done.dedup()["new"], done.dedup().get("not_judged", 0)) == (2, 0)
    assert "An item " not in done.log
    kept = contents if "DEDUP_ACTION" in settings else contents[:2]
    assert [(found["url"], found["title"]) for found in done.items] == [
        ([f"http://a/{number}"], [content]) for number, content in enumerate(kept)
    ]
    assert done.items[-1].get("dedup_canonical_url") == ("http://a/0" if kept == contents else None)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("fate", ["drop", "fail"])
def test_a_copy_takes_the_place_of_what_storage_lost(tmp_path: Path, fate: str, before: bool) -> None:
    pipelines = {"tests.plugin.storages.Slow": 300}
    if before:
        pipelines["tests.plugin.spiders.Replacing"] = 100
    found = [item(number, text(content)) for number, content in enumerate((1, 1, 1, 2, 2), 1)]
    found[0] = item(1, text(1), fate=fate)
    found[3] = item(4, text(2), fate="early" if before else "drop")
    done = items(tmp_path, *found, ITEM_PIPELINES=pipelines)
    assert sorted(found["url"] for found in done.items) == ["http://a/2", "http://a/5"]
    settled = outcomes(tmp_path)
    assert settled["http://a/1"] is Outcome.RELEASED
    assert settled["http://a/2"] is settled["http://a/3"] is settled["http://a/5"] is Outcome.CONFIRMED
    assert done.dedup()["released"] == (1 if before else 2)


def test_without_asyncio_the_crawl_does_not_begin(tmp_path: Path) -> None:
    done = items(tmp_path, TWISTED_REACTOR="twisted.internet.selectreactor.SelectReactor")
    assert refused(done)
    assert "scrapy-dedup needs asyncio" in done.log
    assert not (tmp_path / "pages.db").exists()


def test_several_items_of_a_response_are_judged_by_their_fields(tmp_path: Path) -> None:
    given: Any = {"DEDUP_SOURCE": "response", "DEDUP_TEXT_FIELDS": ["note", "body"]}
    done = pages(tmp_path, text(1) + "**", edited(1) + "**", **given)
    assert {found.get("note") for found in done.items} == {"one", "two", None}
    assert {row.sighting.kind for row in rows(tmp_path)} == {"item"}


def test_an_item_yielded_before_the_callback_failed_is_not_lost(tmp_path: Path) -> None:
    done = pages(tmp_path, text(1) + " !!", DEDUP_SOURCE="response")
    assert len(done.items) == 1
    assert done.stats["spider_exceptions/RuntimeError"] == 1


def test_media_before_ours_are_fetched_for_copies_too(tmp_path: Path) -> None:
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1}
    done = items(tmp_path, item(1, text(1)), ITEM_PIPELINES=pipelines, FILES_STORE=str(tmp_path))
    assert "WARNING: FilesPipeline downloads the files of copies, too" in done.log
    done = items(tmp_path, ITEM_PIPELINES={next(iter(pipelines)): 300}, FILES_STORE=str(tmp_path))
    assert "of copies, too" not in done.log


def another(path: Path) -> None:
    with SQLiteIndex(path) as index, pytest.MonkeyPatch.context() as patch:
        of_another_recipe(patch)
        index.prepare()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"DEDUP_MAX_LOST_WRDS": 3}, "is not a setting of dedup; did you mean DEDUP_MAX_LOST_WORDS?"),
        ({"DEDUP_INDEX": "/proc/pages.db"}, "/proc/pages.db: the file cannot be opened or made here"),
        ({"DEDUP_INDEX": "notes.txt"}, "it was left as it is, use another DEDUP_INDEX"),
        ({"DEDUP_INDEX": "another.db"}, "use that release again or another DEDUP_INDEX"),
    ],
)
def test_what_stops_a_crawl_is_a_sentence(tmp_path: Path, settings: Any, message: str) -> None:
    (notes := tmp_path / "notes.txt").write_text("my precious notes")
    another(tmp_path / "another.db")
    before = notes.read_bytes(), (tmp_path / "another.db").read_bytes()
    place = tmp_path / settings.get("DEDUP_INDEX", "pages.db")
    done = items(tmp_path, item(1, text(1)), **settings | {"DEDUP_INDEX": str(place)})
    assert refused(done)
    assert not (tmp_path / "items.jsonl").exists()
    assert message in done.log.strip().splitlines()[-1]
    assert before == (notes.read_bytes(), (tmp_path / "another.db").read_bytes())


def test_an_index_that_fails_on_the_way_loses_no_page(tmp_path: Path) -> None:
    assert "\n  no items came, see above\n" in items(tmp_path).log
    with sqlite3.connect(tmp_path / "pages.db") as connection:
        connection.execute("DROP TABLE scopes")
    connection.close()
    done = items(tmp_path, item(1, text(1)), item(2, text(1)), item(3, text(2)))
    assert len(done.items) == 3
    assert (done.dedup()["not_judged"], done.dedup()["index_errors"]) == (3, 3)
    assert done.log.count("Pages are kept without being judged") == 1


def test_a_resumed_job_is_one_run(tmp_path: Path) -> None:
    job, contents = str(tmp_path / "job"), [text(n) for n in range(9)]
    settings: dict[str, Any] = {"JOBDIR": job, "DEDUP_SOURCE": "response"}
    stopped = pages(tmp_path, *contents, CLOSESPIDER_ITEMCOUNT=1, CONCURRENT_REQUESTS=1, **settings)
    assert stopped.stats["finish_reason"] == "closespider_itemcount"
    pages(tmp_path, *contents, **settings)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [run.ending for run in index.runs.all()] == ["finished"]
        assert [row.verdict.reason for row in index.rows()].count(Reason.NEW) == len(contents)


def test_hostile_urls_do_not_reach_the_log_raw(tmp_path: Path) -> None:
    evil = "http://a/\x1b[31m\nERROR: forged\u202e"
    done = items(tmp_path, item(1, text(1)), {"url": evil, "text": text(1)})
    assert "\x1b" not in done.log.replace("\\x1b", "")
    assert "\nERROR: forged" not in done.log
    assert len(done.items) == 1


def test_a_dict_that_is_filled_again_is_delivered_as_it_was(tmp_path: Path) -> None:
    done = crawl(tmp_path, "tests.plugin.spiders.Refilling", {})
    assert [item["text"] for item in done.items] == [text(number) for number in range(20)]


def test_items_that_wait_for_each_other_are_delivered_in_their_order(tmp_path: Path) -> None:
    found = [item(number, text(number)) for number in range(90)]
    assert [one["url"] for one in items(tmp_path, *found).items] == [one["url"] for one in found]


ITEMS = [item(1, text(1)), item(2, text(1)), item(3, edited(1)), item(4, text(2))]


def run(folder: Path, *, type: str = "dict", spider: str = "TypedSpider", **settings: Any) -> Crawl:  # noqa: A002
    return crawl(folder, f"tests.plugin.spiders.{spider}", settings, {**listed(*ITEMS), "type": type})


@pytest.mark.parametrize("type_", ["dict", "Marked", "MarkedData"])
def test_marked_items_say_what_they_repeat(tmp_path: Path, type_: str) -> None:
    done = run(tmp_path, type=type_, DEDUP_ACTION="mark")
    items = {item["url"]: item for item in done.items}
    marks = {url: (item["dedup_reason"], item["dedup_canonical_url"]) for url, item in items.items()}
    assert marks == {
        "http://a/1": ("new", ""),
        "http://a/2": ("exact_duplicate", "http://a/1"),
        "http://a/3": ("near_duplicate", "http://a/1"),
        "http://a/4": ("new", ""),
    }
    near = items["http://a/3"]
    assert near["dedup_content_distance"] <= 10
    assert 0.6 <= near["dedup_similarity"] < 1
    assert near["dedup_structure_distance"] is None
    assert near["dedup_lost"] == 1
    assert (items["http://a/2"]["dedup_lost"], items["http://a/4"]["dedup_lost"]) == (0, None)
    counts = done.dedup()
    assert (counts["marked"], counts["kept"], counts.get("dropped")) == (2, 2, None)
    assert "Marked near_duplicate: <http://a/3> repeats <http://a/1>" in done.log
    assert "; 2 marked (50.0%)" in done.log


def kept(index: SQLiteIndex) -> set[str]:
    return {row.sighting.url for row in index.rows() if row.verdict.kept}


def test_what_was_marked_is_on_record_like_what_was_dropped(tmp_path: Path) -> None:
    run(tmp_path, DEDUP_ACTION="mark")
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert kept(index) == {"http://a/1", "http://a/4"}
        assert {row.outcome for row in index.rows()} == {Outcome.CONFIRMED}
        assert [made.action for made in index.runs.all()] == ["mark"]
    assert run(tmp_path).dedup()["unchanged"] == 4


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"type": "ScrapyItem"}, "ScrapyItem has no field dedup_reason"),
        ({"type": "Frozen"}, "Frozen refuses a mark"),
        ({"type": "Odd", "spider": "OddSpider", "FEEDS": {}}, "Odd refuses a mark"),
    ],
    ids=str,
)
def test_items_without_room_for_marks_are_kept(tmp_path: Path, choices: Any, message: str) -> None:
    done = run(tmp_path, DEDUP_ACTION="mark", **choices)
    assert done.log.count("Items are kept unmarked: ") == 1
    assert message in done.log
    assert done.stats["item_scraped_count"] == done.dedup()["mark_errors"] == 4


def test_a_dry_run_records_and_changes_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, type="ScrapyItem", DEDUP_ACTION="report")
    assert sorted(done.items, key=str) == ITEMS
    counts = done.dedup()
    assert (counts["would_drop"], counts["exact_duplicate"], counts["near_duplicate"]) == (2, 1, 1)
    assert "Would drop near_duplicate: <http://a/3> repeats <http://a/1>" in done.log
    assert "; 2 would be dropped (50.0%)" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert kept(index) == {"http://a/1", "http://a/4"}
        assert [made.action for made in index.runs.all()] == ["report"]
