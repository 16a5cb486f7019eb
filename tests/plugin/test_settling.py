from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request

from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.settling import MOST_AGAIN, Pending, Settler

LONG = 60.0
FIRST, SECOND = Standing(1, 7), Standing(2, 7)


def under_way(*rows: int) -> Pending:
    pending = Pending()
    pending.runs[7] = {}
    for row in rows:
        pending.begin(7, row)
    return pending


def test_all_copies_of_a_row_go_on_when_its_fate_is_known() -> None:
    async def meet() -> tuple[list[float], float]:
        pending = under_way(1, 2)

        async def waited(standing: Standing, seconds: float) -> float:
            begin = monotonic()
            await pending.wait(standing, seconds)
            return monotonic() - begin

        tasks = [asyncio.create_task(waited(FIRST, LONG)) for _ in range(2)]
        other = asyncio.create_task(waited(SECOND, 0.2))
        await asyncio.sleep(0)
        pending.settle(1, kept=True)
        return await asyncio.gather(*tasks), await other

    copies, other = asyncio.run(meet())
    assert max(copies) < LONG / 2
    assert other >= 0.19


@pytest.mark.parametrize("how", ["settled", "left", "of another process"])
def test_nobody_waits_for_what_is_known_or_never_will_be(how: str) -> None:
    pending = under_way(1)
    if how == "settled":
        pending.settle(1, kept=False)
    elif how == "left":
        pending.leave(7)
    begin = monotonic()
    asyncio.run(pending.wait(Standing(3, 8) if how == "of another process" else FIRST, LONG))
    assert monotonic() - begin < LONG / 2


def test_after_a_failure_fates_are_told_one_by_one_and_none_is_forgotten() -> None:
    pending = under_way(1, 2, 3)
    for row in (1, 2, 3):
        pending.settle(row, kept=True)
    fates = pending.take()
    pending.settle(2, kept=False)  # a feed has lost it meanwhile
    pending.recorded(fates, is_done=False)
    told = []
    while pending.fates:
        fates = pending.take()
        assert len(fates.kept) == 1
        pending.recorded(fates, is_done=True)
        told += [*fates.kept.items()]
    assert sorted(told) == [(1, True), (2, False), (3, True)]
    for row in (4, 5):
        pending.settle(row, kept=True)
    assert pending.take().kept == {4: True, 5: True}


def test_copies_are_those_of_what_was_lost() -> None:
    pending = under_way(1, 2)
    for standing, row in ((FIRST, 3), (SECOND, 4), (FIRST, 5)):
        pending.note_copy(standing, row, Request("http://a/"))
    pending.settle(1, kept=False)
    pending.settle(2, kept=True)
    fates = pending.take()
    assert [row for row, _ in fates.copies] == [3, 5]
    pending.recorded(fates, is_done=True)
    pending.settle(1, kept=False)
    assert pending.take().copies == []


def test_copies_of_what_is_under_way_are_noted_however_many_repeat_pages_of_earlier_crawls() -> None:
    index: Any = SimpleNamespace(counts=None, crawler=None, settings=None)
    settler, request = Settler(index), Request("http://a.example/")
    settler.pending = under_way(1)
    copy = Verdict(Reason.NEAR_DUPLICATE, kept=False, row=9)
    for earlier in range(2, MOST_AGAIN + 3):
        settler.note_copy(replace(copy, canonical=earlier), request)
    settler.note_copy(replace(copy, canonical=1, standing=FIRST), request)
    settler.pending.settle(1, kept=False)
    assert settler.pending.take().copies == [(9, request)]
