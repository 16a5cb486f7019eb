"""Who asks without a lock and claims under one never keeps what another has kept meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, Reason
from dedup.index import Index, Row, Sighting
from tests.dedup.index.conftest import ON_BOTH
from tests.pages import edited, page, text

CONFIG = DedupConfig()


class Sightings:
    """What one run on *index* sees."""

    def __init__(self, index: Index) -> None:
        self._detector = Detector(index, CONFIG)
        _ = self._detector.run

    def __call__(self, content: str, url: str) -> Sighting:
        return self._detector.sighting(page(content, url))


def claimed(index: Index, seen: Sighting) -> tuple[Row, int]:
    """Ask and claim until it holds; return the row and how often was asked."""
    for times in range(1, 10):
        verdict, token = index.ledger.ask(seen, CONFIG)
        row = index.ledger.claim(seen, verdict, token)
        if isinstance(row, Row):
            return row, times
    raise AssertionError("nobody else asks, and still the verdict never holds")


@ON_BOTH
def test_of_two_who_heard_new_one_must_ask_again(index: Index) -> None:
    sighting = Sightings(index)
    one, other = sighting(text(1), "http://a/"), sighting(edited(1), "http://b/")
    verdict, token = index.ledger.ask(one, CONFIG)
    second, late = index.ledger.ask(other, CONFIG)
    assert verdict.reason is second.reason is Reason.NEW
    kept = index.ledger.claim(one, verdict, token)
    assert isinstance(kept, Row)
    assert index.ledger.claim(other, second, late) is None
    row, times = claimed(index, other)
    assert (row.verdict.reason, row.verdict.canonical, times) == (Reason.NEAR_DUPLICATE, kept.id, 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_claims_record_what_find_or_add_records(seen: list[tuple[int, bool]]) -> None:
    with MemoryIndex() as claims, MemoryIndex() as plain:
        sighting, other = Sightings(claims), Sightings(plain)
        for number, (content, is_edited) in enumerate(seen):
            made = edited(content) if is_edited else text(content)
            claimed(claims, sighting(made, f"http://a/{number}"))
            plain.ledger.find_or_add(other(made, f"http://a/{number}"), CONFIG)
        assert [row.verdict for row in claims.rows()] == [row.verdict for row in plain.rows()]
