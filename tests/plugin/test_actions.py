"""Drop, mark or only say: what becomes of a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome
from tests.crawling import Crawl, crawl
from tests.pages import edited, text
from tests.plugin.crawls import item, listed

ITEMS = [item(1, text(1)), item(2, text(1)), item(3, edited(1)), item(4, text(2))]


def run(folder: Path, *, type: str = "dict", spider: str = "TypedSpider", **settings: Any) -> Crawl:  # noqa: A002
    arguments = {**listed(*ITEMS), "type": type}
    return crawl(folder, f"tests.plugin.actions.{spider}", settings, arguments)


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
        ({"type": "Plain"}, "Plain has no field dedup_reason"),
        ({"type": "Frozen"}, "Frozen refuses a mark"),
        ({"type": "Odd", "spider": "OddSpider", "FEEDS": {}}, "Odd refuses a mark"),
    ],
    ids=str,
)
def test_items_that_have_no_room_for_marks_are_kept_without(
    tmp_path: Path, choices: dict[str, Any], message: str
) -> None:
    done = run(tmp_path, DEDUP_ACTION="mark", **choices)
    assert done.log.count("Items are kept unmarked: ") == 1
    assert message in done.log
    assert done.stats["item_scraped_count"] == done.dedup()["mark_errors"] == 4


def test_a_dry_run_records_and_changes_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, type="Plain", DEDUP_ACTION="report")
    assert sorted(done.items, key=str) == ITEMS
    counts = done.dedup()
    assert (counts["would_drop"], counts["exact_duplicate"], counts["near_duplicate"]) == (2, 1, 1)
    assert "Would drop near_duplicate: <http://a/3> repeats <http://a/1>" in done.log
    assert "; 2 would be dropped (50.0%)" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert kept(index) == {"http://a/1", "http://a/4"}
        assert [made.action for made in index.runs.all()] == ["report"]
