"""A guess: that an index knows nothing like a page, as is so for most pages of a crawl.

A verdict is worked out as if that were so, and the server adds the page if it is: one question instead
of four.  What a verdict leans on beside that makes the guess `Unsure`, and the page is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dedup.index.stores.base import NOT_UNDONE, Pool, Query
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import uses_content, uses_structure
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Row
from dedup.values.sighting import Sighting
from dedup.values.verdict import Candidates


class Unsure(Exception):  # noqa: N818 - it says what is the matter
    """A verdict leans on more than the guess says."""


@dataclass(slots=True)
class Guess:
    """That there is no row of the identity of *sighting*, and nothing near its page.

    Facts are those of *epoch*; *searches* says whether the verdict leans on what is near.
    """

    sighting: Sighting
    epoch: int
    searches: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """The kind and the scope of the page."""
        return self.sighting.kind, self.sighting.scope

    def rows(self, query: Query) -> Iterator[Row]:
        """Return the rows of *query*, none; raises `Unsure`."""
        if not self.is_of_it(query):
            raise Unsure
        return iter(())

    def is_of_it(self, query: Query) -> bool:
        """Return whether *query* asks for rows of the identity only."""
        seen = self.sighting
        column, value = seen.identity
        return (
            seen.is_named
            and query.group == self.group
            and getattr(query, column) == value
            and (query.listed or set(query.outcomes or ()) <= set(NOT_UNDONE))
        )

    def candidates(self, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        """Return what in *pool* is near, nothing; raises `Unsure` where simhashes find candidates."""
        if uses_content(config) or uses_structure(config) or not self.has_asked(None, pool):
            raise Unsure
        self.searches = True
        return iter(())

    def has_asked(self, page: Fingerprint | None, pool: Pool) -> bool:
        """Return whether *pool* is all of the group, for this *page*."""
        is_it = page is None or page is self.sighting.fingerprint
        return is_it and pool == Pool(self.group) and self.searches | (page is None)
