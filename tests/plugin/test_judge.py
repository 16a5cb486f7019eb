from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.plugin.judge import Judge
from dedup.plugin.settings import read_settings
from dedup.values.verdict import Outcome
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


def test_a_row_that_cannot_be_settled_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(tmp_path)
    verdicts = [judge.ask(judge.question(page(text(n)), "item")) for n in range(6)]
    rows = [verdict.row for verdict in verdicts if verdict and verdict.row]
    broken = set(rows)
    confirm = Ledger.confirm

    def confirm_some(ledger: Ledger, row: int) -> None:
        if row in broken:
            raise OSError("on purpose")
        confirm(ledger, row)

    monkeypatch.setattr(Ledger, "confirm", confirm_some)
    for row in rows:
        judge.settle(row, kept=True)
    broken = {rows[0], rows[1], rows[3]}
    for n in range(3):  # at most two failures a question
        judge.ask(judge.question(page(text(9 + n)), "item"))
    broken = {rows[0]}
    judge.close("finished")
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome for row in index.rows()]
    assert outcomes[:6].count(Outcome.CONFIRMED) == 5
    assert outcomes[0] is Outcome.RELEASED
