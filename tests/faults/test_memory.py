"""No memory is left in the middle of a crawl: the page goes on, and so does the crawl."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.faults.crawls import near, page, rows_of_a_sound_index
from tests.plugin.test_processes import ITEMS, listed


def crawled(folder: Path, pipelines: dict[str, int], *items: dict[str, Any]) -> Crawl:
    settings = {"ITEM_PIPELINES": pipelines, "DEDUP_TEXT_FIELDS": "text", "CONCURRENT_ITEMS": 1}
    return crawl(folder, ITEMS, settings, listed(*items))


@pytest.mark.parametrize("words", [4_000_000, 20_000_000])
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")
def test_a_page_for_which_there_is_no_memory_is_kept(tmp_path: Path, words: int) -> None:
    pipelines = {"tests.faults.spiders.Cramped": 100, "tests.faults.spiders.Relieved": 300}
    items = [page(0, 0), page(1, 1, huge=words), near(2, 0), page(3, 3)]
    done = crawled(tmp_path, pipelines, *items)
    assert [found["content"] for found in done.items] == [0, 1, 3]
    assert done.dedup().get("not_judged", 0) <= 1
    assert "item_error" not in str(done.stats)
    rows_of_a_sound_index(tmp_path / "pages.db")


def test_an_index_without_memory_loses_no_page(tmp_path: Path) -> None:
    items = [page(0, 0), page(1, 1), near(2, 1), page(3, 1), page(4, 4)]
    done = crawled(tmp_path, {"tests.faults.spiders.Forgetful": 100}, *items)
    # Page 0 could not be recorded; page 1 could not be confirmed, and was before the next question.
    assert Counter(found["content"] for found in done.items) == {0: 1, 1: 1, 4: 1}
    counts = done.dedup()
    assert (counts["index_errors"], counts["not_judged"], counts["dropped"]) == (2, 1, 2)
    assert "MemoryError" in done.log
    assert len(rows_of_a_sound_index(tmp_path / "pages.db")) == 4
