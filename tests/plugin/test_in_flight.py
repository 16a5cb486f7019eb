"""Pages under way, and who waits for them: for how long, how many, and until when."""

from __future__ import annotations

import asyncio

from dedup.plugin.waiting import MOST_IN_VAIN, InFlight
from dedup.urls.parts import Parts, parts_of


def key_of(path: str) -> Parts:
    found = parts_of(f"http://a.example{path}")
    assert found
    return found


PAGE, OTHER = key_of("/p"), key_of("/q")


def test_who_waits_goes_on_when_the_page_has_come() -> None:
    async def run() -> list[str]:
        coming, told = InFlight(8, 10.0), []
        assert coming.begin(PAGE, "parse")
        assert not coming.begin(PAGE, "parse")
        waiter = coming.waiter(PAGE, "parse")
        assert waiter

        async def wait() -> None:
            assert await coming.wait(waiter)
            told.append("went on")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        coming.ended(OTHER)
        told.append("came")
        coming.ended(PAGE)
        await waiting
        assert coming.waiter(PAGE, "parse") is None
        return told

    assert asyncio.run(run()) == ["came", "went on"]


def test_nobody_waits_for_a_page_that_is_not_under_way_or_is_other_data() -> None:
    coming = InFlight(8, 10.0)
    coming.begin(PAGE, "parse")
    assert coming.waiter(OTHER, "parse") is None
    assert coming.waiter(PAGE, "parse_other") is None
    assert coming.waiter(PAGE, "parse")


def test_no_more_than_that_many_wait_and_none_without_time() -> None:
    async def run() -> None:
        coming = InFlight(2, 10.0)
        coming.begin(PAGE, "parse")
        waiters = [coming.waiter(PAGE, "parse") for _ in range(2)]
        tasks = [asyncio.create_task(coming.wait(waiter)) for waiter in waiters if waiter]
        await asyncio.sleep(0)
        assert coming.waiter(PAGE, "parse") is None
        coming.clear()
        await asyncio.gather(*tasks)
        coming.begin(PAGE, "parse")
        assert coming.waiter(PAGE, "parse")

    asyncio.run(run())
    impatient = InFlight(8, 0.0)
    impatient.begin(PAGE, "parse")
    assert impatient.waiter(PAGE, "parse") is None


def test_after_some_waits_in_vain_nobody_waits_any_more() -> None:
    async def run() -> None:
        coming = InFlight(8, 0.001)
        coming.begin(PAGE, "parse")
        for _ in range(MOST_IN_VAIN):
            waiter = coming.waiter(PAGE, "parse")
            assert waiter
            assert not await coming.wait(waiter)
        assert coming.waiter(PAGE, "parse") is None

    asyncio.run(run())
