"""The small tables of an index in SQLite: runs, visits, withheld requests, notes and stored pages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from dedup.index.database import Database
from dedup.index.database_files import Damaged
from dedup.index.mapping import Reader
from dedup.index.schema import FLAG, META, RUNS, STORED_PAGES, VISITS, WITHHELD, Column, Table
from dedup.index.stores.base import AnyRecord, Note, Prefix, Record, Store, StoredPage
from dedup.values.row import Run, Visit, Withheld


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


def puts(records: Sequence[Record], *, renew: bool) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield statements that store *records*, each with the values that it is run with."""
    runs = [record for record in records if isinstance(record, Run)]
    if runs:
        yield _UPDATE_RUN, [(*_VALUES_OF_RUN(run), run.id) for run in runs]
    for kind in {type(record) for record in records} - {Run}:
        stored = KINDS[kind]
        yield stored.put(renew=renew), [stored.values(one) for one in records if type(one) is kind]


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


class Records(Store):
    """The part of a store in SQLite that has the records."""

    _database: Database
    _connection: sqlite3.Connection

    def put(self, *records: Record, renew: bool = True) -> None:
        for statement, values in puts(records, renew=renew):
            self._connection.executemany(statement, values)

    def add_run(self, run: Run) -> Run:
        # One that is not imported gets its lock by `Leases`.
        cursor = self._connection.execute(INSERT_RUN, values_of_run(run))
        assert cursor.lastrowid is not None
        return replace(run, id=cursor.lastrowid)

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        stored = KINDS[kind]
        where, values = conditions(fields, _among)
        values.append(-1 if limit is None else limit)
        text = f"{stored.select}{where} ORDER BY {stored.order} LIMIT ?"
        with self._database.errors():
            return [stored.read(columns) for columns in self._connection.execute(text, values)]

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        where, taken = conditions(fields, _among)
        # A text that is to be forgotten shall not stay behind in the free pages of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute(f"DELETE FROM {KINDS[kind].table.name}{where}", taken)
        self._connection.execute("PRAGMA secure_delete = OFF")


def _among(name: str, wanted: Collection[Any]) -> tuple[str, Any]:
    return f"{name} IN (SELECT value FROM json_each(?))", json.dumps(list(wanted))
