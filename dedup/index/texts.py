"""Of which pages an index keeps the texts: of all, of none, or of the first ones of a new file."""

from __future__ import annotations

from collections.abc import Callable

from dedup.index.index import Index, SQLiteIndex
from dedup.index.stores.base import StoredPage
from dedup.recipes.config import DedupConfig

# Unless all are kept, the texts in an index take so many bytes at most.
MOST_BYTES = 50_000_000


class Texts:
    """Whose texts *index* keeps, by `store_pages` and `store_first` of *config*.

    Texts of the first pages are kept in files only: a server is shared, and others have not asked for
    them.  Several processes may each keep `MOST_BYTES`.
    """

    def __init__(self, index: Index, config: DedupConfig) -> None:
        self._store = index.store
        self._keeps_all = config.store_pages
        self._first = config.store_first if isinstance(index, SQLiteIndex) else 0
        self._left = MOST_BYTES
        if not self._keeps_all and self._has_room():
            self._left -= sum(len(stored.page) for stored in self._store.select(StoredPage))

    def are_kept(self) -> bool:
        """Return whether the text of the next page is kept."""
        return self._keeps_all or self._has_room()

    def kept(self, stored: Callable[[], bytes]) -> bytes:
        """Return what to keep of the next page, which *stored* gives: b"" for nothing."""
        if not self.are_kept():
            return b""
        page = stored()
        if not self._keeps_all:
            self._left -= len(page)
            if self._left < 0:
                return b""
        return page

    def _has_room(self) -> bool:
        """Return whether the next page is one of the first; if not, the store is asked no more."""
        if self._first and (self._left <= 0 or self._store.last() >= self._first):
            self._first = 0
        return bool(self._first)
