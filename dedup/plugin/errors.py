"""What the pipeline raises to drop an item."""

from __future__ import annotations

from scrapy.exceptions import DropItem

from dedup.printable import printable
from dedup.verdict import Verdict


class DuplicatePage(DropItem):
    """The item repeats one that was kept; *verdict* names it.

    Scrapy prints the whole item beside a drop, so this is raised at level DEBUG; the pipeline
    writes a line of its own.
    """

    def __init__(self, url: str, verdict: Verdict) -> None:
        super().__init__(explained(url, verdict), log_level="DEBUG")
        self.verdict = verdict


def explained(url: str, verdict: Verdict) -> str:
    """Return one line on a dropped page: URL, reason, canonical, distances in bits, similarity."""
    similarity = "-" if verdict.similarity is None else f"{verdict.similarity:.2f}"
    return (
        f"{verdict.reason}: {_shown(url)} repeats {_shown(verdict.canonical_url)} "
        f"(content distance {_number(verdict.content_distance)}, "
        f"structure distance {_number(verdict.structure_distance)}, similarity {similarity})"
    )


def _shown(url: str) -> str:
    return f"<{printable(url)}>" if url else "an item without URL"


def _number(distance: int | None) -> str:
    return "-" if distance is None else str(distance)
