"""Which pages are beyond doubt, so that rules for URLs may be learned from them."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import Any

from dedup.rule.keys import MIN_EQUAL_TOKENS
from dedup.values.urls import host_of
from dedup.values.verdict import Reason

CLEAR = 0.9
"""A copy that shares less than this with its canonical is no evidence, neither way."""

MIN_COPIES, LARGE_SHARE = 20, 0.2
"""From so many copies of one page on, and this share of a host, they are no evidence: a login page."""


# Pages whose copies are counted, and hosts: of others nothing is beyond doubt.
MOST_COUNTED = 100_000


class Clarity(IntEnum):
    """How much is known of what a page shows; a `WALL` is one page at very many URLs."""

    DOUBTFUL = 0
    WALL = 1
    CLEAR = 2


class Clearness:
    """Tells which pages are beyond doubt; it counts the copies of each page of a host."""

    def __init__(self) -> None:
        self._copies: Counter[tuple[str, int]] = Counter()
        self._hosts: Counter[str] = Counter()

    def of(
        self, url: str, reason: Reason, tokens: int, similarity: float | None, copy_of: int | None
    ) -> Clarity:
        """Return how far it is beyond doubt what a page shows; *copy_of* is what it repeats."""
        if reason is Reason.NOT_JUDGED or tokens < MIN_EQUAL_TOKENS:
            return Clarity.DOUBTFUL
        host = host_of(url)
        if not _counts(self._hosts, host):
            return Clarity.DOUBTFUL
        self._hosts[host] += 1
        if copy_of is None:
            return Clarity.CLEAR
        if not _counts(self._copies, (host, copy_of)):
            return Clarity.DOUBTFUL
        self._copies[host, copy_of] += 1
        copies = self._copies[host, copy_of]
        is_large = copies >= MIN_COPIES and copies > LARGE_SHARE * self._hosts[host]
        if (similarity or 0.0) < CLEAR:
            return Clarity.DOUBTFUL
        return Clarity.WALL if is_large else Clarity.CLEAR


def _counts(counted: Counter[Any], key: object) -> bool:
    return key in counted or len(counted) < MOST_COUNTED
