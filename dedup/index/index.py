"""An index, what can be read of it, and the detector that asks it: a page in, a verdict out."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from os import PathLike
from pathlib import Path
from typing import Self

from dedup.index.ledger import Ledger, Runs
from dedup.index.rows import OF_URL, Note
from dedup.index.sqlite_file import BUSY_TIMEOUT, damaged
from dedup.index.store import DraftStore, Store
from dedup.model.address import Address, address_of, is_address
from dedup.model.errors import IndexMismatch, IndexUnavailable, RunEnded
from dedup.model.fingerprint import Fingerprint, PageToRecord, Sighting
from dedup.model.marks import Exceptions
from dedup.model.urls import url_key
from dedup.model.verdict import DRY_RUN, Reason, Row, Run, Verdict
from dedup.prints.fingerprinter import DedupConfig, current_recipe, fingerprint
from dedup.reading.page import Page, UnreadablePage, pack, sighting_of, unpack
from dedup.rule.match import STRUCTURE_MAX_DISTANCE

logger = logging.getLogger(__name__)

_RECIPE = "recipe."
_BATCH = 500
_ANYWHERE = "p.scope IN (SELECT id FROM scopes)"


class Index:
    """A persistent set of pages that answers "new, or a copy of which?" and records the answer.

    Its *store* holds everything, its `ledger` judges pages and records them, `runs` knows the runs, and
    `name` says where it is.  Unless it is *read_only*, runs whose process is gone are ended.
    Every public method is one transaction, but for those that yield rows: these read them in batches.
    """

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        self.store, self.name = store, store.name
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
        """Return the page of *row* as it came, without links and source, None if none is stored.

        What was left out of it when it was judged, as it changes by itself, is in it.

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
            from dedup.index.server import Replica
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
        # The other runs are none of its business.
        super().__init__(DraftStore(replica, address.name), read_only=True)


def open_index(place: str | PathLike[str], *, create: bool = True, read_only: bool = False) -> Index:
    """Return the index at *place*, the path of a file or the address of a server.

    See `SQLiteIndex` and `PostgresIndex`.  Raises `ConfigError` for an address of another kind.
    """
    if not is_address(place):
        return SQLiteIndex(place, create=create, read_only=read_only)
    return PostgresIndex(str(place), create=create, read_only=read_only)


_DEFAULT = DedupConfig()
MOST_BYTES = 50_000_000  # that the texts in an index take, unless all are kept
_LAST = 200  # pages that were kept at last are at hand, should a copy of one of them lose words
_FEW = 1000  # texts are not compressed: that would take longer than to write them


def are_small(config: DedupConfig) -> bool:
    """Return whether texts that are kept by *config* are compressed."""
    return config.store_pages or config.store_first > _FEW


class Texts:
    """Whose texts *index* keeps, by `store_pages` and `store_first` of *config*.

    Those of the first pages are kept in files only: others who share a server have not asked for them.
    """

    def __init__(self, index: Index, config: DedupConfig) -> None:
        self._store = index.store
        is_file = isinstance(index, SQLiteIndex)
        self._first: float = inf if config.store_pages else config.store_first if is_file else 0
        self._left: float = inf if config.store_pages else MOST_BYTES
        self._are_small = are_small(config)
        self._chooses = bool(self._first) and not config.store_pages
        self._last: dict[int, Page] = {}
        if self._chooses:
            ((size,),) = self._store.fetch("SELECT sum(length(page)) FROM stored_pages")
            self._left -= size or 0

    def are_kept(self) -> bool:
        """Return whether the text of the next page is kept; if not, the store is asked no more."""
        if self._first and (self._left <= 0 or self._store.last() >= self._first):
            self._first = 0
        return bool(self._first)

    def kept(self, page: Page | None, stored: bytes = b"") -> bytes:
        """Return what to keep of the next *page*, or what is *stored* of it: b"" for nothing."""
        if not self.are_kept():
            return b""
        stored = pack(page, is_small=self._are_small) if page else stored
        self._left -= len(stored)
        return stored if self._left >= 0 else b""

    def compared(self, page: Page | None, verdict: Verdict) -> None:
        """Keep *page* and the one that it was compared with, if it says something else than that.

        That one is stored, or was kept at last: so what differs in later pages can be told, too.
        """
        row, other = verdict.row, verdict.previous if verdict.kept else verdict.canonical
        if page is None or row is None or not self._chooses or self._first or self._left <= 0:
            return
        before = None if other is None else self._last.get(other)
        if verdict.kept:
            self._last[row] = page
            if len(self._last) > _LAST:
                del self._last[next(iter(self._last))]
        says = verdict.kept or (verdict.reason is Reason.NEAR_DUPLICATE and verdict.nowhere)
        if other is not None and says and (before or self._store.pages([other])):
            for number, one in ((row, page), (other, before)):
                if one and not self._store.pages([number]):
                    stored = pack(one)
                    self._left -= len(stored)
                    if self._left >= 0:
                        self._store.keep_page(number, stored)


class Detector(AbstractContextManager["Detector"]):
    """Tells new pages from copies of those that *index* has seen, by the rules of *config*.

    All its pages belong to one run of *spider*, which begins with the first page recorded and
    ends with `close`; *job*, *action* and *crawl* are those of `dedup.index.Run`; *run* is one that goes
    on.  Raises `IndexMismatch` if the index was built with another recipe.  The index stays open; it
    belongs to the caller.

    >>> from dedup import MemoryIndex
    >>> with Detector(MemoryIndex()) as detector:
    ...     first = detector.check(Page.from_text("The quick brown fox", url="https://a.example/"))
    ...     second = detector.check(Page.from_text("The quick brown fox", url="https://b.example/"))
    >>> first.reason.value, second.reason.value, second.canonical_url
    ('new', 'exact_duplicate', 'https://a.example/')
    """

    def __init__(
        self,
        index: Index,
        config: DedupConfig = _DEFAULT,
        spider: str = "",
        *,
        job: str = "",
        action: str = "drop",
        crawl: str = "",
        run: Run | None = None,
    ) -> None:
        index.prepare(config.exceptions)
        self.index = index
        self.config = config
        self.texts = Texts(index, config)
        self._spider, self._is_dry = spider, action == DRY_RUN
        self._begin = partial(index.runs.begin, spider, job=job, action=action, crawl=crawl)
        self._run = run
        self._holds = False
        self.numbers: dict[int, int] = {}
        self.names: dict[int, int] = {}
        """By which numbers a crawl knows rows that another index recorded before; `numbers` turns it."""

    @property
    def run(self) -> Run:
        """The run that this detector records, begun if it was not yet."""
        if self._run is None:
            self._run = self._begun()
        return self._run

    def _begun(self) -> Run:
        run = self._begin()
        if self._holds:
            self.index.runs.hold(run)
        return run

    def name(self, row: int, name: int) -> None:
        """Note that a crawl knows *row* by another number, its *name*."""
        self.numbers[name], self.names[row] = row, name

    def rows(self, names: Iterable[int]) -> list[int]:
        """Return the rows here that a crawl knows by *names*."""
        return [self.numbers.get(name, name) for name in names]

    def fingerprint(self, page: Page) -> Fingerprint:
        """Return the fingerprint of *page* for this index."""
        return fingerprint(page, self.config)

    def sighting(self, page: Page, *, kind: str = "page") -> Sighting:
        """Return the sighting of *page* in this run and now; *kind* is "page" or "item"."""
        run = self._run.id if self._run else 1 + max([0, *(one.id for one in self.index.runs.all())])
        return sighting_of(
            page,
            self.fingerprint(page),
            kind=kind,
            scope=self.config.scope,
            spider=self._spider,
            run=run,
            time=time.time(),
            is_dry=self._is_dry,
        )

    def judge(self, page: Page, *, kind: str = "page") -> Verdict:
        """Return what `check` would say, and record nothing."""
        return self.index.ledger.judge(self.sighting(page, kind=kind), self.config)

    def check(self, page: Page, *, kind: str = "page") -> Verdict:
        """Judge *page* and record it, confirmed at once."""
        asked = PageToRecord(self.sighting(page, kind=kind), self.texts.kept(page))
        return self.submit([asked], confirmed=True)[0]

    def submit(self, asked: Sequence[PageToRecord], *, confirmed: bool = False) -> list[Verdict]:
        """Judge and record the first of *asked* in this run; see `Ledger.find_or_add`."""
        try:
            return self._submitted(asked, confirmed)
        except RunEnded:
            self._run = self._begun()  # if that fails, a draft goes on with the one that has ended
            logger.warning(
                "The server had not heard of this crawl for too long and has ended its run; it goes on "
                "as run %d. What it was told and not confirmed by then counts as lost, and is delivered "
                "again by the next crawl",
                self._run.id,
            )
            return self._submitted(asked, confirmed)

    def _submitted(self, asked: Sequence[PageToRecord], confirmed: bool) -> list[Verdict]:
        run = self.run.id
        if any(one.sighting.run != run for one in asked):
            asked = [one._replace(sighting=replace(one.sighting, run=run)) for one in asked]
        return self.index.ledger.find_or_add(asked, self.config, confirmed=confirmed)

    def visit(self, host: str) -> None:
        """Record that this run is on *host*; see `Runs.visit`."""
        self.index.runs.visit(self.run, self._spider if self.config.scope == "spider" else "", host)

    def hold(self) -> None:
        """Record that feeds hold what this run keeps; see `Runs.hold`."""
        self.index.runs.hold(self.run)
        self._holds = True

    def close(self, ending: str = "finished") -> None:
        """End the run, if there is one; *ending* says how."""
        if self._run is not None:
            self.index.runs.end(self._run, ending)
            self._run = None

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        how = "interrupted" if exc_type is KeyboardInterrupt else "failed"
        self.close(how if exc_type else "finished")
