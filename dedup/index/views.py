"""What reports, commands and people read of an index; nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterator

from dedup.index.rows import ANY_INDEX, OF_URL, OLDEST, StoredPage
from dedup.index.store import Store
from dedup.reading.page import Page
from dedup.reading.stored import UnreadablePage, unpack
from dedup.values.errors import ConfigError
from dedup.values.fingerprint import SIMHASH_FIELDS, Fingerprint
from dedup.values.hashes import SIMHASH_BITS
from dedup.values.row import Glance, Neighbour, Row, Statistics
from dedup.values.urls import url_key
from dedup.values.verdict import Outcome

_ANYWHERE = "p.scope IN (SELECT id FROM scopes)"


class Views:
    """What there is to read in one *store*.

    Each method sees one state of it, but for those that yield rows, which read them in batches.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    # Rows

    def glances(self, after: int = 0, outcome: Outcome | None = None) -> Iterator[Glance]:
        """Yield `glance_of` every row with a number above *after*, in the order of `rows`.

        With *outcome* only the rows that have it.
        """
        return self._store.glances(after, outcome)

    def history(self, url: str) -> list[Row]:
        """Return all rows of *url* in canonical form, in all scopes, the oldest first."""
        key = url_key(url)
        return list(self._store.rows(OF_URL, key, order=ANY_INDEX + OLDEST)) if key else []

    def with_body(self, body_digest: bytes, limit: int) -> list[Row]:
        """Return the listed canonicals of that *body_digest*, at most *limit*, the oldest first.

        Of all kinds and scopes; b"" finds none.
        """
        which = f"{_ANYWHERE} AND p.listed AND p.body_digest = ?"
        found = self._store.rows(which, body_digest, order=ANY_INDEX + OLDEST, limit=limit)
        return list(found) if body_digest else []

    def orphans(self) -> list[Row]:
        """Return the rows of pages that were dropped for a canonical which is gone."""
        return list(self._store.rows("p.outcome != 'confirmed' AND p.outcome = 'orphaned'"))

    # Stored pages

    def page_of(self, row: Row) -> Page | None:
        """Return the page that *row* was judged by, without links and source, None if none is stored.

        Raises `dedup.reading.stored.UnreadablePage`, with the number of the row.
        """
        stored = self._store.select(StoredPage, row=row.id)
        if not (stored and stored[0].page):
            return None
        seen = row.sighting
        try:
            return unpack(
                stored[0].page,
                url=seen.url,
                body_digest=seen.fingerprint.body_digest,
                canonical_link=seen.canonical_link,
            )
        except UnreadablePage as error:
            raise UnreadablePage(f"{self._store.name}: the page of row {row.id}: {error}") from error

    def text_of(self, row: Row) -> str | None:
        """Return the text of `page_of`, None also where it is unreadable: `dedup check` counts those."""
        try:
            page = self.page_of(row)
        except UnreadablePage:
            return None
        return page.text if page else None

    # Counts

    def statistics(self) -> Statistics:
        """Return how much there is, without reading it all."""
        return self._store.statistics()

    def largest_clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        """Return the canonicals with most copies dropped in *run*, and how many, the largest first."""
        with self._store.transaction(writing=False):
            return [(self._store.row(row), copies) for row, copies in self._store.clusters(run, limit)]

    # What is near

    def near(
        self, fingerprint: Fingerprint, *, field: str = "content", max_distance: int, limit: int = 10
    ) -> list[Neighbour]:
        """Return the listed canonicals near *fingerprint*, the nearest first, then the oldest.

        By the simhash *field*, `content` or `structure`, within *max_distance* bits (inclusive, 0 to
        64), at most *limit*, of all kinds and scopes; none where the page has no token.  Exact; own
        versions count like any other page.
        """
        if not 0 <= max_distance <= SIMHASH_BITS:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {SIMHASH_BITS}")
        if field not in SIMHASH_FIELDS:
            raise ConfigError(f"field ({field!r}) must be one of {', '.join(SIMHASH_FIELDS)}")
        if not (simhash := fingerprint.simhash(field)):
            return []
        with self._store.transaction(writing=False):
            found = self._store.near(field, simhash, max_distance=max_distance, limit=limit)
            return [Neighbour(self._store.row(row), distance) for distance, row in found]
