"""What a crawl asks its index, an index that is waited for in vain, and the fates of rows."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Detector
from dedup.index.ledger import Ledger
from dedup.model.errors import IndexUnavailable
from dedup.model.verdict import Outcome, Reason, Standing, Verdict
from dedup.plugin import crawl_index
from dedup.plugin.judge import Judge
from dedup.plugin.question import Question
from dedup.plugin.settler import MOST_AGAIN, MOST_GATHERED, Settler
from dedup.plugin.stats import CrawlStats
from dedup.settings import DedupSettings
from tests.plugin import crawls
from tests.plugin.crawls import asynchronous, fates
from tests.support.pages import page, text


@pytest.mark.parametrize(("seconds", "pause"), [(0.49, 0.0), (0.5, 10.0), (2.0, 40.0)])
def test_after_a_wait_in_vain_the_index_is_not_asked_for_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: float, pause: float
) -> None:
    crawler, now = Crawler(Spider), [1000.0]
    crawler.stats = MemoryStatsCollector(crawler)
    counts = CrawlStats(crawler)
    index = crawl_index.CrawlIndex(crawler, DedupSettings(), counts)
    index.detector = cast(Detector, "it is not asked")
    monkeypatch.setattr(crawl_index, "monotonic", lambda: now[0])

    def answer(ask: Callable[[Detector], str]) -> str | None:
        answers: list[str | None] = []
        index.do(ask, answers.append)
        return answers[0]

    def lock_for(waited: float) -> Callable[[Detector], str]:
        def ask(_: Detector) -> str:
            now[0] += waited
            raise IndexUnavailable("locked for too long")

        return ask

    for waited in (0.1, 0.1, 0.1, seconds):
        assert answer(lock_for(waited)) is None
    now[0] += pause - 0.01
    assert answer(lambda _: "yes") == (None if pause else "yes")
    now[0] += 0.02
    assert answer(lambda _: "yes") == "yes"
    assert counts.own().get("not_asked", 0) == (pause > 0)
    assert (counts.own()["index_errors"], caplog.text.count("locked for too long")) == (4, 1)


def test_copies_of_what_is_under_way_are_noted_however_many_repeat_pages_of_earlier_crawls() -> None:
    index: Any = SimpleNamespace(counts=None, crawler=None, settings=None)
    settler, request = Settler(index), Request("http://a.example/")
    settler.pending.runs[7] = {}
    settler.pending.begin(7, 1)
    copy = Verdict(Reason.NEAR_DUPLICATE, kept=False, row=9)
    for earlier in range(2, MOST_AGAIN + 3):
        settler.note_copy(replace(copy, canonical=earlier), request)
    settler.note_copy(replace(copy, canonical=1, standing=Standing(1, 7)), request)
    settler.pending.set_fate(1, kept=False)
    assert settler.pending.take().copies == [(9, request)]


def judge_of(folder: Path, **settings: object) -> Judge:
    return crawls.judge_of(str(folder / "pages.db"), **settings)


@asynchronous
async def test_before_and_after_the_crawl_nothing_is_judged(tmp_path: Path) -> None:
    judge = judge_of(tmp_path)
    row = asking(judge, 1).row
    await judge.close("finished")
    assert asking(judge, 1) is None
    judge.settler.note_fate(row, kept=True)
    assert fates(tmp_path) == [Outcome.RELEASED]


def asking(judge: Judge, number: int, url: str = "") -> Any:
    return judge.ask(judge.prepared(Question(page(text(number), url), "item")))


@asynchronous
async def test_an_unsettled_row_holds_up_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    confirm = Ledger.confirm
    broken: set[int] = set()

    def confirm_some(ledger: Ledger, *some: int) -> None:
        if not broken.isdisjoint(some):
            raise OSError("on purpose")
        confirm(ledger, *some)

    monkeypatch.setattr(Ledger, "confirm", confirm_some)

    judge = judge_of(tmp_path)
    asked = [asking(judge, n).row for n in range(6)]
    broken.update(asked)
    for row in asked:
        judge.settler.note_fate(row, kept=True)
    for n in range(3):
        assert asking(judge, 9 + n) is None  # each with one of them
    broken.intersection_update(asked[:1])
    await judge.close("finished")
    assert fates(tmp_path) == [Outcome.RELEASED] + [Outcome.CONFIRMED] * 5


@pytest.mark.parametrize("what", ["question", "flush"])
@asynchronous
async def test_what_could_not_be_committed_is_told_when_there_is_room(tmp_path: Path, what: str) -> None:
    judge = judge_of(tmp_path)
    judge.settler.note_fate(asking(judge, 1, "http://a/0").row, kept=True)
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
    assert (copy.row, copy.canonical) == (2, 1)  # nothing was added in between


@pytest.mark.parametrize("what", ["question", "moment", "many", "release", "close"])
@asynchronous
async def test_rows_are_confirmed_together_before_anybody_leans_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    confirmed: list[tuple[int, ...]] = []
    confirm = Ledger.confirm

    def noted(ledger: Ledger, *some: int) -> None:
        confirmed.append(some)
        confirm(ledger, *some)

    monkeypatch.setattr(Ledger, "confirm", noted)
    monkeypatch.setattr("dedup.plugin.settler.GATHERED_FOR", 0.01 if what == "moment" else 60.0)

    judge = judge_of(tmp_path)
    number = MOST_GATHERED if what == "many" else 3
    asked = [asking(judge, n).row for n in range(number)]
    for row in asked[what == "release" :]:
        judge.settler.note_fate(row, kept=True)
    if what == "question":
        copy = asking(judge, 2)
        assert (copy.canonical, bool(copy.row)) == (asked[2], True)
    elif what == "release":
        judge.settler.note_fate(asked[0], kept=False)
    elif what == "moment":
        await asyncio.sleep(0.1)
    if what != "close":
        assert [*map(sorted, confirmed)] == [asked[what == "release" :]]
    await judge.close("finished")
    assert [*map(sorted, confirmed)] == [asked[what == "release" :]]
    assert fates(tmp_path).count(Outcome.RELEASED) == (what == "release")


@asynchronous
async def test_crawlers_of_one_process_hear_of_each_other(tmp_path: Path) -> None:
    """What one has settled and not told the index, the other tells it."""

    one, other = judge_of(tmp_path, DEDUP_CRAWL="both"), judge_of(tmp_path, DEDUP_CRAWL="both")
    verdict, copy = asking(one, 1, "http://a/0"), asking(other, 1, "http://a/1")
    assert copy.row is None
    one.settler.note_fate(verdict.row, kept=True)
    assert asking(other, 1, "http://a/1").row == 2
    await one.close("finished")
    await other.close("finished")


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("first", [700, 20_000, 0])
def test_garbage_is_collected_by_objects_and_bytes_until_the_crawl_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, is_enabled: bool
) -> None:
    """Who has switched collection off, or made it rarer, is obeyed."""
    collected: list[int] = []
    thresholds = [(first, 10, 10)]
    collector = SimpleNamespace(
        **dict.fromkeys(("freeze", "unfreeze"), lambda: None),
        get_freeze_count=lambda: 0,
        isenabled=lambda: is_enabled,
        collect=collected.append,
        get_threshold=lambda: thresholds[-1],
        set_threshold=lambda *told: thresholds.append(told),
    )
    monkeypatch.setattr("dedup.plugin.judge.gc", collector)
    judge, is_ours = crawls.judge_of(str(tmp_path / "pages.db")), is_enabled and first == 700
    assert (collected, thresholds[1:]) == (([1], [(50_000, 5, 3)]) if is_ours else ([], []))
    large, found = Response("http://a.example/", body=b"x" * 8_000_001), []
    for _ in range(4):
        judge.collect(large)
        found.append(len(collected))
    assert found == ([1, 2, 2, 3] if is_ours else [0] * 4)
    asyncio.run(judge.close("finished"))
    assert thresholds[-1] == (first, 10, 10)
