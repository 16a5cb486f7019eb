"""A store in one SQLite file, which several processes of one host may share, and the locks of runs."""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock, Timeout

from dedup.index.database import BUSY_TIMEOUT, Database
from dedup.index.files import Damaged
from dedup.index.postings import DEFAULT_BLOCKS
from dedup.index.queries import clauses, condition
from dedup.index.rows import (
    INSERT,
    REPRINT,
    SELECT,
    SELECT_GLANCE,
    SELECT_KEPT_TEXT,
    TELLS_OF_SITE,
    AnyRecord,
    Group,
    Note,
    Order,
    Pool,
    Prefix,
    Query,
    Reader,
    Record,
    Store,
    StoredPage,
    Token,
    glance_of,
    kept_text_of,
    print_of,
    row_of,
    values_of,
)
from dedup.index.schema import (
    APPLICATION_ID,
    FLAG,
    META,
    RUNS,
    SCHEMA_VERSION,
    STORED_PAGES,
    VISITS,
    WITHHELD,
    Column,
    Table,
    create_tables,
)
from dedup.index.search import Lists, Progress, Search, near_rows, problems_of
from dedup.recipes.config import DedupConfig
from dedup.values.errors import IndexUnavailable
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Glance, KeptText, Row, Run, Statistics, Visit, Withheld
from dedup.values.verdict import Candidates, Outcome

_LOCK_NAME = re.compile("[0-9a-f]{32}")


class Leases:
    """The locks of the runs of the index at *path*, whose names stand in its table of runs.

    Without a *path* the index is in memory: nobody else reaches it, so there is nothing to lock.
    """

    def __init__(self, path: Path | None, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._held: dict[int, FileLock] = {}
        # Taken in a transaction that may still be undone.
        self._taken: list[int] = []

    def take(self, run: int) -> None:
        """Hold *run*, in a transaction, so that nobody sees its lock without it."""
        if self._path is None:
            return
        name = uuid.uuid4().hex
        if lock := self._locked(self._path, name):
            self._held[run] = lock
            self._taken.append(run)
            self._connection.execute("UPDATE runs SET lock = ? WHERE id = ?", (name, run))

    def release(self, run: int) -> None:
        """Hold *run* no longer."""
        if lock := self._held.pop(run, None):
            _give_back(lock)

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        for run in self._taken if undone else ():
            self.release(run)
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        if self._path is None or run in self._held:
            return True
        found = self._connection.execute("SELECT lock FROM runs WHERE id = ?", (run,)).fetchone()
        # What is no name was never a lock, so nobody holds it.
        if found is None or not (isinstance(found[0], str) and _LOCK_NAME.fullmatch(found[0])):
            return False
        if lock := self._locked(self._path, found[0]):
            _give_back(lock)
        return lock is None

    def close(self) -> None:
        """Hold no run any longer."""
        for run in list(self._held):
            self.release(run)

    def _locked(self, index: Path, name: str) -> FileLock | None:
        """Return the lock of that *name*, taken, None if a living process holds it."""
        lock = FileLock(path := index.with_name(f"{index.name}-run-{name}"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as error:
            raise IndexUnavailable(f"{path} cannot be locked: {error.strerror}") from error
        return lock


def _give_back(lock: FileLock) -> None:
    lock.release(force=True)
    with suppress(OSError):  # it is empty, and may stay
        Path(lock.lock_file).unlink()


_GLANCES = 10_000


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Where records of one kind stand, what is selected of them, what reads it, and their order."""

    table: Table
    selected: str
    read: Callable[[Sequence[Any]], Any]
    order: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a record has as its fields."""
        return tuple(column.name for column in self.table.fields)

    @property
    def select(self) -> str:
        """The statement that reads all of them."""
        return f"SELECT {self.selected} FROM {self.table.name}"

    def put(self, *, renew: bool) -> str:
        """Return the statement that stores one of `values`; see `Table.put`."""
        return self.table.put(self.names, renew=renew)

    def values(self, record: Record) -> tuple[Any, ...]:
        """Return what `put` takes."""
        return tuple([getattr(record, name) for name in self.names])


def _note_of(stored: Sequence[Any]) -> Note:
    if not all(isinstance(text, str) for text in stored):
        raise Damaged("a note is no text")
    return Note(*stored)


def _read(cls: type, noun: str, table: Table, columns: Iterable[Column], order: str) -> RecordTable:
    """Return the table of records of *cls*, whose fields are *columns*."""
    reader = Reader(noun, columns)
    return RecordTable(table, reader.sql, lambda stored: cls(*reader.values(stored)), order)


_OF_WITHHELD = WITHHELD.select(field.name for field in fields(Withheld))
KINDS: dict[type, RecordTable] = {
    # One that was imported has no lock.
    Run: _read(Run, "run {}", RUNS, (*RUNS.fields, Column("lock = ''", FLAG)), "id"),
    Visit: _read(Visit, "a visit", VISITS, VISITS.select(Visit._fields), "after, run, scope, host"),
    Withheld: _read(Withheld, "row {}", WITHHELD, _OF_WITHHELD, "id"),
    Note: RecordTable(META, "name, value", _note_of, "name"),
    StoredPage: RecordTable(STORED_PAGES, "row, CAST(page AS BLOB)", StoredPage._make, "row"),
}
# A run is inserted by `add_run` only, with its lock.
_OF_RUN = tuple(column.name for column in RUNS.fields if not column.is_primary)
_UPDATE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _OF_RUN)} WHERE id = ?"
INSERT_RUN = RUNS.insert((*_OF_RUN, "lock"))
_VALUES_OF_RUN = attrgetter(*_OF_RUN)

Among = Callable[[str, Collection[Any]], tuple[str, Any]]
"""Returns the condition that a column has one of some values, and what is bound to it."""


def put_statement(kind: type[Record], *, renew: bool) -> str:
    """Return the statement that stores a record of *kind*; it takes `stored_values`."""
    return _UPDATE_RUN if kind is Run else KINDS[kind].put(renew=renew)


def stored_values(record: Record) -> tuple[Any, ...]:
    """Return what `put_statement` takes."""
    if isinstance(record, Run):
        return (*_VALUES_OF_RUN(record), record.id)
    return KINDS[type(record)].values(record)


def values_of_run(run: Run) -> tuple[Any, ...]:
    """Return what `INSERT_RUN` takes."""
    return (*_VALUES_OF_RUN(run), "" if run.is_imported else "none yet")


def conditions(fields: Mapping[str, Any], among: Among) -> tuple[str, list[Any]]:
    """Return the ``WHERE`` of records with these *fields*, see `Store.select`, and what it takes."""
    texts: list[str] = []
    taken: list[Any] = []
    for name, wanted in fields.items():
        if isinstance(wanted, Prefix):
            texts.append(f"{name} >= ? AND {name} < ?")
            taken += (str(wanted), f"{wanted}\x7f")
        elif isinstance(wanted, Collection) and not isinstance(wanted, str | bytes):
            text, value = among(name, wanted)
            texts.append(text)
            taken.append(value)
        else:
            texts.append(f"{name} = ?")
            taken.append(wanted)
    return f" WHERE {' AND '.join(texts)}" if texts else "", taken


class Tables(Store):
    """The part of a store in tables that has the records, and that counts and glances."""

    _kinds: ClassVar[Mapping[type, RecordTable]] = KINDS

    @abstractmethod
    def _fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return what a statement gives."""

    @abstractmethod
    def _execute_many(self, text: str, values: Sequence[Any]) -> None:
        """Run a statement for each of *values*."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Say errors in plain English."""

    @abstractmethod
    def _among(self, name: str, wanted: Collection[Any]) -> tuple[str, Any]:
        """Return the condition that a column has one of some values, and what is bound to it."""

    @abstractmethod
    def _bytes(self) -> int:
        """Return how large the index is."""

    def put(self, *records: Record, renew: bool = True) -> None:
        for kind, same in groupby(records, type):
            self._execute_many(put_statement(kind, renew=renew), list(map(stored_values, same)))

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        stored = self._kinds[kind]
        where, values = conditions(fields, self._among)
        most = "" if limit is None else f" LIMIT {limit}"
        with self._errors():
            found = self._fetch(f"{stored.select}{where} ORDER BY {stored.order}{most}", values)
            return [stored.read(columns) for columns in found]

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        where, taken = conditions(fields, self._among)
        self._execute_many(f"DELETE FROM {self._kinds[kind].table.name}{where}", [taken])

    def last(self) -> int:
        ((row,),) = self._fetch("SELECT coalesce(max(id), 0) FROM pages")
        return int(row)

    def glances(self, after: int, outcome: Outcome | None) -> Iterator[Glance]:
        only = "" if outcome is None else "AND outcome = ? "
        if outcome not in (None, Outcome.CONFIRMED):
            only += "AND outcome != 'confirmed' "  # the condition of the index `pages_unsettled`
        given, last = () if outcome is None else (outcome,), after
        while found := self._glances(
            f"{SELECT_GLANCE}{only}ORDER BY id LIMIT {_GLANCES}", (last, *given)
        ):
            yield from found
            last = found[-1].id

    def _glances(self, text: str, values: Sequence[Any]) -> list[Glance]:
        with self._errors():
            return [glance_of(fields) for fields in self._fetch(text, values)]

    def statistics(self) -> Statistics:
        with self.transaction(writing=False):
            outcomes = dict(
                self._fetch(
                    "SELECT outcome, count(*) FROM pages WHERE outcome != 'confirmed' GROUP BY outcome"
                )
            )
            rows, size = self._rows(), self._bytes()
        return Statistics(
            rows=rows,
            orphans=outcomes.get("orphaned", 0),
            released=outcomes.get("released", 0),
            forgotten=outcomes.get("forgotten", 0),
            bytes=size,
        )

    def _rows(self) -> int:
        return self.last()

    def clusters(
        self, *, run: int | None, forgotten: bool, min_copies: int, limit: int
    ) -> list[tuple[int, int, float]]:
        of_run = "" if run is None else "AND run = ? "
        standing = "" if forgotten else "AND outcome != 'forgotten' "
        return self._fetch(
            "SELECT canonical, count(*), min(coalesce(similarity, 0.0)) FROM pages "
            f"WHERE canonical IS NOT NULL AND NOT kept {of_run}{standing}GROUP BY canonical "
            "HAVING count(*) >= ? ORDER BY count(*) DESC, canonical LIMIT ?",
            (*(() if run is None else (run,)), min_copies, limit),
        )


_BATCH = 500
# How many URLs before and after another one are looked at for one that may be meant.
_AROUND = 100


class SQLiteStore(Tables):
    """The store in the file *path*, made there with its folders if there is none, or in memory.

    With *create* False a missing file is an error; with *read_only* it is one too, and nothing is ever
    changed.  *blocks* (4 to 8) tunes the posting lists of a new file and changes no answer.  *timeout*
    is how many seconds to wait for a lock of another process.  Raises `IndexUnavailable` for a file that
    cannot be opened or is no index; such a file is left as it is.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        blocks: int = DEFAULT_BLOCKS,
        timeout: float = BUSY_TIMEOUT,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        self._scopes: dict[Group, int] = {}
        self._changes: int | None = None
        self._undone = self._listings = 0
        self._database = Database(
            path,
            application_id=APPLICATION_ID,
            version=SCHEMA_VERSION,
            create=partial(create_tables, blocks=blocks),
            timeout=timeout,
            must_exist=not create,
            read_only=read_only,
        )
        self._connection = self._database.connection
        self._lists = Lists(self._database)
        self._leases = Leases(self._database.path if path is not None else None, self._connection)
        self._database.began, self._database.ended = self._look_around, self._end
        try:
            with self._database.errors():
                self._look_around()
        except BaseException:
            self._database.close()
            raise

    @property
    def name(self) -> str:
        return self._database.name

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def is_in_place(self) -> bool:
        return self._database.is_in_place

    @property
    def blocks(self) -> int:
        """How many blocks the posting lists of this file have."""
        return self._lists.blocks

    # Transactions

    def transaction(
        self,
        *,
        writing: bool,
        beside: bool = False,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        if not writing:
            return self._database.reading()
        return self._database.writing()

    def _end(self, is_undone: bool) -> None:
        self._leases.settle(undone=is_undone)
        if is_undone:  # it may have looked up what was undone
            self._scopes.clear()
            self._undone += 1
            self._changes = None

    def _look_around(self) -> None:
        """Read the layout of the lists again if another process has changed the file."""
        changes = self._database.changes()
        if changes != self._changes:
            self._lists.read_layout()
            self._changes = changes

    @property
    def undone(self) -> int:
        return self._undone

    def state(self) -> Hashable:
        return self._changes, self._undone

    def token(self, group: Group) -> Token:  # noqa: ARG002 - others may have changed any group
        return self._changes, self._undone, self._listings

    # Rows

    def add(self, row: Row, page: bytes = b"") -> Row:
        added = self._add(row, None)
        if page:
            self.put(StoredPage(added.id, page))
        return added

    def _add(self, row: Row, number: int | None) -> Row:
        """Add *row* under a *number*, or under the next one."""
        scope = self._scope((row.sighting.kind, row.sighting.scope), create=True)
        number = self._insert(number, values_of(row, scope))
        if row.listed:
            self._lists.add(scope, number, row.sighting)
        return Row(number, row.sighting, row.verdict, row.outcome, row.listed)

    def _insert(self, number: int | None, values: list[Any]) -> int:
        self._listings += 1
        found = self._connection.execute(INSERT, (number, *values)).lastrowid
        assert found is not None
        return found

    def change(self, which: Query, *, outcome: Outcome | None = None, listed: bool | None = None) -> int:
        self._listings += 1
        if listed is not None:
            rows = self._select(which)
            for row in rows:
                self._list(row, listed=listed)
            which = Query(ids=[row.id for row in rows])
        if outcome is None:
            return len(which.ids or ())
        text, values = condition(which, self._scope_of(which))
        cursor = self._connection.execute(
            f"UPDATE pages AS p SET outcome = ? WHERE {text}", (outcome, *values)
        )
        return cursor.rowcount

    def _ids(self, which: Query) -> list[tuple[int]]:
        text, values = condition(which, self._scope_of(which))
        return self._fetch(f"SELECT p.id FROM pages p WHERE {text}", values)

    def _list(self, row: Row, *, listed: bool) -> None:
        self._connection.execute("UPDATE pages SET listed = ? WHERE id = ?", (listed, row.id))
        seen = row.sighting
        change = self._lists.add if listed else self._lists.remove
        change(self._scope((seen.kind, seen.scope)), row.id, seen)

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        self._connection.execute(REPRINT, print_of(row, fingerprint))

    def rows(self, query: Query) -> Iterator[Row]:
        if query.limit is not None or query.order is not Order.OLDEST:
            return iter(self._select(query, query.limit))
        rows = self._select(query, _BATCH)
        return iter(rows) if len(rows) < _BATCH else self._batches(query, rows)

    def _batches(self, query: Query, rows: list[Row]) -> Iterator[Row]:
        while rows:
            yield from rows
            rows = self._select(query._replace(after=rows[-1].id), _BATCH)

    def _select(self, query: Query, limit: int | None = None) -> list[Row]:
        with self._database.errors():
            text, values = clauses(query, self._scope_of(query), limit)
            found = self._connection.execute(SELECT + text, values).fetchall()
            return list(map(row_of, found))

    def _scope_of(self, query: Query) -> int:
        return self._scope(query.group) if query.group else 0

    def _scope(self, group: Group, *, create: bool = False) -> int:
        """Return the number of a group, 0 if there is none yet."""
        if group in self._scopes:
            return self._scopes[group]
        if create:
            self._connection.execute("INSERT OR IGNORE INTO scopes (kind, scope) VALUES (?, ?)", group)
        found = self._connection.execute(
            "SELECT id FROM scopes WHERE kind = ? AND scope = ?", group
        ).fetchone()
        if found and not create:  # what this transaction made may be undone
            self._scopes[group] = found[0]
        return int(found[0]) if found else 0

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        return Search(
            page, pool, config, self._connection, self._lists, self._scope(pool.group)
        ).batches()

    # Tables

    def _fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._database.errors():
            return self._connection.execute(text, values).fetchall()

    def _execute_many(self, text: str, values: Sequence[Any]) -> None:
        self._connection.executemany(text, values)

    def _errors(self) -> AbstractContextManager[None]:
        return self._database.errors()

    def _among(self, name: str, wanted: Collection[Any]) -> tuple[str, Any]:
        return f"{name} IN (SELECT value FROM json_each(?))", json.dumps(list(wanted))

    def _bytes(self) -> int:
        # What stands in the log beside the file is no more than this once it is copied.
        ((pages,),), ((of_page,),) = map(self._fetch, ("PRAGMA page_count", "PRAGMA page_size"))
        return int(pages * of_page) if self._database.is_file else 0

    def add_run(self, run: Run) -> Run:
        # One that is not imported gets its lock by `Leases`.
        cursor = self._connection.execute(INSERT_RUN, values_of_run(run))
        assert cursor.lastrowid is not None
        return replace(run, id=cursor.lastrowid)

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        # A text that is to be forgotten shall not stay behind in the free pages of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        super().delete(kind, **fields)
        self._connection.execute("PRAGMA secure_delete = OFF")

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        values: tuple[object] = (after,) if rows is None else (json.dumps(list(rows)),)
        where = "p.id > ?" if rows is None else "p.id IN (SELECT value FROM json_each(?))"
        with self._database.errors():
            found = self._connection.execute(
                f"{SELECT_KEPT_TEXT}WHERE {where} AND {TELLS_OF_SITE} AND p.sample != x'' ORDER BY p.id",
                values,
            )
            yield from map(kept_text_of, found)

    def urls_around(self, url_key: str) -> list[str]:
        found: list[str] = []
        with self.transaction(writing=False):
            for (scope,) in self._connection.execute("SELECT id FROM scopes").fetchall():
                for order, sign in (("DESC", "<"), ("ASC", ">=")):
                    keys = self._connection.execute(
                        "SELECT DISTINCT url_key FROM pages WHERE scope = ? AND url_key != '' "
                        f"AND url_key {sign} ? AND typeof(url_key) = 'text' "
                        f"ORDER BY url_key {order} LIMIT {_AROUND}",
                        (scope, url_key),
                    )
                    found += [key for (key,) in keys]
        return found

    # Leases

    def lease(self, run: int) -> None:
        self._leases.take(run)

    def release(self, run: int) -> None:
        self._leases.release(run)

    def is_leased(self, run: int) -> bool:
        with self._database.errors():
            return self._leases.is_held(run)

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        with self.transaction(writing=False):
            groups = self._connection.execute("SELECT id FROM scopes").fetchall()
            found = [
                one
                for (group,) in groups
                for one in near_rows(
                    self._connection, self._lists.postings(field, group), simhash, max_distance, limit
                )
            ]
        return sorted(found)[:limit]

    # Upkeep

    def rebuild(self, blocks: int | None = None, progress: Progress | None = None) -> None:
        """Make the posting lists anew from the rows, with another number of *blocks* if given.

        One transaction: until it is complete, the file is what it was.  *progress* is told how many
        lists are done, of how many.  Raises `IndexUnavailable` while a crawl is using the index.
        """
        with self.transaction(writing=True):
            if any(run.ended is None for run in self.select(Run)):
                raise IndexUnavailable(
                    f"{self.name} is in use by a crawl; rebuild it when that has ended"
                )
            self._lists.rebuild(blocks or self.blocks, progress)

    def problems(self) -> list[str]:
        problems = self._database.integrity()
        with self.transaction(writing=False):
            return problems + list(problems_of(self._connection, self._lists))

    def wait_at_most(self, seconds: float) -> None:
        with self._database.errors():
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def close(self) -> None:
        self._database.close()
        self._leases.close()
