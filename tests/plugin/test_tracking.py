import asyncio
from contextvars import copy_context
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from dedup.plugin.tracking import Token, TrackingPipeline, is_asked_for, rows_of


def test_an_item_is_found_by_what_went_in_and_by_what_was_judged() -> None:
    for use_input in (True, False):
        tracker = TrackingPipeline()
        item, judged = {"a": 1}, {"a": 1}
        tracker.begin(item)
        token = tracker.judged(judged)
        token.row = 7
        assert tracker.take(item if use_input else judged) is token
        assert tracker._tokens == {}


def test_a_replaced_item_is_found_through_its_context() -> None:
    tracker = TrackingPipeline()

    async def chain(number: int) -> tuple[int, int]:
        item = {"number": number}
        tracker.begin(item)
        await asyncio.sleep(0)
        tracker.judged(dict(item)).row = number
        await asyncio.sleep(0)
        token = tracker.take({"replaced": number})
        assert token is not None
        assert token.row is not None
        return number, token.row

    async def many() -> list[tuple[int, int]]:
        return await asyncio.gather(*(chain(number) for number in range(50)))

    for number, row in asyncio.run(many()):
        assert number == row
    assert tracker._tokens == {}


def test_an_item_that_failed_early_does_not_take_anothers_token() -> None:
    tracker = TrackingPipeline()
    first, second = {"a": 1}, {"a": 2}

    def enter_first() -> None:
        tracker.begin(first)
        tracker.judged(first).row = 1

    copy_context().run(enter_first)
    tracker.begin(second)  # and a pipeline before ours drops it
    settled = tracker.take(second)
    assert settled is not None
    assert settled.row is None
    found = tracker.take(first)
    assert found is not None
    assert found.row == 1


def test_items_that_never_arrive_do_not_pile_up() -> None:
    tracker, held = TrackingPipeline(), Response("http://a/")
    for number in range(9000):
        source = held if number < 1000 else Response("http://b/")
        tracker.hand_over(Token({"number": number}), source)
    assert 1000 <= len(tracker._coming) < 2300


def test_an_item_that_nobody_handed_over_may_be_of_an_exempt_response_that_is_under_way() -> None:
    tracker, response = TrackingPipeline(), Response("http://a/")
    tracker.hand_over(Token({"a": 1}, is_exempt=True), response)
    assert tracker.begin({"a": 2}).is_exempt
    del response
    assert not tracker.begin({"a": 3}).is_exempt


@pytest.mark.parametrize(
    ("changed", "url", "is_asked_for_it"),
    [
        ({}, "http://a.example/", True),
        ({"dont_filter": False}, "http://a.example/", False),
        ({}, "http://a.example/item", False),
        ({"method": "POST"}, "http://a.example/", False),
        ({"meta": {"redirect_urls": ["http://a.example/old"]}}, "http://a.example/", False),
    ],
)
def test_a_response_is_asked_for_by_its_url_unless_something_led_to_it(
    changed: dict[str, Any], url: str, is_asked_for_it: bool
) -> None:
    request = Request("http://a.example/", **{"dont_filter": True} | changed)
    response = Response("http://a.example/", request=request)
    assert is_asked_for(response, url) is is_asked_for_it
    assert rows_of(response, url) == (set() if is_asked_for_it else None)
    assert not is_asked_for(None, url)
    assert not is_asked_for(Response("http://a.example/"), url)


def test_of_two_items_in_one_context_each_has_its_own_fate() -> None:
    tracker, first, second = TrackingPipeline(), {"a": 1}, {"a": 2}
    own, other = tracker.begin(first), tracker.begin(second)
    assert tracker.take(first) is own
    assert tracker.take(second) is other
    # What is judged later in the same context is none of them.
    assert tracker.judged({"a": 3}) not in {own, other}
