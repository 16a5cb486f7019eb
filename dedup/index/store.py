"""The store of an index in one SQLite file, which several processes of one host may share."""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from glob import escape
from itertools import chain, count, repeat
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from dedup.index import rows as tables
from dedup.index.rows import AMONG, TELLS_OF_SITE, Group, Pool, Record
from dedup.index.search import Lists, Search
from dedup.index.sqlite_file import Damaged, SQLiteFile
from dedup.model.errors import IndexUnavailable, NoSuchRow
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import signed, unsigned
from dedup.model.verdict import Candidates, Glance, KeptText, Outcome, Row, Run, Statistics
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading.page import is_readable

AnyRecord = TypeVar("AnyRecord", bound=Record)

_BATCH, _GLANCES = 500, 10_000
_AROUND = 100  # URLs before and after another one are looked at for one that may be meant


def _where(fields: Iterable[str]) -> str:
    """Return the condition on records with these *fields*, see `Store.select`."""
    prefix = "name >= :prefix AND name < :prefix || char(127)"
    given = [prefix if name == "prefix" else f"{name} = :{name}" for name in fields]
    return f"WHERE {' AND '.join(given) or 'TRUE'}"


# What changes anything but that rows are added, by the name that it has also in the log of a server.
_CHANGES = {
    "set_outcome": f"UPDATE pages SET outcome = ? WHERE id {AMONG} AND outcome = ifnull(?, outcome)",
    "list": "UPDATE pages SET listed = ? WHERE id = ?",
    "reprint": tables.REPRINT,
    **{f"put {kind}": records.put for kind, records in tables.RECORDS.items()},
    **{f"put new {kind}": records.put_new for kind, records in tables.RECORDS.items()},
    **{f"delete Note {name}": f"DELETE FROM meta {_where([name])}" for name in ("name", "prefix")},
    "delete Visit run": f"DELETE FROM visits {_where(['run'])}",
}


class Store(SQLiteFile):
    """The rows, records and lists of an index in a file, as `SQLiteIndex`, or in memory.

    *how* says `SQLiteFile`.  Row numbers rise with time; only `Row.outcome`, `Row.listed` and the
    fingerprint ever change.  What is done in one `transaction` is done as a whole or not at all.
    """

    undone = 0  # so many transactions: what was read in them must not be remembered
    _numbers: Iterator[int | None] = repeat(None)  # of the next rows, if SQLite does not give them

    def __init__(self, path: str | PathLike[str] | None, **how: Any) -> None:
        self._scopes: dict[Group, int] = {}
        super().__init__(path, tables.SCHEMA, **how)
        self.connection.create_function("apart", 2, _apart, deterministic=True)
        self._lists, self.leases = Lists(self.connection), Leases(self)
        self.ended = self._end

    def _end(self, is_undone: bool) -> None:
        self.leases.transaction_ended(undone=is_undone)
        self._lists.read_at = -1  # from now on others may change the file
        if is_undone:  # it may have looked up what was undone
            self._scopes.clear()
            self._lists.clear()
            self.undone += 1

    @property
    def is_shared(self) -> bool:
        """Whether others may add while this one searches, so that a verdict has to be claimed."""
        return False

    def position(self) -> Hashable:
        """Return up to where a shared store has seen what others have added."""

    def claim(self, rows: Sequence[Row], seen: Hashable, pages: Sequence[bytes]) -> list[int]:
        """Add the first of *rows* to which nothing matters that was added and *seen* does not tell of.

        Returns their numbers.  Raises `RunEnded` if others have ended their run.
        """
        raise NotImplementedError

    # Changes

    def add(self, row: Row, page: bytes = b"") -> Row:
        """Add *row*, and its *page* unless that is b""; return it with its number, the highest yet."""
        number = self._change("add", (*row.sighting.group, *tables.values_of(row)))
        if page:
            self.keep_page(number, page)
        return replace(row, id=number)

    def set_outcome(self, outcome: Outcome, where: str, *values: Any, was: Outcome | None = None) -> int:
        """Give rows, those of `rows`, an *outcome* if it *was* another one; return how many."""
        still = f" AND p.outcome = '{was}'" if was else ""
        found = self.fetch(f"SELECT p.id FROM pages p WHERE {where}{still}", values)
        if found:  # by their numbers: where that is done again other rows may be there by then
            self._change("set_outcome", (outcome, str([row for (row,) in found]), was))
        return len(found)

    def set_listed(self, row: Row, *, listed: bool) -> None:
        """Let others be compared with *row*, or no longer."""
        self._change("list", (listed, row.id))

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        """Give *row* another *fingerprint*, of the same bytes."""
        self._change("reprint", (*tables.print_of(fingerprint), row))

    def put(self, *records: Record, renew: bool = True, beside: bool = False) -> None:
        """Store records; one with the key of a stored one takes its place only if they *renew*.

        *beside* is that of `transaction`.
        """
        with self.transaction(writing=True, beside=beside):
            for record in records:
                kind = type(record).__name__
                name = f"put {kind}" if renew else f"put new {kind}"
                self._change(name, tables.RECORDS[kind].values(record))

    def add_run(self, run: Run) -> Run:
        """Store a new run; return it with the number that the store gives it, the highest so far."""
        ((last,),) = self.fetch("SELECT ifnull(max(id), 0) FROM runs")
        self.put(run := replace(run, id=last + 1))
        return run

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        """Remove the records that `select` would return."""
        with self.transaction(writing=True):
            self._change(" ".join(("delete", kind.__name__, *fields)), fields)

    def _change(self, name: str, values: Any) -> Any:
        """Make one of `_CHANGES`, or "add" a row by its group and `values_of` it; return its number."""
        if name != "add":
            return self.connection.execute(_CHANGES[name], values)
        kind, scope, filled, *rest = values
        values = next(self._numbers), self.scope((kind, scope), create=True), *rest
        return self.connection.execute(tables.insert(filled), values).lastrowid

    def rows(
        self, where: str = "TRUE", *values: Any, order: str = "p.id", limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows `p` where that SQL condition holds; all that are oldest first, in batches."""
        is_whole = limit >= 0 or not order.endswith("p.id")
        text, most = f"ORDER BY {order} LIMIT ?", limit if is_whole else _BATCH
        found = self._found(tables.ROWS, f"WHERE {where} {text}", (*values, most))
        yield from found
        while not is_whole and len(found) == _BATCH:
            after = *values, found[-1].id, most
            found = self._found(tables.ROWS, f"WHERE {where} AND p.id > ? {text}", after)
            yield from found

    def rows_of(self, numbers: Sequence[int]) -> list[Row]:
        """Return the rows of those numbers that there are, in their order."""
        return list(self.rows(f"p.id {AMONG}", str([*numbers])))

    def row(self, number: int) -> Row:
        """Return the row of that number; raises `NoSuchRow`."""
        for row in self.rows("p.id = ?", number, limit=1):
            return row
        raise NoSuchRow(f"there is no row {number} in {self.name}")

    def scope(self, group: Group, *, create: bool = False) -> int:
        """Return the number of a group, 0 if there is none yet."""
        if group not in self._scopes:
            if create:
                self.fetch("INSERT OR IGNORE INTO scopes (kind, scope) VALUES (?, ?)", group)
            for (number,) in self.fetch("SELECT id FROM scopes WHERE kind = ? AND scope = ?", group):
                self._scopes[group] = number
        return self._scopes.get(group, 0)

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        """Yield what in *pool* may repeat *page*, by `nearness`, found only when asked for."""
        return Search(self._lists, page, pool, config, scope=self.scope(pool.group)).batches()

    # What would otherwise mean reading a million rows

    def last(self) -> int:
        """Return the highest number of a row, 0 if there is none."""
        ((row,),) = self.fetch("SELECT coalesce(max(id), 0) FROM pages")
        return int(row)

    def glances(self, after: int = 0, run: int | None = None) -> Iterator[Glance]:
        """Yield glances of rows above number *after*, of one *run* or all, in batches like `rows`."""
        of_run = "" if run is None else f"run = {run} AND"
        text = f"WHERE {of_run} id > ? ORDER BY id LIMIT {_GLANCES}"
        while found := self._found(tables.GLANCES, text, (after,)):
            yield from found
            after = found[-1].id

    def kept_texts(self, after: int, again: Collection[int]) -> Iterator[KeptText]:
        """Yield what rows tell of their site: those of *again*, and all *after* one."""
        texts = tables.KEPT_TEXTS
        text = f"{texts.select}WHERE {TELLS_OF_SITE} AND p.id {{}} ORDER BY p.id"
        with self.errors():
            if again:
                found = self.connection.execute(text.format(AMONG), (str([*again]),))
                yield from map(texts.read, found)
            yield from map(texts.read, self.connection.execute(text.format("> ?"), (after,)))

    def statistics(self) -> Statistics:
        """Return how much there is."""
        orphans = "SELECT count(*) FROM pages WHERE outcome != 'confirmed' AND outcome = 'orphaned'"
        with self.transaction(writing=False):
            return Statistics(self.last() % IN_RANGE, self.fetch(orphans)[0][0], self._bytes())

    def _bytes(self) -> int:
        # What stands in the log beside the file is no more than this once it is copied.
        ((pages,),), ((of_page,),) = map(self.fetch, ("PRAGMA page_count", "PRAGMA page_size"))
        return int(pages * of_page) if self.is_file else 0

    def clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        """Return canonicals with the number of copies dropped in *run*, largest first, then oldest."""
        text = (
            "SELECT canonical, count(*) FROM pages WHERE canonical IS NOT NULL AND NOT kept AND run = ? "
            "GROUP BY canonical ORDER BY count(*) DESC, canonical LIMIT ?"
        )
        with self.transaction(writing=False):
            return [(self.row(row), copies) for row, copies in self.fetch(text, (run, limit))]

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[int]:
        """Return the numbers of listed rows, the nearest by *field* first, then the oldest."""
        text = (
            f"SELECT id FROM pages WHERE listed AND {field}_simhash != 0 "
            f"AND apart({field}_simhash, ?) <= ? ORDER BY apart({field}_simhash, ?), id LIMIT ?"
        )
        asked = signed(simhash)
        return [row for (row,) in self.fetch(text, (asked, max_distance, asked, limit))]

    def urls_around(self, scope: int, url_key: str) -> list[str]:
        """Return keys of URLs that are next to *url_key* in alphabetical order, in the group *scope*."""
        text = "SELECT DISTINCT url_key FROM pages WHERE scope = ? AND url_key != '' AND url_key"
        sides = "< ? ORDER BY url_key DESC", ">= ? ORDER BY url_key"
        found = (self.fetch(f"{text} {side} LIMIT {_AROUND}", (scope, url_key)) for side in sides)
        return [key for (key,) in chain.from_iterable(found)]

    def fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return what an SQL statement gives."""
        with self.errors():
            return self.connection.execute(text, values).fetchall()

    def _found(self, reader: tables.Reader, more: str, values: Any) -> list[Any]:
        with self.errors():
            return list(map(reader.read, self.connection.execute(f"{reader.select}{more}", values)))

    def select(self, kind: type[AnyRecord], **fields: Any) -> list[AnyRecord]:
        """Return the records with these *fields*, or with that *prefix* of a name, in their order."""
        records = tables.RECORDS[kind.__name__]
        return self._found(records, f"{_where(fields)} ORDER BY {records.order}", fields)

    # Stored pages, as `dedup.reading.page.pack` gives them

    def keep_page(self, row: int, page: bytes) -> None:
        """Store the *page* that a row was judged by, in the place of what was stored of it."""
        renewed = "ON CONFLICT (row) DO UPDATE SET page = excluded.page"
        self._of_pages(f"INSERT INTO stored_pages VALUES (?, ?) {renewed}", row, page)

    def pages(self, rows: Sequence[int]) -> dict[int, bytes]:
        """Return the stored pages of *rows*, by the row."""
        text = f"SELECT row, CAST(page AS BLOB) FROM stored_pages WHERE row {AMONG}"
        with self.errors():
            return dict(self._of_pages(text, str([*rows])))

    def stored(self, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield those of *pairs* of rows of which both have stored pages."""
        for start in range(0, len(pairs), _BATCH):
            some = pairs[start : start + _BATCH]
            stored = self.pages([*{*chain.from_iterable(some)}]).keys()
            yield from (pair for pair in some if stored >= {*pair})

    def all_pages(self) -> Iterator[bytes]:
        """Yield all stored pages."""
        with self.errors():
            for (page,) in self._of_pages("SELECT CAST(page AS BLOB) FROM stored_pages"):
                yield page

    def remove_pages(self, rows: Sequence[int]) -> None:
        """Remove the stored pages of *rows*."""
        self._of_pages(f"DELETE FROM stored_pages WHERE row {AMONG}", str([*rows]))

    def _of_pages(self, text: str, *values: Any) -> Any:
        return self.connection.execute(text, values)

    def problems(self) -> list[str]:
        """Return what is wrong with what is stored, a line for each; nothing is repaired."""
        with self.errors():
            found = [line for (line,) in self.connection.execute("PRAGMA integrity_check")]
            broken = self.connection.execute("PRAGMA foreign_key_check").fetchall()
        problems = [line for line in found if line != "ok"]
        problems += [f"{of} {row} names a row of {to} that is not there" for of, row, to, _ in broken]
        self.connection.text_factory = _text_of
        try:
            with self.transaction(writing=False), self.errors():
                problems += self._invalid()
                unreadable = sum(not is_readable(page) for page in self.all_pages())
        finally:
            self.connection.text_factory = str
        if unreadable:
            problems += [f"{unreadable} stored {'page' if unreadable == 1 else 'pages'} cannot be read"]
        return problems

    def _invalid(self) -> list[str]:
        """Return of which rows, or records, some cannot be read; of records by their runs."""
        kinds = (tables.ROWS, "rows", 0), (tables.RUNS, "runs", 0), (tables.VISITS, "visits", 2)
        for reader, table, number in kinds:
            bad: list[Any] = []
            for stored in self.connection.execute(f"{reader.select}ORDER BY 1"):
                try:
                    reader.read(stored)
                except Damaged:
                    bad.append(stored[number])
            if bad:
                return [f"{len(bad)} {table} contain invalid values, the first is {bad[0]}"]
        return []

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than that for others, from now on."""
        self.fetch(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def close(self) -> None:
        """Close the store."""
        super().close()
        self.leases.close()


def _apart(one: int, other: int) -> int:
    return unsigned(one ^ other).bit_count()


def _text_of(stored: bytes) -> str | bytes:
    """Return a stored text; what is none stays bytes, which are invalid."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


_LOCK_NAME = re.compile("[0-9a-f]{32}")  # what is no name was never a lock, so nobody holds it


class Leases:
    """The runs that living processes hold, by locks on files beside the *index*, unless in memory."""

    def __init__(self, index: Store) -> None:
        self._index = index
        self._held: dict[int, FileLock | None] = {}
        self._taken: list[int] = []  # in a transaction that may still be undone

    def take(self, run: int) -> None:
        """Hold *run* until `release`, the end of this process, or of a transaction that is undone."""
        name = uuid.uuid4().hex
        if self._index.is_file and (lock := self._locked(name)):
            self._hold(run, lock)
            self._index.connection.execute("UPDATE runs SET lock = ? WHERE id = ?", (name, run))

    def _hold(self, run: int, lock: FileLock | None) -> None:
        self._held[run] = lock
        self._taken.append(run)

    def release(self, run: int) -> None:
        """Hold *run* no longer, if it was held."""
        if lock := self._held.pop(run, None):
            _give_back(lock)

    def transaction_ended(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        for run in self._taken if undone else ():
            Leases.release(self, run)
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        if not self._index.is_file:
            return True
        found = self._index.fetch("SELECT lock FROM runs WHERE id = ?", (run,))
        if not found or not _LOCK_NAME.fullmatch(str(found[0][0])):
            return False
        if lock := self._locked(found[0][0]):
            _give_back(lock)
        return lock is None

    def remove_strays(self) -> None:
        """Remove the locks of no run that goes on: a process was killed before its run was recorded."""
        if self._strays():
            # While nobody else writes, no run is between its lock and its row.
            with suppress(IndexUnavailable, OSError), self._index.transaction(writing=True):
                for path in self._strays():
                    path.unlink()

    def _strays(self) -> set[Path]:
        path, of_runs = self._index.path, self._index.fetch("SELECT lock FROM runs WHERE ended IS NULL")
        held = {path.with_name(f"{path.name}-run-{name}") for (name,) in of_runs}
        return set(path.parent.glob(f"{escape(path.name)}-run-{'[0-9a-f]' * 32}")) - held

    def close(self) -> None:
        """Hold no run any longer."""
        for run in list(self._held):
            self.release(run)

    def _locked(self, name: str) -> FileLock | None:
        """Return the lock of that *name*, taken, None if a living process holds it."""
        path = self._index.path
        lock = FileLock(path.with_name(f"{path.name}-run-{name}"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as error:
            raise IndexUnavailable(f"{lock.lock_file} cannot be locked: {error.strerror}") from error
        return lock


def _give_back(lock: FileLock) -> None:
    lock.release(force=True)
    with suppress(OSError):  # it is empty, and may stay
        Path(lock.lock_file).unlink()


# The rows of each draft have numbers that no other index has; in their range they follow on the others.
_RANGES = count(1)
IN_RANGE = 1 << 40


class DraftStore(Store):
    """A temporary file, which is gone when it is closed or its process is; it begins as *replica*."""

    def __init__(self, replica: Path | None, name: str = "") -> None:
        self._replica = replica
        super().__init__(None)
        self.name = name
        self._numbers = count(next(_RANGES) * IN_RANGE + self.last() + 1)

    def _connect(self, timeout: float, read_only: bool) -> sqlite3.Connection:  # noqa: ARG002
        # Without a name it is a file that SQLite removes.
        connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        if self._replica:
            address = f"{self._replica.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, timeout=timeout, uri=True)) as source:
                source.backup(connection)
        return connection
