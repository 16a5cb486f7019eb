"""The server of an index goes away and comes back at any moment: the rows are those without an outage."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import PostgresIndex
from dedup.model.errors import ServerAway
from dedup.model.row import Row
from dedup.model.verdict import Verdict
from dedup.plugin import crawl_index
from dedup.plugin.judge import Judge
from dedup.plugin.project import read_settings
from tests import postgres
from tests.pages import page, text

TEXTS = 6


class Server:
    """Does not answer so many times as are *left*; what is asked then `may_hear` of, it does all the same.

    With an index that is open *beside*, as in another process of this machine, a claim is recorded, and
    that index reads of it before the crawl, which has no answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from dedup.index import server as module

        self.left = 0
        self.may_hear = False
        self.beside: PostgresIndex | None = None
        self._execute = module.Server.execute

        def executed(server: Any, *given: Any) -> Any:
            return self._executed(server, *given)

        monkeypatch.setattr(module.Server, "execute", executed)

    def _executed(self, server: Any, *given: Any) -> Any:
        if self.beside and "claim(" in str(given) and '"add"' in str(given):
            beside, self.beside = self.beside, None
            self._execute(server, *given)
            cast(Any, beside).store._read()
            raise ServerAway("on purpose: the answer was lost")
        if self.left and not self.beside:
            self.left -= 1
            if self.may_hear:
                self._execute(server, *given)
            raise ServerAway("on purpose")
        return self._execute(server, *given)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    postgres.server()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(crawl_index, "RETRY", 0.0)
    return Server(monkeypatch)


class Step(NamedTuple):
    """A page that is asked about, what becomes of its item, and how often the server fails from then."""

    text: int
    is_kept: bool = True
    failures: int = 0


def history(seed: int) -> list[Step]:
    rng = random.Random(seed)
    failures = (rng.randint(1, 9) if rng.random() < 0.15 else 0 for _ in range(60))
    return [Step(rng.randrange(TEXTS), rng.random() < 0.8, failed) for failed in failures]


def judge_of(address: str) -> Judge:
    crawler = Crawler(Spider, {"DEDUP_INDEX": address, "DEDUP_CRAWL": "one"})
    crawler.stats, crawler.spider = MemoryStatsCollector(crawler), Spider("some")
    judge = Judge(crawler, read_settings(crawler.settings))
    judge.open()
    return judge


async def asked(judge: Judge, number: int, url: str = "") -> Verdict | None:
    question = judge.question(page(text(number), url), "item")
    question.waits = False
    return await judge.asked(question)


async def crawled(address: str, server: Server | None, steps: list[Step]) -> tuple[Counter[int], Any]:
    """Ask one after the other, with up to three items under way; return what was delivered, and stats."""
    judge = judge_of(address)
    delivered: Counter[int] = Counter()
    under_way: list[tuple[int, Step]] = []

    def settle(row: int, of: Step) -> None:
        delivered[of.text] += of.is_kept
        judge.settler.settle(row, kept=of.is_kept)

    for number, step in enumerate(steps):
        if server:
            server.left += step.failures
        verdict = await asked(judge, step.text, f"http://a/{number}")
        assert verdict is not None
        if verdict.kept:
            under_way.append((verdict.row or 0, step))
        if len(under_way) > number % 3:
            settle(*under_way.pop(0))
    for one in under_way:
        settle(*one)
    await judge.close("finished")
    return delivered, judge.counts.own()


def rows_of(address: str) -> Iterator[Row]:
    with PostgresIndex(address) as index:
        assert index.problems() == []
        assert {run.ending for run in index.runs.all()} == {"finished"}
        yield from index.rows()


def shown(row: Row) -> Any:
    verdict = row.verdict
    return row.id, row.sighting.url, verdict.reason, verdict.canonical, row.outcome, row.listed


@pytest.mark.parametrize("seed", range(4))
def test_one_worker_leaves_the_same_rows_with_and_without_outages(server: Server, seed: int) -> None:
    address = postgres.empty()
    delivered, stats = asyncio.run(crawled(address, server, history(seed)))
    found = [*map(shown, rows_of(address))]
    assert stats.keys().isdisjoint({"not_judged", "not_asked", "index_errors"})
    address = postgres.empty()
    assert delivered == asyncio.run(crawled(address, None, history(seed)))[0]
    assert found == [*map(shown, rows_of(address))]


@pytest.mark.parametrize("has_others", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_the_server_did_though_its_answer_was_lost_is_not_there_twice(
    server: Server, seed: int, *, has_others: bool
) -> None:
    """Nor is it a copy of itself where another process of this machine has read of it."""
    address = postgres.empty()
    steps = [Step(TEXTS), *history(seed)]
    server.may_hear = True
    with PostgresIndex(address) as beside:
        server.beside = beside if has_others else None
        delivered, _ = asyncio.run(crawled(address, server, steps))
    assert server.beside is None
    standing = [row for row in rows_of(address) if row.verdict.kept and row.outcome.counts]
    kept = Counter(row.sighting.fingerprint.token_digest for row in standing)
    assert set(kept.values()) == {1}
    assert len(kept) == len(+delivered)
    assert delivered == asyncio.run(crawled(postgres.empty(), None, steps))[0]


def test_after_a_while_pages_are_kept_unjudged_until_the_server_is_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_index, "PATIENCE", 0.0)
    monkeypatch.setattr(crawl_index, "RETRY", 0.005)  # a tenth of a second, as often as it pauses

    async def crawl() -> tuple[list[bool], Any]:
        judge, found = judge_of(postgres.empty()), []
        for number in range(6):
            server.left = number == 1
            if number == 4:
                await asyncio.sleep(0.2)
            found.append(await asked(judge, number) is not None)
        await judge.close("finished")
        return found, judge.counts.own()

    found, stats = asyncio.run(crawl())
    assert found == [True, False, False, False, True, True]
    assert (stats["index_errors"], stats["not_asked"]) == (1, 2)


def test_what_a_server_has_lost_when_it_was_stopped_is_asked_about_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.empty()

    async def crawl() -> None:
        judge = judge_of(address)
        assert judge.index.detector
        store: Any = judge.index.detector.index.store

        def lost(*at: int) -> None:
            """Undo the last of two claims."""
            patched.undo()
            store._server.execute(
                "DELETE FROM @.log WHERE position = (SELECT position FROM @.state);"
                "UPDATE @.state SET position = position - 1, rows = rows - 1"
            )
            store._log.flush(*at)

        with monkeypatch.context() as patched:
            await asked(judge, 0, "http://a/0")
            patched.setattr(store._log, "flush", lost)
            found = await asyncio.gather(*(asked(judge, n, f"http://a/{n}") for n in (1, 2)))
        for verdict in found:
            assert verdict
            assert verdict.kept
            judge.settler.settle(verdict.row or 0, kept=True)
        await judge.close("finished")

    asyncio.run(crawl())
    standing = [row.sighting.url for row in rows_of(address) if row.verdict.kept and row.listed]
    assert sorted(standing) == ["http://a/1", "http://a/2"]
