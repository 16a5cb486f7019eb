"""How long an index that other processes lock may keep the reactor waiting."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from dedup.plugin.counting import Counts
from dedup.plugin.notices import Notices

_T = TypeVar("_T")

# Seconds that one question waits for a lock, and the share of a crawl that all questions wait.
LONGEST_WAIT = 2.0
_WAITING_SHARE = 0.01
# A shorter wait is not counted; after one that was in vain the index is not asked for ten times as long.
_NOTABLE = 0.5
_PAUSE = 10


class Patience:
    """Asks the index, or does not for a while; begins with the crawl.

    After a wait that was in vain, or too many of them, pages are better kept without being judged.
    """

    def __init__(self, counts: Counts, notices: Notices) -> None:
        self._counts = counts
        self._notices = notices
        self._begun = monotonic()
        self._waited = 0.0
        self._resumes = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the index is not asked now."""
        return monotonic() < self._resumes

    def renew(self) -> None:
        """Ask again at once."""
        self._resumes = 0.0

    def attempt(self, ask: Callable[[], _T]) -> _T | None:
        """Return what *ask* returns, None where it fails, or where the index is not asked now."""
        begin = monotonic()
        if begin < self._resumes:
            self._counts.add("not_asked")
            return None
        answer, is_answered = None, False
        try:
            answer = self._counts.timed("index", ask)
            is_answered = True
        except Exception as error:  # whatever it is, to lose the page would be worse
            self._notices.failed(error)
        if (seconds := monotonic() - begin) >= _NOTABLE:
            self._note(seconds, in_vain=not is_answered)
        return answer

    def _note(self, seconds: float, *, in_vain: bool) -> None:
        self._waited += seconds
        if in_vain:
            self._resumes = monotonic() + _PAUSE * seconds
        if in_vain or self._waited > LONGEST_WAIT:
            self._resumes = max(self._resumes, self._begun + self._waited / _WAITING_SHARE)
