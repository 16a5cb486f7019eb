"""The server of an index goes away and comes back at any moment: the rows are those without an outage."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler

from dedup import PostgresIndex
from dedup.index.rows import Note
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.verdict import Outcome, Visit
from dedup.plugin import crawl_index, server_thread
from dedup.plugin.addon import read_settings
from dedup.plugin.crawl_index import CannotBegin
from dedup.plugin.judge import Judge
from dedup.plugin.question import Question
from tests.plugin import crawls
from tests.plugin.crawls import asynchronous
from tests.support import postgres
from tests.support.pages import of_another_recipe, page, text

TEXTS = 6


class Server:
    """Does not answer while it `is_away`; what is asked then `may_hear` of, it does all the same.

    With an index that is open *beside*, as in another process of this machine, an outage begins with the
    answer to a claim, and that index reads of the claim before the crawl does.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from dedup.index import server as module

        self.is_away = self.may_hear = False
        self.beside: PostgresIndex | None = None
        self.lost_claims = 0
        method = module.Server.execute

        def faulty(server: Any, *given: Any, **named: Any) -> Any:
            if not self.is_away or self.beside:
                found = method(server, *given, **named)
                if self.is_away and "claim(" in str(given) and r"\xa3add" in str(given):
                    self._lose_claim()
                return found
            if self.may_hear:
                method(server, *given, **named)
            raise ServerAway("on purpose")

        monkeypatch.setattr(module.Server, "execute", faulty)

    def _lose_claim(self) -> None:
        self.is_away = False
        beside, self.beside = self.beside, None
        cast(Any, beside).store._read()
        self.is_away = True
        self.lost_claims += 1
        raise ServerAway("on purpose: the answer was lost")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    postgres.server()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(server_thread, "RETRY", 0.01)
    return Server(monkeypatch)


class Step(NamedTuple):
    """A page that is asked about, with what becomes of its item, or of the server before it."""

    text: int
    is_kept: bool = True
    away: bool | None = None


def history(seed: int) -> list[Step]:
    rng, steps = random.Random(seed), []
    for _ in range(60):
        away = rng.choice([True, False]) if rng.random() < 0.15 else None
        steps.append(Step(rng.randrange(TEXTS), rng.random() < 0.8, away))
    return steps


def judge_of(address: str) -> Judge:
    return crawls.judge_of(address, DEDUP_CRAWL="one")


class Done(NamedTuple):
    delivered: Counter[int]
    stats: dict[str, Any]


async def crawled(address: str, server: Server | None, steps: list[Step], *, returns: bool) -> Done:
    """Ask one after the other, with up to three items under way."""
    judge = judge_of(address)
    delivered: Counter[int] = Counter()
    under_way: list[tuple[int, Step]] = []
    for number, step in enumerate(steps):
        if server and step.away is not None:
            server.is_away = step.away
        verdict = await asked(judge, step.text, f"http://a/{number}")
        if verdict.kept:
            under_way.append((verdict.row, step))
        if len(under_way) > number % 3:
            row, of = under_way.pop(0)
            delivered[of.text] += of.is_kept
            judge.settler.note_fate(row, kept=of.is_kept)
    for row, of in under_way:
        delivered[of.text] += of.is_kept
        judge.settler.note_fate(row, kept=of.is_kept)
    if server and returns:
        server.is_away = False
    await judge.close("finished")
    return Done(delivered, judge.counts.own())


def rows_of(address: str) -> list[Any]:
    with PostgresIndex(address) as index:
        assert index.problems() == []
        assert {run.ending for run in index.runs.all()} == {"finished"}
        rows = [(row, row.verdict) for row in index.rows()]
    return [(it.id, it.sighting.url, of.reason, of.canonical, it.outcome, it.listed) for it, of in rows]


@pytest.mark.parametrize("seed", range(4))
def test_one_worker_leaves_the_same_rows_with_and_without_outages(server: Server, seed: int) -> None:
    steps, address = history(seed), postgres.empty()
    server.is_away = seed % 3 == 0
    done = asyncio.run(crawled(address, server, steps, returns=True))
    found, address = rows_of(address), postgres.empty()
    assert done.delivered == asyncio.run(crawled(address, None, steps, returns=True)).delivered
    assert found == rows_of(address)
    assert done.stats["server_away"] > 0
    assert done.stats.keys().isdisjoint({"not_judged", "not_asked", "index_errors", "kept_twice"})


@pytest.mark.parametrize("has_others", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_the_server_did_though_its_answer_was_lost_is_not_there_twice(
    server: Server, seed: int, *, has_others: bool
) -> None:
    """Nor is it a copy of itself where another process of this machine has read of it."""
    address, steps = postgres.empty(), [Step(TEXTS, away=has_others or None), *history(seed)]
    server.may_hear = True
    with PostgresIndex(address) as beside:
        server.beside = beside if has_others else None
        done = asyncio.run(crawled(address, server, steps, returns=True))
    assert server.lost_claims == has_others
    with PostgresIndex(address) as index:
        assert index.problems() == []
        standing = [row for row in index.rows() if row.verdict.kept and row.outcome.counts]
        kept = Counter(row.sighting.fingerprint.token_digest for row in standing)
    assert max(kept.values()) == 1
    assert len(kept) == len(+done.delivered)
    assert max(done.delivered.values()) == 1
    assert "not_judged" not in done.stats
    assert done.delivered == asyncio.run(crawled(postgres.empty(), None, steps, returns=True)).delivered


@pytest.mark.parametrize("begins_away", [False, True])
def test_a_server_that_does_not_come_back_leaves_what_it_does_not_know_to_the_next_crawl(
    server: Server, caplog: pytest.LogCaptureFixture, *, begins_away: bool
) -> None:
    address = postgres.empty()
    server.is_away = begins_away
    steps = [Step(n % 4, True, away=True if n == 4 else None) for n in range(8)]
    steps += [Step(4), Step(5), Step(4)]
    done = asyncio.run(crawled(address, server, steps, returns=False))
    assert done.delivered == Counter(range(6))
    told = re.search("has not come back: ([0-9]+) pages", caplog.text)
    assert told is not None
    server.is_away = False
    with PostgresIndex(address) as index:
        confirmed = [it for it in index.rows() if it.outcome is Outcome.CONFIRMED and it.verdict.kept]
    assert int(told[1]) == done.stats["not_recorded"] == 6 - len(confirmed)
    again = asyncio.run(crawled(address, None, [Step(n) for n in range(6)], returns=True))
    assert again.delivered >= Counter(range(6) if begins_away else [4, 5])


async def until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        await asyncio.sleep(0.01)


async def asked(judge: Judge, number: int, url: str) -> Any:
    question = judge.prepared(Question(page(text(number), url), "item"))
    question.waits = False
    return await judge.ask_in_turn(question)


@pytest.mark.parametrize("is_kept", [True, False])
@asynchronous
async def test_what_another_machine_has_kept_meanwhile_is_told(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_kept: bool
) -> None:
    address = postgres.empty()
    monkeypatch.setattr(server_thread, "RETRY", 60.0)  # the first one comes back at its end
    one = judge_of(address)
    server.is_away = True
    verdict = await asked(one, 1, "http://a/1")
    one.settler.note_fate(verdict.row, kept=is_kept)
    server.is_away = False
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other" / "cache"))
    other = judge_of(address)
    verdict = await asked(other, 1, "http://a/2")
    assert verdict.kept
    other.settler.note_fate(verdict.row, kept=True)
    await other.close("finished")
    await one.close("finished")
    assert one.counts.own().get("kept_twice") == 1
    with PostgresIndex(address) as index:
        assert [(row.verdict.kept, row.outcome) for row in index.rows()] == [
            (True, Outcome.CONFIRMED),
            (False, Outcome.CONFIRMED),
        ]


@pytest.mark.parametrize("is_back", [False, True])
@asynchronous
async def test_copies_of_what_is_lost_are_asked_for_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, *, is_back: bool
) -> None:
    address, again = postgres.empty(), list[str]()
    judge = judge_of(address)
    monkeypatch.setattr(judge.settler, "request_again", lambda request, _: again.append(request.url))
    server.is_away = True
    verdicts = [await asked(judge, 1, url) for url in ("http://a/1", "http://a/2")]
    for number, verdict in enumerate(verdicts, 1):
        judge.settler.note_copy(verdict, Request(f"http://a/{number}"))
    server.is_away = not is_back
    thread: Any = judge.index._server
    await until(lambda: not (is_back and thread._outage))
    judge.settler.note_fate(verdicts[0].row, kept=False)
    await until(lambda: bool(again))
    server.is_away = False
    await judge.close("finished")
    assert again == ["http://a/2"]
    with PostgresIndex(address) as index:
        assert [row.outcome for row in index.rows()] == [Outcome.RELEASED, Outcome.RESTORED]


@asynchronous
async def test_what_was_recorded_in_an_outage_is_known_after_and_in_the_next(server: Server) -> None:
    address = postgres.empty()
    judge = judge_of(address)
    thread: Any = judge.index._server
    pending = judge.settler.pending
    server.is_away = True
    row = (await asked(judge, 1, "http://a/1")).row
    server.is_away = False
    await until(lambda: not thread._outage)
    for is_away in (False, True):
        server.is_away = is_away
        question = judge.prepared(Question(page(text(1), "http://a/2"), "item"))
        copy: Any = await judge.ask_in_turn(question)
        assert (copy.row, copy.standing.row, [*pending.runs[copy.standing.run]]) == (None, row, [row])
    judge.settler.note_fate(row, kept=False)
    assert (await asked(judge, 1, "http://a/3")).kept
    server.is_away = False
    await judge.close("finished")
    with PostgresIndex(address) as index:
        assert [(row.sighting.url, row.verdict.kept, row.outcome) for row in index.rows()] == [
            ("http://a/1", True, Outcome.RELEASED),
            ("http://a/3", True, Outcome.RELEASED),  # nobody has settled it
        ]


@asynchronous
async def test_without_room_for_a_draft_pages_are_kept_unjudged_until_the_server_is_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(postgres.empty())
    monkeypatch.setattr(server_thread, "Draft", full)
    for number in range(6):
        server.is_away = number in (1, 2, 3)
        verdict = await judge.ask_in_turn(judge.prepared(Question(page(text(number)), "item")))
        assert (verdict is None) is server.is_away
    await judge.close("finished")


@asynchronous
async def test_a_server_that_has_no_such_index_any_more_is_not_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.is_away = True
    judge = judge_of(postgres.empty())
    monkeypatch.setattr(server_thread, "open_index", full)
    server.is_away = False
    assert (await asked(judge, 1, "http://a/1")).kept
    await asyncio.sleep(0.1)
    assert not (await asked(judge, 1, "http://a/2")).kept
    monkeypatch.setattr(server_thread, "_NEVER", 0.0)
    await judge.close("finished")
    assert caplog.text.count("The index on the server cannot be used: the disk is full") == 2
    assert "has not come back: 1 pages" in caplog.text


@pytest.mark.parametrize("why", ["was built by a release with recipe=", "the disk is full"])
@asynchronous
async def test_a_crawl_that_cannot_be_judged_without_the_server_does_not_begin(
    server: Server, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    address = postgres.empty()
    await crawled(address, None, [Step(1)], returns=True)
    server.is_away = True
    # There is no reactor, of which Scrapy 2.13 would complain.
    monkeypatch.setattr("dedup.plugin.crawl_index.is_asyncio_available", lambda: True)
    if why == "the disk is full":
        monkeypatch.setattr(crawl_index, "Draft", full)
    else:
        of_another_recipe(monkeypatch)

    crawler = Crawler(Spider, {"DEDUP_INDEX": address})
    judge = Judge(crawler, read_settings(crawler.settings))
    with pytest.raises(CannotBegin, match=why):
        judge.index.check()


def full(*_: object) -> None:
    raise IndexUnavailable("the disk is full")


def end_all_runs(address: str) -> None:
    with PostgresIndex(address) as other:
        cast(Any, other.store)._server.execute("DELETE FROM @.leases")
        other.runs.end_dead_runs()


@pytest.mark.usefixtures("server")
@asynchronous
async def test_a_run_that_goes_on_for_another_one_is_on_the_host_of_the_page_that_found_out() -> None:
    address = postgres.empty()
    judge = judge_of(address)
    await asked(judge, 0, "http://a/0")
    end_all_runs(address)
    await asked(judge, 1, "http://b/0")
    await judge.close("finished")
    with PostgresIndex(address) as index:
        assert [visit.host for visit in index.store.select(Visit) if visit.run == 2] == ["", "a", "b"]


@pytest.mark.parametrize("at", ["begin", "hold"])
@asynchronous
async def test_a_server_that_goes_away_as_another_run_begins_is_not_missed(
    server: Server, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    address = postgres.empty()
    judge = judge_of(address)
    judge.settler.hold()
    await asked(judge, 0, "http://a/0")
    thread: Any = judge.index._server
    end_all_runs(address)
    detector = thread.detector
    place, name = (detector, "_begin") if at == "begin" else (detector.index.runs, "hold")
    method = getattr(place, name)

    def goes_away(*given: Any) -> Any:
        server.is_away = True
        return method(*given)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, goes_away)
        assert (await asked(judge, 1, "http://a/1")).kept
    server.is_away = False
    await until(lambda: not thread._outage)
    assert detector.index.store.select(Note, name=f"unstored.{detector.run.id}.{0:012}")
    await judge.close("finished")
    assert "index_errors" not in judge.counts.own()


@asynchronous
async def test_a_connection_cut_before_the_end_is_made_anew(caplog: pytest.LogCaptureFixture) -> None:
    address = postgres.empty()
    judge = judge_of(address)
    judge.settler.note_fate((await asked(judge, 0, "http://a/0")).row, kept=True)
    judge.settler.flush()
    await asked(judge, 0, "http://a/1")
    connection = cast(Any, judge.index.detector).index.store._server._connection
    with PostgresIndex(address) as other:
        cut, session = "SELECT pg_terminate_backend(%s::int, 10000)", connection.info.backend_pid
        cast(Any, other.store)._server.execute(cut, (session,))
    await judge.close("finished")
    assert "could not be ended" not in caplog.text
    assert [row[4] for row in rows_of(address)] == [Outcome.CONFIRMED, Outcome.CONFIRMED]
