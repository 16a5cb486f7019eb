"""A crawl with ``DEDUP_KEEP = "longest"``: longer pages come too, and name what they replace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl
from tests.pages import edited, text
from tests.plugin.test_runs import dedup

ITEMS = "tests.plugin.spiders.ItemSpider"
TEXTS = "tests.plugin.spiders.OneTextAfterTheOther"
ONE_BY_ONE = {
    "DEDUP_TEXT_FIELDS": ["text"],
    "DEDUP_RECIPE": "default,candidates=both",  # texts alone, which differ in many bits
    "DOWNLOAD_DELAY": 0.1,
    "URLLENGTH_LIMIT": 10_000,
}
CONTENTS = [text(1, 200), edited(1, 2, 200), text(1, 300), text(2), text(1, 310)]


def crawled(folder: Path, **settings: object) -> Crawl:
    chosen = {**ONE_BY_ONE, "DEDUP_KEEP": "longest", **settings}
    return crawl(folder, TEXTS, chosen, {"contents": json.dumps(CONTENTS)})


def test_items_name_what_they_replace(tmp_path: Path) -> None:
    done = crawled(tmp_path)
    assert [item["text"] for item in done.items] == [CONTENTS[0], CONTENTS[2], CONTENTS[3]]
    assert [item["dedup_replaces"] for item in done.items] == ["", done.items[0]["url"], ""]
    assert done.dedup()["replaced"] == 1
    assert "takes the place of <" in done.log
    assert "1 pages took the place" in done.log
    # What was delivered first is no page that later ones repeat.
    assert f"{done.items[1]['url']}" in dedup(tmp_path, "report")


def test_items_that_are_not_judged_have_the_field_where_they_can(tmp_path: Path) -> None:
    items = [{"url": "http://a/1"}, {"url": "http://a/2", "text": text(1)}]
    done = crawl(tmp_path, ITEMS, {"DEDUP_KEEP": "longest"}, {"items": json.dumps(items)})
    assert [item["dedup_replaces"] for item in done.items] == ["", ""]


def test_a_page_that_storage_loses_replaces_nothing(tmp_path: Path) -> None:
    storage = {"ITEM_PIPELINES": {"tests.plugin.test_longest.Losing": 900}}
    done = crawled(tmp_path, **storage)
    # The next longer one takes the place of the first after all.
    assert [item["text"] for item in done.items] == [CONTENTS[0], CONTENTS[3], CONTENTS[4]]
    assert done.items[2]["dedup_replaces"] == done.items[0]["url"]


class Losing:
    """A storage that loses the first longer page."""

    def process_item(self, item: dict[str, str], spider: object = None) -> dict[str, str]:
        if item["text"] == CONTENTS[2]:
            raise ValueError("no room")
        return item


def test_a_dry_run_and_the_default_mark_nothing(tmp_path: Path) -> None:
    for settings in ({"DEDUP_DRY_RUN": True}, {"DEDUP_KEEP": "first"}):
        assert not any("dedup_replaces" in item for item in crawled(tmp_path, **settings).items)


@pytest.mark.parametrize("action", ["drop", "mark"])
def test_a_class_without_the_field_is_refused_at_the_start(tmp_path: Path, action: str) -> None:
    classes = {"item_classes": ["tests.plugin.spiders.ScrapyItem"], "format": "jsonlines"}
    feeds = {str(tmp_path / "feed.jsonl"): classes}
    done = crawled(tmp_path, FEEDS=feeds, DEDUP_ACTION=action)
    assert done.items == []
    assert "DEDUP_KEEP ('longest') fails: tests.plugin.spiders.ScrapyItem has no field" in done.log
    assert "dedup_replaces" in done.log
