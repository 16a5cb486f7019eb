"""Rules from what an index knows: the groups of each run, without a crawl."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from dedup.rule.keys import MIN_EQUAL_TOKENS
from dedup.urls.learner import Learner, Record
from dedup.urls.views import Page
from dedup.values.row import Row
from dedup.values.urls import host_of
from dedup.values.verdict import Outcome, Reason

CLEAR = 0.9
"""A copy that shares less than this with its canonical is no evidence, neither way."""

MIN_COPIES, LARGE_SHARE = 20, 0.2
"""From so many copies of one page on, and this share of a host, they are no evidence: a login page."""


_TELLING = (Outcome.CONFIRMED, Outcome.ORPHANED, Outcome.REHEARSED)


class Clearness:
    """Tells which pages are beyond doubt; it counts the copies of each page of a host."""

    def __init__(self) -> None:
        self._copies: Counter[tuple[str, int]] = Counter()
        self._hosts: Counter[str] = Counter()

    def is_clear(
        self, url: str, reason: Reason, tokens: int, similarity: float | None, copy_of: int | None
    ) -> bool:
        """Return whether it is beyond doubt what a page shows; *copy_of* is what it repeats."""
        if reason is Reason.NOT_JUDGED or tokens < MIN_EQUAL_TOKENS:
            return False
        host = host_of(url)
        self._hosts[host] += 1
        if copy_of is None:
            return True
        self._copies[host, copy_of] += 1
        copies = self._copies[host, copy_of]
        is_large = copies >= MIN_COPIES and copies > LARGE_SHARE * self._hosts[host]
        return not is_large and (similarity or 0.0) >= CLEAR


def learned_from(rows: Iterable[Row]) -> list[Record]:
    """Return the rules that *rows* speak of, the rows of each run by themselves."""
    learners: defaultdict[tuple[int, str, str], Learner] = defaultdict(Learner)
    clearness = Clearness()
    for row in rows:
        if (content := _content(row, clearness)) is not None:
            seen = row.sighting
            page = Page(seen.url, (content,), (row.id,), "", 0)
            learners[seen.run, seen.kind, seen.scope].page(page, can_stand=False)
    return _together(learners.values())


def _content(row: Row, clearness: Clearness) -> int | None:
    """Return what the page of *row* is or repeats, None where it is no evidence."""
    seen, found = row.sighting, row.verdict
    if row.outcome not in _TELLING or seen.is_dry or not seen.url:
        return None
    content = found.represents or found.canonical or row.id
    copy_of = content if found.repeats_another else None
    tokens = seen.fingerprint.tokens
    clear = clearness.is_clear(seen.url, found.reason, tokens, found.similarity, copy_of)
    return content if clear else None


def _together(learners: Iterable[Learner]) -> list[Record]:
    """Return the rules of all *learners*, each once, with what all of them have seen."""
    records: dict[object, Record] = {}
    for learner in learners:
        for record in learner.records.values():
            known = records.setdefault(record.rule, record)
            if known is not record:
                known.own = known.own.and_also(record.own)
                known.renew()
    return list(records.values())
