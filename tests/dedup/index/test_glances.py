"""What a report reads of an index: all rows at a glance, some of them whole, and their near ones."""

from __future__ import annotations

import pytest

from dedup import DedupConfig, Detector
from dedup.index import Index
from dedup.values.row import NoSuchRow, glance_of
from dedup.values.verdict import Outcome
from tests.pages import edited, page, text

LOOSE = DedupConfig(max_distance=12, max_lost_words=100)


@pytest.fixture
def filled(index: Index) -> Index:
    fill(index)
    return index


def fill(index: Index) -> None:
    for _ in range(2):
        with Detector(index) as detector:
            for seed in range(5):
                detector.check(page(text(seed), f"http://a/{seed}", template=seed))
                detector.check(page(edited(seed, 2), f"http://b/{seed}", template=seed))
                detector.check(page(edited(seed, 20), f"http://c/{seed}", template=seed))
    index.ledger.forget_url("http://a/1")


def test_glances_are_the_rows_at_a_glance(filled: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.stores.counts._GLANCES", 7)
    expected = [glance_of(row) for row in filled.rows()]
    assert list(filled.views.glances()) == expected
    assert {glance.reason for glance in expected} >= {"new", "near_duplicate", "unchanged"}


@pytest.mark.parametrize("outcome", Outcome)
def test_glances_of_one_outcome(
    filled: Index, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.index.stores.counts._GLANCES", 2)
    expected = [glance for glance in filled.views.glances() if glance.outcome == outcome]
    assert list(filled.views.glances(outcome=outcome)) == expected


def test_rows_come_as_they_are_asked_for(filled: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.index._BATCH", 3)
    wanted = [9, 1, 30, 1, 2, 17]
    assert list(filled.rows_of(wanted)) == [filled.row(number) for number in wanted]
    assert list(filled.rows_of([])) == []
    with pytest.raises(NoSuchRow, match="there is no row 31"):
        list(filled.rows_of([1, 31]))
