from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Page, SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.plugin.judge import ASKED_WITHIN, MOST_GATHERED, Judge, Question
from dedup.plugin.settings import read_settings
from dedup.values.verdict import Outcome, Verdict
from tests.pages import edited, page, text


def judge_of(folder: Path, **settings: object) -> Judge:
    crawler = Crawler(Spider, {"DEDUP_INDEX": str(folder / "pages.db"), **settings})
    crawler.stats, crawler.spider = MemoryStatsCollector(crawler), Spider("some")
    judge = Judge(crawler, read_settings(crawler.settings))
    judge.open()
    return judge


def test_a_flood_of_candidates_is_counted_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judge = judge_of(tmp_path, DEDUP_RECIPE="max_candidates=2,min_similarity=1")
    for n in range(9):
        judge.ask(judge.question(page(edited(1, n), f"http://a/{n}"), "item"))
    judge.close("finished")
    assert caplog.text.count("is near more than 2 pages") == 1
    assert judge._crawler.stats is not None
    assert judge._crawler.stats.get_value("dedup/candidates_capped") > 2


def test_before_and_after_the_crawl_nothing_is_judged(tmp_path: Path) -> None:
    judge = judge_of(tmp_path)
    question = judge.question(page(text(1)), "item")
    verdict = judge.ask(question)
    assert verdict is not None
    judge.close("finished")
    assert judge.ask(question) is None
    judge.settle(verdict.row or 0, kept=True)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [row.outcome for row in index.rows()] == [Outcome.RELEASED]


@pytest.mark.parametrize("together", [False, True])
def test_a_row_that_cannot_be_settled_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    judge = judge_of(tmp_path)
    verdicts = [judge.ask(judge.question(page(text(n)), "item")) for n in range(6)]
    rows = [verdict.row for verdict in verdicts if verdict and verdict.row]
    broken = set(rows)
    confirm = Ledger.confirm

    def confirm_some(ledger: Ledger, *some: int) -> None:
        if not broken.isdisjoint(some):
            raise OSError("on purpose")
        confirm(ledger, *some)

    monkeypatch.setattr(Ledger, "confirm", confirm_some)

    async def settled() -> None:
        for row in rows:
            judge.settle(row, kept=True)

    judge._gathers = together
    asyncio.run(settled())
    broken = {rows[0], rows[1], rows[3]}
    for n in range(3):  # at most two failures a question
        judge.ask(judge.question(page(text(9 + n)), "item"))
    broken = {rows[0]}
    judge.close("finished")
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome for row in index.rows()]
    assert outcomes[:6].count(Outcome.CONFIRMED) == 5
    assert outcomes[0] is Outcome.RELEASED


def test_no_copy_waits_for_a_row_that_cannot_be_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(tmp_path)
    first, again = (judge.question(page(text(1), f"http://a/{n}"), "item") for n in range(2))
    verdict = judge.ask(first)
    assert verdict is not None
    assert verdict.row is not None
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "confirm", lambda *_: "full".index("disk"))
        judge.settle(verdict.row, kept=True)
        assert judge.ask(again) is None
    copy = judge.ask(again)
    assert copy is not None
    assert copy.canonical == verdict.row
    judge.close("finished")


def test_a_row_whose_confirmation_could_not_be_committed_is_confirmed_when_there_is_room(
    tmp_path: Path,
) -> None:
    async def crawled() -> Verdict | None:
        judge = judge_of(tmp_path)
        first, again = (judge.question(page(text(1), f"http://a/{n}"), "item") for n in range(2))
        verdict = judge.ask(first)
        judge._flush()
        assert verdict is not None
        judge.settle(verdict.row or 0, kept=True)
        assert judge._detector is not None
        connection: Any = judge._detector.index.store._connection  # type: ignore[attr-defined]
        connection.set_authorizer(lambda _, what, *__: what == "COMMIT")  # 1 denies it
        judge._flush()
        connection.set_authorizer(None)
        copy = judge.ask(again)
        judge.close("finished")
        return copy

    copy = asyncio.run(crawled())
    assert copy is not None
    assert copy.row is not None
    assert copy.canonical == 1


@pytest.mark.parametrize("seed", range(6))
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
                        judge.settle(pending.pop(rng.randrange(len(pending))), kept=True)
                        delivered += 1
                        found = other.execute("SELECT count(*) FROM pages WHERE outcome = 'confirmed'")
                        most = max(most, delivered - found.fetchone()[0])
        judge.close("finished")
        return most

    assert 0 < asyncio.run(most_open()) <= 64


def answered(
    folder: Path, pages: list[Page], ask: Callable[[Judge, Question], Awaitable[Verdict | None]]
) -> list[Verdict | None]:
    """Return the verdicts on *pages*; all that *ask* are begun in turn, before one goes on."""

    async def asked() -> list[Verdict | None]:
        judge = judge_of(folder)
        questions = [judge.question(one, "item") for one in pages]
        verdicts = await asyncio.gather(*(ask(judge, question) for question in questions))
        judge.close("finished")
        return verdicts

    return asyncio.run(asked())


async def at_once(judge: Judge, question: Question) -> Verdict | None:
    return judge.ask(question)


async def together(judge: Judge, question: Question) -> Verdict | None:
    return (await judge.ask_later(question))[0]


@pytest.mark.parametrize("seed", range(6))
def test_pages_that_are_asked_about_together_hear_what_they_hear_one_by_one(
    tmp_path: Path, seed: int
) -> None:
    drawn = random.Random(seed)
    pages = [
        page(edited(drawn.randrange(9), drawn.randrange(3)), f"http://a/{n}")
        for n in range(drawn.randrange(3 * MOST_GATHERED))
    ]
    one_by_one = answered(tmp_path / "a", pages, at_once)
    assert answered(tmp_path / "b", pages, together) == one_by_one
    assert None not in one_by_one


@pytest.mark.parametrize("what", ["question", "waiter", "moment", "many", "release", "close"])
def test_rows_are_confirmed_together_before_anybody_leans_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    confirmed: list[tuple[int, ...]] = []
    confirm = Ledger.confirm

    def noted(ledger: Ledger, *rows: int) -> None:
        confirmed.append(rows)
        confirm(ledger, *rows)

    monkeypatch.setattr(Ledger, "confirm", noted)
    monkeypatch.setattr("dedup.plugin.judge.GATHERED_FOR", 0.01 if what == "moment" else 60.0)

    async def crawled() -> None:
        judge = judge_of(tmp_path)
        number = MOST_GATHERED if what == "many" else 3
        verdicts = [judge.ask(judge.question(page(text(n)), "item")) for n in range(number)]
        rows = [verdict.row for verdict in verdicts if verdict and verdict.row]
        copy = judge.ask(judge.question(page(text(2)), "item"))
        waiter = judge.waiter(copy) if what == "waiter" else None
        for row in rows[what == "release" :]:
            judge.settle(row, kept=True)
        if what == "question":
            copy = judge.ask(judge.question(page(text(2)), "item"))
            assert copy is not None
            assert copy.canonical == rows[2]
            assert copy.row
        elif what == "release":
            judge.settle(rows[0], kept=False)
        elif what == "moment":
            await asyncio.sleep(0.1)
        if what != "close":
            assert [*map(sorted, confirmed)] == [rows[what == "release" :]]
            assert waiter is None or await waiter.wait(0)
        judge.close("finished")
        assert [*map(sorted, confirmed)] == [rows[what == "release" :]]

    asyncio.run(crawled())
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome for row in index.rows()]
    assert outcomes.count(Outcome.RELEASED) == (what == "release")


@pytest.mark.parametrize(("number", "waits"), [(3, True), (MOST_GATHERED, False)])
def test_so_many_are_asked_about_at_once_and_fewer_after_a_moment(
    tmp_path: Path, number: int, waits: bool
) -> None:
    took: list[float] = []

    async def timed(judge: Judge, question: Question) -> Verdict | None:
        begin = monotonic()
        verdict = await together(judge, question)
        took.append(monotonic() - begin)
        return verdict

    # The moment is one that no machine takes to judge a few pages.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dedup.plugin.judge.ASKED_WITHIN", 5)
        answered(tmp_path, [page(text(n), f"http://a/{n}") for n in range(number)], timed)
    assert {seconds >= 4.5 for seconds in took} == {waits}


def test_what_waits_when_the_crawl_ends_is_judged(tmp_path: Path) -> None:
    async def ended() -> Verdict | None:
        judge = judge_of(tmp_path)
        later = judge.ask_later(judge.question(page(text(1)), "item"))
        judge.close("finished")
        verdict, _ = await later
        return verdict

    verdict = asyncio.run(ended())
    assert verdict is not None
    assert verdict.row == 1


def test_a_page_waits_for_others_only_where_they_come_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("dedup.plugin.judge.monotonic", lambda: now)
    judge, one_by_one = judge_of(tmp_path), judge_of(tmp_path, CONCURRENT_ITEMS=1)
    for seconds, waits in ((0, False), (ASKED_WITHIN / 2, True), (2 * ASKED_WITHIN, False)):
        now += seconds
        assert judge.may_wait(is_whole=True) is waits
        assert not one_by_one.may_wait(is_whole=True)
    assert not judge.may_wait(is_whole=False)
    judge.close("finished")
    one_by_one.close("finished")
