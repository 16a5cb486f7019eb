"""How long an index that other processes lock may keep the reactor waiting."""

from __future__ import annotations

from time import monotonic

# Seconds that one question waits for a lock, and the share of a crawl that all questions wait.
LONGEST_WAIT = 2.0
_WAITING_SHARE = 0.01
# A shorter wait is not counted; after one that was in vain the index is not asked for ten times as long.
_NOTABLE = 0.5
_PAUSE = 10


class Patience:
    """Tells whether the index is asked now; begins with the crawl.

    After a wait that was in vain, or too many of them, pages are better kept without being judged.
    """

    def __init__(self) -> None:
        self._begun = monotonic()
        self._waited = 0.0
        self._resumes = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the index is not asked for now."""
        return monotonic() < self._resumes

    def renew(self) -> None:
        """Ask again at once."""
        self._resumes = 0.0

    def note(self, begin: float, *, in_vain: bool) -> None:
        """Take into account a question that was asked at *begin*, *in_vain* if it failed."""
        now = monotonic()
        seconds = now - begin
        if seconds < _NOTABLE:
            return
        self._waited += seconds
        if in_vain:
            self._resumes = now + _PAUSE * seconds
        if in_vain or self._waited > LONGEST_WAIT:
            self._resumes = max(self._resumes, self._begun + self._waited / _WAITING_SHARE)
