"""An index: a store, the rules over it, and what can be read of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Self

from dedup.index.address import Address, address_of, is_address
from dedup.index.ledger import Ledger
from dedup.index.rows import OF_URL, Note
from dedup.index.runs import Runs
from dedup.index.sqlite_file import BUSY_TIMEOUT, damaged
from dedup.index.store import DraftStore, Store
from dedup.model.errors import IndexMismatch, IndexUnavailable
from dedup.model.fingerprint import Fingerprint
from dedup.model.marks import Exceptions
from dedup.model.urls import url_key
from dedup.model.verdict import Row
from dedup.prints.fingerprinter import current_recipe
from dedup.reading.page import Page, UnreadablePage, unpack
from dedup.rule.match import STRUCTURE_MAX_DISTANCE

_RECIPE = "recipe."
_BATCH = 500
_ANYWHERE = "p.scope IN (SELECT id FROM scopes)"


class Index:
    """A persistent set of pages that answers "new, or a copy of which?" and records the answer.

    Its *store* holds everything, its `ledger` judges pages and records them, `runs` knows the runs.
    Unless it is *read_only*, runs whose process is gone are ended.
    Every public method is one transaction, but for those that yield rows: these read them in batches.
    """

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        self.store = store
        self.ledger = Ledger(store)
        self.runs = Runs(store, self.ledger)
        try:
            if not read_only:
                self.runs.end_dead_runs()
        except BaseException:
            self.close()
            raise

    def batch(self) -> AbstractContextManager[None]:
        """Make one transaction of all that is recorded inside; other processes wait until it ends."""
        return self.store.transaction(writing=True)

    def rows(self, run: int | None = None) -> Iterator[Row]:
        """Yield every row, or those of one *run*, in the order in which the pages were seen."""
        return self.store.rows() if run is None else self.store.rows("p.run = ?", run)

    def rows_of(self, rows: Iterable[int]) -> Iterator[Row]:
        """Yield the rows of those numbers, as they are asked for; raises `NoSuchRow`."""
        left = iter(rows)
        while batch := list(islice(left, _BATCH)):
            found = {row.id: row for row in self.store.rows_of(batch)}
            yield from (found.get(number) or self.row(number) for number in batch)

    def row(self, row: int) -> Row:
        """Return the row of that number; raises `NoSuchRow`."""
        return self.store.row(row)

    def history(self, url: str) -> list[Row]:
        """Return all rows of *url* in canonical form, in all scopes, the oldest first."""
        return list(self.store.rows(OF_URL, url_key(url)))

    def orphans(self) -> list[Row]:
        """Return the rows of pages that were dropped for a canonical which is gone."""
        return list(self.store.rows("p.outcome != 'confirmed' AND p.outcome = 'orphaned'"))

    def page_of(self, row: Row) -> Page | None:
        """Return the page that *row* was judged by, without links and source, None if none is stored.

        Raises `dedup.reading.page.UnreadablePage`, with the number of the row.
        """
        stored, seen = self.store.pages([row.id]).get(row.id), row.sighting
        if not stored:
            return None
        try:
            return unpack(stored, url=seen.url, body_digest=seen.fingerprint.body_digest)
        except UnreadablePage as error:
            raise UnreadablePage(f"{self.store.name}: the page of row {row.id}: {error}") from error

    def text_of(self, row: Row) -> str | None:
        """Return the text of `page_of`, None also where it is unreadable: `dedup check` counts those."""
        try:
            page = self.page_of(row)
        except UnreadablePage:
            return None
        return page.text if page else None

    def near(self, page: Fingerprint, *, max_distance: int, limit: int) -> list[Row]:
        """Return the listed canonicals near *page*, of all kinds and scopes, the oldest first.

        At most *limit* each with the same bytes, and the nearest by structure and by content, that
        within *max_distance* bits (0 to 64, inclusive).
        """
        same = f"{_ANYWHERE} AND p.listed AND p.body_digest = ? AND p.body_digest != x''"
        with self.store.transaction(writing=False):
            found = self.store.rows(same, page.body_digest, order="+p.id", limit=limit)
            rows = {row.id for row in found}
            for field, most in (("content", max_distance), ("structure", STRUCTURE_MAX_DISTANCE)):
                if simhash := page.simhash(field):
                    rows |= {*self.store.near(field, simhash, max_distance=most, limit=limit)}
            return self.store.rows_of(sorted(rows))

    def recipe(self) -> Mapping[str, str]:
        """Return the recipe of the stored fingerprints, empty while there are none."""
        notes = self.store.select(Note, prefix=_RECIPE)
        recipe = {note.name.removeprefix(_RECIPE): note.value for note in notes}
        if recipe and "recipe" not in recipe:
            raise IndexUnavailable(f"{self.name}: {damaged('its recipe has no version')}")
        return recipe

    def prepare(self, exceptions: Exceptions | None = None) -> None:
        """Make the index ready for pages, and its rows obey *exceptions*, if given; see `Ledger.obey`.

        Raises `IndexMismatch` for another recipe.
        """
        self.require_recipe(current_recipe())
        if exceptions is not None:
            self.ledger.obey(exceptions)

    def require_recipe(self, recipe: Mapping[str, str]) -> None:
        """Store *recipe* if there is none yet; raise `IndexMismatch` if there is another one."""
        notes = [Note(f"{_RECIPE}{name}", value) for name, value in recipe.items()]
        if not self.recipe():
            with self.batch():
                if not self.recipe():  # others may have been faster
                    self.store.put(*notes)
        self.expect(recipe)

    def expect(self, recipe: Mapping[str, str] | None = None) -> None:
        """Raise `IndexMismatch` if pages by *recipe*, or by today's, cannot be compared with these."""
        stored, recipe = self.recipe(), recipe or current_recipe()
        if stored and (version := stored["recipe"]) != recipe["recipe"]:
            raise IndexMismatch(
                f"{self.name} was built by a release with recipe={version}, this one has "
                f"recipe={recipe['recipe']}; use that release again or another DEDUP_INDEX"
            )
        for field in sorted(stored.keys() | recipe.keys()) if stored else ():
            was, now = stored.get(field, "nothing"), recipe.get(field, "nothing")
            if was != now:
                raise IndexMismatch(
                    f"{self.name} was built with {field}={was}, now {field}={now}; "
                    "install that jieba again or use another DEDUP_INDEX"
                )

    @property
    def name(self) -> str:
        """Where the index is, for messages."""
        return self.store.name

    def problems(self) -> list[str]:
        """Return what is wrong with the stored data, a line for each; nothing is repaired."""
        self.recipe()  # raises if it is damaged
        return self.store.problems()

    def close(self) -> None:
        """Close the index; runs that were not ended stay open and are found dead at the next opening."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class MemoryIndex(Index):
    """An index that lives as long as the object, in this process only."""

    def __init__(self) -> None:
        super().__init__(Store(None))


class SQLiteIndex(Index):
    """The index in the file *path*, made there with its folders if there is none.

    The file can be shared by several processes of one host.  With *create* False a missing file is an
    error; with *read_only* it is one too, nothing is ever changed, and dead runs look like living ones.
    *timeout* is how many seconds to wait for a lock of another process.  Raises `IndexUnavailable` for a
    file that cannot be opened or is no index; such a file is left as it is.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        timeout: float = BUSY_TIMEOUT,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        store = Store(path, timeout=timeout, create=create, read_only=read_only)
        super().__init__(store, read_only=read_only)
        if not read_only:
            store.leases.remove_strays()

    @property
    def path(self) -> Path:
        """The file."""
        return self.store.path


class PostgresIndex(Index):
    """The index at *address* on a PostgreSQL server, made there if there is none.

    It can be shared by crawls on many machines.  *address* is what libpq takes, for instance
    ``postgresql://crawler@db.example/pages``; its option ``schema`` names the schema that has the
    tables, ``dedup`` if there is none.  *create* and *read_only* are those of `SQLiteIndex`.  Raises
    `IndexUnavailable`, and `ConfigError` for an address that cannot be read; no message shows a
    password.
    """

    def __init__(self, address: str, *, create: bool = True, read_only: bool = False) -> None:
        try:
            from dedup.index.replica import Replica
        except ImportError as error:
            raise IndexUnavailable(
                "an index on PostgreSQL needs psycopg and msgpack: pip install 'psycopg[binary]' msgpack"
            ) from error
        store = Replica(address_of(address), create=create, read_only=read_only)
        super().__init__(store, read_only=store.is_read_only)


class Draft(Index):
    """What a crawl goes on with while its server, at *address*, is away: an index of one process.

    It begins as *replica*, or empty; what is added, is added only here.  Raises `IndexUnavailable`.
    """

    def __init__(self, address: Address, replica: Path | None) -> None:
        store = DraftStore(replica)
        store.name = address.name
        super().__init__(store, read_only=True)  # the other runs are none of its business


def open_index(place: str | PathLike[str], *, create: bool = True, read_only: bool = False) -> Index:
    """Return the index at *place*, the path of a file or the address of a server.

    See `SQLiteIndex` and `PostgresIndex`.  Raises `ConfigError` for an address of another kind.
    """
    if not is_address(place):
        return SQLiteIndex(place, create=create, read_only=read_only)
    return PostgresIndex(str(place), create=create, read_only=read_only)
