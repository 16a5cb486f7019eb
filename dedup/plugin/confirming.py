"""Rows that are confirmed together: one question to the server settles all that wait by then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from dedup.index.ledger import Ledger
from dedup.values.row import NoSuchRow

# So many rows are confirmed in one transaction.
_MOST = 200


class Confirmations:
    """The rows that wait to be confirmed by *ledger*.

    Rows come from the thread of the crawl; questions are asked in one other thread.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: deque[int] = deque()
        # Those that an earlier question has confirmed, before their own.
        self._done: set[int] = set()

    def add(self, row: int) -> Callable[[], bool]:
        """Let *row* wait; return the question that confirms it, and up to `_MOST` others that wait then.

        It returns True, at once where another question was faster.
        """
        self._waiting.append(row)
        return lambda: self._confirm(row)

    def _confirm(self, row: int) -> bool:
        if row not in self._done:
            rows = {row, *(self._waiting.popleft() for _ in range(min(_MOST, len(self._waiting))))}
            with suppress(NoSuchRow):  # the others are confirmed all the same
                self._ledger.confirm(*sorted(rows))
            self._done |= rows
        self._done.discard(row)
        return True
