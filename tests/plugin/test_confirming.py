from __future__ import annotations

from typing import Any

import pytest

from dedup import DedupConfig, MemoryIndex
from dedup.plugin.index_writer import Confirmations
from dedup.values.errors import ServerAway
from dedup.values.verdict import Outcome
from tests.dedup.index.test_durability import numbered_page
from tests.sightings import find_or_add

CONFIG = DedupConfig(scope="global")


class Ledger:
    """Notes what is confirmed, or fails."""

    def __init__(self) -> None:
        self.confirmed: list[tuple[int, ...]] = []
        self.is_away = False

    def confirm(self, *rows: int) -> None:
        if self.is_away:
            raise ServerAway("it is away")
        self.confirmed.append(rows)


def made() -> tuple[Any, Confirmations]:
    ledger: Any = Ledger()
    return ledger, Confirmations(ledger)


def test_one_question_confirms_all_rows_that_wait() -> None:
    ledger, confirmations = made()
    questions = [confirmations.add(row) for row in (3, 1, 2)]
    assert [ask() for ask in questions] == [True] * 3
    assert confirmations.add(4)()
    assert ledger.confirmed == [(1, 2, 3), (4,)]


def test_each_row_is_asked_for_again_if_the_first_question_fails() -> None:
    ledger, confirmations = made()
    first, second = confirmations.add(1), confirmations.add(2)
    ledger.is_away = True
    with pytest.raises(ServerAway):
        first()
    ledger.is_away = False
    assert second()
    assert first()
    assert ledger.confirmed == [(2,), (1,)]


def test_the_rows_of_one_question_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.plugin.index_writer._TOGETHER", 3)
    ledger, confirmations = made()
    questions = [confirmations.add(row) for row in range(8)]
    assert all(ask() for ask in questions)
    assert ledger.confirmed == [(0, 1, 2), (3, 4, 5), (6, 7)]


def test_a_row_that_is_gone_holds_up_no_other() -> None:
    with MemoryIndex() as index:
        run = index.begin_run("news")
        rows = [
            find_or_add(index, numbered_page(number), run=run, config=CONFIG, confirmed=False).row or 0
            for number in (1, 2)
        ]
        confirmations = Confirmations(index.ledger)
        questions = [confirmations.add(row) for row in (7, *rows)]
        assert questions[0]()
        assert [row.outcome for row in index.rows()] == [Outcome.CONFIRMED] * 2
        assert [ask() for ask in questions[1:]] == [True] * 2
