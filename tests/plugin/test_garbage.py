"""What was there before a crawl is left out of garbage collection while it runs, and only then."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from scrapy.http import HtmlResponse, Response

from dedup.plugin import memory as garbage
from tests.crawling import crawl
from tests.pages import text
from tests.plugin.spiders import OneItemAPage

# The responses of `CountingSpider` that are there.
alive = WeakSet[Response]()


@pytest.fixture(autouse=True)
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gc.unfreeze()
    thresholds = gc.get_threshold()
    monkeypatch.setattr(garbage, "_state", copy(garbage._state))
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def is_frozen(before: int) -> bool:
    """Tell whether what was frozen still is: of so many objects a few may have gone."""
    return gc.get_freeze_count() > 0.9 * before > 0


def test_it_is_left_out_from_the_first_crawl_to_the_last() -> None:
    garbage.begin()
    before = gc.get_freeze_count()
    garbage.begin()
    garbage.end()
    assert is_frozen(before)
    garbage.end()
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_has_frozen_stays_so() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    garbage.begin()
    garbage.end()
    assert is_frozen(before)


def test_more_objects_are_collected_at_once_while_a_crawl_runs() -> None:
    gc.set_threshold(700, 10, 10)
    garbage.begin()
    garbage.begin()
    garbage.end()
    assert gc.get_threshold() == garbage.THRESHOLDS
    garbage.end()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (50_000, 20, 20)])
def test_thresholds_that_somebody_has_chosen_stay(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    garbage.begin()
    assert gc.get_threshold() == chosen
    garbage.end()
    assert gc.get_threshold() == chosen


def parsed(number: int) -> HtmlResponse:
    response = HtmlResponse(f"http://a.example/{number}", body=b"<p>sea")
    response.xpath("//p")
    return response


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_responses_that_nobody_uses_any_more_need_no_collection() -> None:
    used, there = garbage.UsedResponses(), WeakSet[HtmlResponse]()
    for number in range(100):
        response = parsed(number)
        there.add(response)
        used.add(response)
    del response
    assert 0 < len(there) < 20


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("holds", ["response", "selector"])
def test_a_response_that_is_held_keeps_its_selector_and_what_was_changed_in_its_tree(holds: str) -> None:
    used, held = garbage.UsedResponses(), list[Any]()
    for number in range(100):
        response = parsed(number)
        response.css("p")[0].root.text = "changed"
        held.append(response if holds == "response" else response.selector)
        used.add(response)
    assert {one.css("p::text").get() for one in held} == {"changed"}
    responses = held if holds == "response" else [one.response for one in held]
    assert all(one.css("p::text").get() == "changed" for one in responses)


@pytest.mark.usefixtures("uncollected")
def test_responses_that_are_held_for_good_do_not_pile_up() -> None:
    used, held = garbage.UsedResponses(), [parsed(number) for number in range(500)]
    for response in held:
        used.add(response)
    response, there = held[0], WeakSet(held)
    held.clear()
    del response
    gc.collect()
    assert len(there) <= 64


def collections() -> int:
    return int(gc.get_stats()[1]["collections"])


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("is_open", [True, False])
def test_the_young_objects_are_collected_after_many_bytes_while_a_crawl_runs(is_open: bool) -> None:
    gc.set_threshold(700, 10, 10)
    if is_open:
        garbage.begin()
    used, before = garbage.UsedResponses(), collections()
    for number in range(100):
        used.add(HtmlResponse(f"http://a.example/{number}", body=b"x" * 100_000))
    assert (collections() > before) is is_open


class CountingSpider(OneItemAPage):
    """Says in the stats how many of its responses are there at the end, without any collection."""

    def parse(self, response: Response) -> Iterator[Any]:
        gc.disable()
        alive.add(response)
        yield from super().parse(response)

    def closed(self, reason: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.set_value("alive", len(alive))


def test_a_crawl_keeps_few_responses_without_any_collection(tmp_path: Path) -> None:
    pages = json.dumps([text(number) for number in range(120)])
    spider = f"{CountingSpider.__module__}.{CountingSpider.__qualname__}"
    done = crawl(tmp_path, spider, {"DEDUP_SOURCE": "response"}, {"contents": pages})
    assert done.stats["item_scraped_count"] == 120
    assert 0 < done.stats["alive"] < 60
