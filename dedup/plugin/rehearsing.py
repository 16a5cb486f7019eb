"""The rehearsal of a crawl: when it is over, and what it says."""

from __future__ import annotations

import logging

from dedup.front.settings import DedupSettings
from dedup.index import Index
from dedup.report.rehearsal import rehearsal
from dedup.values.verdict import Verdict

logger = logging.getLogger(__name__)


class Rehearsal:
    """The first pages of an index, of which all is delivered; of an index that has them, nothing."""

    def __init__(self, settings: DedupSettings) -> None:
        drops = settings.action == "drop" and not settings.dry_run
        self._pages = settings.config.rehearse if drops else 0
        self.is_on = False
        """Whether copies are delivered: then this crawl tells what would have been dropped."""

    def open(self, index: Index) -> None:
        """Begin, or go on, if *index* has not enough pages."""
        seen = index.store.last() if self._pages else 0
        self.is_on = seen < self._pages
        if self.is_on:
            logger.info(
                "Dry run: of the first %d pages of the index nothing is dropped (DEDUP_DRY_RUN); "
                "it has %d",
                *(self._pages, seen),
            )

    def is_ended_by(self, verdict: Verdict) -> bool:
        """Return whether *verdict* is on the last page, or a later one; then it is over."""
        is_last = self.is_on and (verdict.row or 0) >= self._pages
        self.is_on = self.is_on and not is_last
        return is_last

    def told(self, index: Index) -> str:
        """Return what it says up to now; see `dedup.report.rehearsal.rehearsal`."""
        return rehearsal(index, self._pages)
