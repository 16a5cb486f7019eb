from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from scrapy import Request

from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.crawl_index import MOST_AGAIN, Pending, Settler

FIRST, SECOND = Standing(1, 7), Standing(2, 7)


def under_way(*rows: int) -> Pending:
    pending = Pending()
    pending.runs[7] = {}
    for row in rows:
        pending.begin(7, row)
    return pending


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
