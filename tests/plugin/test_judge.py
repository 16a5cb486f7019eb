from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.model.verdict import Outcome, Verdict
from dedup.plugin.addon import read_settings
from dedup.plugin.crawl_index import MOST_GATHERED
from dedup.plugin.judge import Judge
from tests.pages import page, text


def judge_of(folder: Path, **settings: object) -> Judge:
    crawler = Crawler(Spider, {"DEDUP_INDEX": str(folder / "pages.db"), **settings})
    crawler.stats, crawler.spider = MemoryStatsCollector(crawler), Spider("some")
    judge = Judge(crawler, read_settings(crawler.settings))
    judge.open()
    return judge


def test_before_and_after_the_crawl_nothing_is_judged(tmp_path: Path) -> None:
    async def crawled() -> None:
        judge = judge_of(tmp_path)
        question = judge.question(page(text(1)), "item")
        verdict = judge.ask(question)
        assert verdict is not None
        await judge.close("finished")
        assert judge.ask(question) is None
        judge.settler.settle(verdict.row or 0, kept=True)

    asyncio.run(crawled())
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [row.outcome for row in index.rows()] == [Outcome.RELEASED]


def asking(judge: Judge, number: int, url: str = "") -> Verdict | None:
    return judge.ask(judge.question(page(text(number), url), "item"))


def test_a_row_that_cannot_be_settled_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirm = Ledger.confirm
    broken: set[int] = set()

    def confirm_some(ledger: Ledger, *some: int) -> None:
        if not broken.isdisjoint(some):
            raise OSError("on purpose")
        confirm(ledger, *some)

    monkeypatch.setattr(Ledger, "confirm", confirm_some)

    async def settled() -> None:
        judge = judge_of(tmp_path)
        rows = [verdict.row for n in range(6) if (verdict := asking(judge, n)) and verdict.row]
        broken.update(rows)
        for row in rows:
            judge.settler.settle(row, kept=True)
        for n in range(3):
            assert asking(judge, 9 + n) is None  # each with one of them
        broken.intersection_update(rows[:1])
        await judge.close("finished")

    asyncio.run(settled())
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome for row in index.rows()]
    assert outcomes == [Outcome.RELEASED] + [Outcome.CONFIRMED] * 5


@pytest.mark.parametrize("what", ["question", "flush"])
def test_what_could_not_be_committed_is_told_again_when_there_is_room(tmp_path: Path, what: str) -> None:
    async def crawled() -> Verdict | None:
        judge = judge_of(tmp_path)
        verdict = asking(judge, 1, "http://a/0")
        assert verdict is not None
        judge.settler.settle(verdict.row or 0, kept=True)
        assert judge.index.detector is not None
        connection: Any = judge.index.detector.index.store.connection
        connection.set_authorizer(lambda _, what, *__: what == "COMMIT")  # 1 denies it
        if what == "question":
            assert asking(judge, 2) is None
        else:
            judge.settler.flush()
        connection.set_authorizer(None)
        copy = asking(judge, 1, "http://a/1")
        await judge.close("finished")
        return copy

    copy = asyncio.run(crawled())
    assert copy is not None
    assert copy.row == 2  # nothing was added in between
    assert copy.canonical == 1


@pytest.mark.parametrize("seed", range(2))
def test_of_what_is_delivered_all_but_a_few_rows_are_committed(tmp_path: Path, seed: int) -> None:
    """What a kill would deliver twice: items in the feeds whose rows are not confirmed on the disk."""
    rng = random.Random(seed)

    async def most_open() -> int:
        judge = judge_of(tmp_path)
        pending: list[int] = []
        delivered, most = 0, 0
        with closing(sqlite3.connect(tmp_path / "pages.db")) as other:
            for turn in range(60):
                # At first many, so that they can come out of the pipelines together.
                for n in range(rng.choice([0, 1, 16] if turn else [100])):
                    verdict = judge.ask(judge.question(page(text(100 * turn + n)), "item"))
                    assert verdict is not None
                    pending.append(verdict.row or 0)
                for _ in range(rng.choice([0, 1, 16, 100])):
                    if pending:
                        judge.settler.settle(pending.pop(rng.randrange(len(pending))), kept=True)
                        delivered += 1
                        found = other.execute("SELECT count(*) FROM pages WHERE outcome = 'confirmed'")
                        most = max(most, delivered - found.fetchone()[0])
        await judge.close("finished")
        return most

    assert 0 < asyncio.run(most_open()) <= 64


@pytest.mark.parametrize("what", ["question", "moment", "many", "release", "close"])
def test_rows_are_confirmed_together_before_anybody_leans_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    confirmed: list[tuple[int, ...]] = []
    confirm = Ledger.confirm

    def noted(ledger: Ledger, *rows: int) -> None:
        confirmed.append(rows)
        confirm(ledger, *rows)

    monkeypatch.setattr(Ledger, "confirm", noted)
    monkeypatch.setattr("dedup.plugin.crawl_index.GATHERED_FOR", 0.01 if what == "moment" else 60.0)

    async def crawled() -> None:
        judge = judge_of(tmp_path)
        number = MOST_GATHERED if what == "many" else 3
        rows = [verdict.row for n in range(number) if (verdict := asking(judge, n)) and verdict.row]
        for row in rows[what == "release" :]:
            judge.settler.settle(row, kept=True)
        if what == "question":
            copy = asking(judge, 2)
            assert copy is not None
            assert copy.canonical == rows[2]
            assert copy.row
        elif what == "release":
            judge.settler.settle(rows[0], kept=False)
        elif what == "moment":
            await asyncio.sleep(0.1)
        if what != "close":
            assert [*map(sorted, confirmed)] == [rows[what == "release" :]]
        await judge.close("finished")
        assert [*map(sorted, confirmed)] == [rows[what == "release" :]]

    asyncio.run(crawled())
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome for row in index.rows()]
    assert outcomes.count(Outcome.RELEASED) == (what == "release")


def test_crawlers_of_one_process_hear_of_each_other(tmp_path: Path) -> None:
    """What one has settled and not told the index, the other tells it."""

    async def crawled() -> None:
        one, other = judge_of(tmp_path, DEDUP_CRAWL="both"), judge_of(tmp_path, DEDUP_CRAWL="both")
        verdict, copy = asking(one, 1, "http://a/0"), asking(other, 1, "http://a/1")
        assert verdict is not None
        assert copy is not None
        assert copy.row is None
        one.settler.settle(verdict.row or 0, kept=True)
        copy = asking(other, 1, "http://a/1")
        assert copy is not None
        assert copy.row == 2
        await one.close("finished")
        await other.close("finished")

    asyncio.run(crawled())


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_crawl_leaves_what_was_there_out_of_garbage_collection(tmp_path: Path, is_ours: bool) -> None:
    async def crawled() -> int:
        judge = judge_of(tmp_path)
        frozen = gc.get_freeze_count()
        await judge.close("finished")
        return frozen

    gc.unfreeze()
    if not is_ours:
        gc.freeze()  # somebody else has seen to it
    try:
        assert asyncio.run(crawled()) > 0
        assert (gc.get_freeze_count() == 0) is is_ours
    finally:
        gc.unfreeze()
