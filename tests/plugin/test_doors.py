"""What passes the two doors unjudged, and what stands for a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dedup.plugin.middlewares import one_held_back
from tests.crawling import crawl
from tests.serving import serving

HOARDING = "tests.plugin.doors.Hoarding"


@pytest.mark.parametrize("place", [-2_000_000, 500], ids=str)
def test_every_item_of_an_exempt_request_is_kept(tmp_path: Path, place: int) -> None:
    settings: dict[str, Any] = {"SPIDER_MIDDLEWARES": {HOARDING: place}}
    done = crawl(tmp_path, "tests.plugin.doors.ManySpider", {**settings, "LOG_LEVEL": "INFO"})
    assert len(done.items) == 3000
    assert done.dedup() == {"seen": 3000, "kept": 3000, "not_judged": 3000}


def test_what_an_errback_gives_does_not_stand_for_the_error_page(tmp_path: Path) -> None:
    with serving({}) as url:
        done = crawl(
            tmp_path,
            "tests.plugin.doors.LinksSpider",
            {"DEDUP_SOURCE": "response", "DEDUP_ACTION": "skip"},
            {"url": url},
        )
    assert len(done.items) == 10
    assert {item["status"] for item in done.items} == {404}


def hand_over(item: Any, *, is_only: bool = False) -> None:
    """Tell nobody."""


@pytest.mark.parametrize("ending", [asyncio.CancelledError, RuntimeError])
def test_an_item_is_not_lost_to_a_callback_that_ends_oddly(ending: type[BaseException]) -> None:
    # Scrapy itself hangs after such an end, with or without us: so this is no crawl.
    async def callback() -> AsyncIterator[dict[str, int]]:
        yield {"number": 1}
        raise ending

    async def outputs() -> AsyncIterator[Any]:
        async for output in one_held_back(callback(), hand_over):
            found.append(output)
            yield output

    async def drained() -> None:
        async for _ in outputs():
            pass

    found: list[Any] = []
    with pytest.raises(ending):
        asyncio.run(drained())
    assert found == [{"number": 1}]


@pytest.mark.parametrize(
    ("rules", "source", "action"), [("off", "item", "drop"), ("propose", "response", "skip")]
)
def test_no_response_outlives_its_items(tmp_path: Path, rules: str, source: str, action: str) -> None:
    settings = {"DEDUP_RULES": rules, "DEDUP_SOURCE": source, "DEDUP_ACTION": action}
    done = crawl(tmp_path, "tests.plugin.doors.HoldingSpider", settings)
    assert done.dedup()["kept"] == len(done.items) == 121
    assert done.stats["living"] < 20
