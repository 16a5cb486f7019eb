from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from dedup import SQLiteIndex
from dedup.plugin.judge import Judge
from dedup.plugin.settings import read_settings
from dedup.verdict import Outcome
from tests.pages import page, text


def test_a_row_that_cannot_be_settled_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawler = get_crawler(settings_dict={"DEDUP_INDEX": str(tmp_path / "pages.db")})
    crawler.spider = Spider("some")
    judge = Judge(crawler, read_settings(crawler.settings))
    judge.open()
    verdicts = [judge.ask(judge.question(page(text(n)), "item")) for n in range(6)]
    rows = [verdict.row for verdict in verdicts if verdict and verdict.row]
    broken = set(rows)
    confirm = SQLiteIndex.confirm

    def confirm_some(index: SQLiteIndex, row: int) -> None:
        if row in broken:
            raise OSError("on purpose")
        confirm(index, row)

    monkeypatch.setattr(SQLiteIndex, "confirm", confirm_some)
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
