"""Crawls that are faster than the index on their server: nothing is kept unjudged for that."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dedup import PostgresIndex
from tests import postgres
from tests.crawling import Crawl, crawl, started
from tests.knobs import KNOBS, WAIT
from tests.pages import text

SLOW = {"EXTENSIONS": {"tests.plugin.slow_index.SlowIndex": 0}}
LONGEST_ANSWER = "dedup.plugin.crawl_index.LONGEST_ANSWER"


def many(folder: Path, pages: int, unique: int, knobs: dict[str, Any], **settings: Any) -> Crawl:
    """Crawl *pages* that say *unique* things, all requested at once."""
    contents = [text(number % unique) for number in range(pages)]
    everything = {"DEDUP_INDEX": postgres.empty(), "DEDUP_TEXT_FIELDS": ["text"], KNOBS: knobs}
    return crawl(
        folder,
        "tests.plugin.spiders.OneTextAPage",
        {**everything, **SLOW, "CONCURRENT_REQUESTS": 8, **settings},
        {"contents": json.dumps(contents), "meta": "{}"},
    )


@pytest.mark.parametrize(
    ("pages", "seconds", "wait"),
    [(60, 0.02, 0.6), pytest.param(180, 0.1, 10.0, marks=[pytest.mark.slow, pytest.mark.nightly])],
)
def test_no_page_is_kept_unjudged_for_a_slow_index(
    tmp_path: Path, pages: int, seconds: float, wait: float
) -> None:
    """Half as many seconds as all questions take are enough."""
    unique = pages // 2
    done = many(tmp_path, pages, unique, {WAIT: wait}, SLOW_INDEX=seconds)
    found = Counter(item["text"] for item in done.items)
    assert found == Counter(text(number) for number in range(unique)), done.log[-3000:]
    assert done.dedup().keys().isdisjoint({"wait_timeout", "not_judged", "index_errors"})


@pytest.mark.slow
def test_a_crawl_ends_and_keeps_everything_where_the_index_hangs_for_ever(tmp_path: Path) -> None:
    contents = [text(number % 45) for number in range(90)]
    address = postgres.empty()
    settings = {
        "DEDUP_INDEX": address,
        "DEDUP_TEXT_FIELDS": ["text"],
        "DOWNLOAD_DELAY": 0.02,
        KNOBS: {LONGEST_ANSWER: 1.0},
    }
    running = started(
        tmp_path,
        "tests.plugin.spiders.OneTextAPage",
        settings,
        {"contents": json.dumps(contents), "meta": "{}"},
    )
    running.wait_for("Crawled (200)", 5)
    with PostgresIndex(address) as other, other.batch():
        done = running.finish()
    assert done.stats["finish_reason"] == "finished"
    assert Counter(item["text"] for item in done.items) == Counter(set(contents))
    assert done.dedup()["server_away"] > 0
    assert "not_judged" not in done.dedup()
