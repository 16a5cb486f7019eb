from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from dedup.plugin.waiting import Waiter, WaitingRoom

LONG = 60.0


def waits(waiter: Waiter, seconds: float) -> bool:
    return asyncio.run(waiter.wait(seconds))


def test_a_seat_is_called_when_its_row_is_settled() -> None:
    room = WaitingRoom()

    async def meet() -> list[bool]:
        waiters = [room.enter(row) for row in (1, 1, 2)]
        tasks = [asyncio.create_task(waiter.wait(0.2)) for waiter in waiters]
        await asyncio.sleep(0)
        room.settled(1)
        return await asyncio.gather(*tasks)

    assert asyncio.run(meet()) == [True, True, False]


def test_a_row_that_is_settled_before_its_copy_begins_to_wait_is_not_missed() -> None:
    room = WaitingRoom()
    waiter = room.enter(1)
    room.settled(1)
    began = monotonic()
    assert waits(waiter, LONG)
    assert monotonic() - began < LONG / 2


def test_only_who_sits_already_is_called() -> None:
    room = WaitingRoom()
    room.settled(1)
    assert not waits(room.enter(1), 0.05)


@pytest.mark.parametrize("seconds", [0, -1])
def test_without_time_nobody_waits(seconds: float) -> None:
    room = WaitingRoom()
    late = room.enter(1)
    assert not waits(late, seconds)
    room.settled(1)
    assert waits(late, seconds)
