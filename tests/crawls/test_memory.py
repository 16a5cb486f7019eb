"""No memory is left in the middle of a crawl: the page goes on, and so does the crawl."""

from collections import Counter
from pathlib import Path

from tests.crawls.pausing import near, page, rows_of_a_sound_index
from tests.plugin.crawls import ITEMS, listed
from tests.support.crawling import crawl


def test_an_index_without_memory_loses_no_page(tmp_path: Path) -> None:
    items = [page(0, 0), page(1, 1), near(2, 1), page(3, 1), page(4, 4)]
    settings = {
        "ITEM_PIPELINES": {"tests.plugin.storages.Forgetful": 100},
        "DEDUP_TEXT_FIELDS": "text",
        "CONCURRENT_ITEMS": 1,
    }
    done = crawl(tmp_path, ITEMS, settings, listed(*items))
    # Page 0 could not be recorded; page 1 could not be confirmed, and was before the next question.
    assert Counter(found["content"] for found in done.items) == {0: 1, 1: 1, 4: 1}
    counts = done.dedup()
    assert (counts["index_errors"], counts["not_judged"], counts["dropped"]) == (2, 1, 2)
    assert "MemoryError" in done.log
    assert len(rows_of_a_sound_index(tmp_path / "pages.db")) == 4
