"""The small tables of an index in SQLite: runs, visits, withheld requests, notes and stored pages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from dedup.index.columns import Table
from dedup.index.files import Damaged
from dedup.index.rows import REQUEST, RUN, VISIT, run_of, visit_of, withheld_of
from dedup.index.stores.base import AnyRecord, Note, Prefix, Record, StoredPage
from dedup.index.tables import META, RUNS, STORED_PAGES, VISITS, WITHHELD
from dedup.values.row import Visit, Withheld
from dedup.values.run import Run


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where records of one kind stand, what is selected of them, what reads it, and their order."""

    table: Table
    selected: str
    read: Callable[[Sequence[Any]], Any]
    order: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.table.held)

    @property
    def select(self) -> str:
        return f"SELECT {self.selected} FROM {self.table.name}"

    def put(self, *, renew: bool) -> str:
        return self.table.put(self.names, renew=renew)

    def values(self, record: Record) -> tuple[Any, ...]:
        return tuple([getattr(record, name) for name in self.names])


def _run_of(fields: Sequence[Any]) -> Run:
    *own, is_imported = fields
    run = run_of(own)
    return replace(run, is_imported=True) if is_imported else run


def _note_of(fields: Sequence[Any]) -> Note:
    if not all(isinstance(text, str) for text in fields):
        raise Damaged("a note is no text")
    return Note(*fields)


_KINDS: dict[type, _Kind] = {
    Run: _Kind(RUNS, f"{RUN.sql}, lock = ''", _run_of, "id"),
    Visit: _Kind(VISITS, VISIT.sql, visit_of, "after, run, scope, host"),
    Withheld: _Kind(WITHHELD, REQUEST.sql, withheld_of, "id"),
    Note: _Kind(META, "name, value", _note_of, "name"),
    StoredPage: _Kind(STORED_PAGES, "row, CAST(page AS BLOB)", StoredPage._make, "row"),
}
# A run is inserted by `add_run` only, with its lock.
_OF_RUN = tuple(column.name for column in RUNS.held if not column.is_primary)
_UPDATE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _OF_RUN)} WHERE id = ?"
_INSERT_RUN = RUNS.insert((*_OF_RUN, "lock"))
_VALUES_OF_RUN = attrgetter(*_OF_RUN)


class Records:
    """The records in the tables of *connection*; every method is part of the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, records: Sequence[Record], *, renew: bool) -> None:
        """See `Store.put`."""
        runs = [record for record in records if isinstance(record, Run)]
        self._connection.executemany(_UPDATE_RUN, [(*_VALUES_OF_RUN(run), run.id) for run in runs])
        for kind in {type(record) for record in records} - {Run}:
            stored = _KINDS[kind]
            values = [stored.values(record) for record in records if type(record) is kind]
            self._connection.executemany(stored.put(renew=renew), values)

    def add_run(self, run: Run) -> Run:
        """See `Store.add_run`; a run that is not imported gets its lock by `Leases`."""
        lock = "" if run.is_imported else "none yet"
        cursor = self._connection.execute(_INSERT_RUN, (*_VALUES_OF_RUN(run), lock))
        assert cursor.lastrowid is not None
        return replace(run, id=cursor.lastrowid)

    def select(
        self, kind: type[AnyRecord], fields: Mapping[str, Any], limit: int | None
    ) -> list[AnyRecord]:
        """See `Store.select`."""
        stored = _KINDS[kind]
        where, values = _where(fields)
        values.append(-1 if limit is None else limit)
        text = f"{stored.select}{where} ORDER BY {stored.order} LIMIT ?"
        return [stored.read(columns) for columns in self._connection.execute(text, values)]

    def delete(self, kind: type[AnyRecord], fields: Mapping[str, Any]) -> None:
        """See `Store.delete`."""
        where, taken = _where(fields)
        # A text that is to be forgotten shall not stay behind in the free pages of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute(f"DELETE FROM {_KINDS[kind].table.name}{where}", taken)
        self._connection.execute("PRAGMA secure_delete = OFF")


def _where(fields: Mapping[str, Any]) -> tuple[str, list[Any]]:
    texts: list[str] = []
    taken: list[Any] = []
    for name, wanted in fields.items():
        text, values = _condition(name, wanted)
        texts.append(text)
        taken += values
    return f" WHERE {' AND '.join(texts)}" if texts else "", taken


def _condition(name: str, wanted: Any) -> tuple[str, Collection[Any]]:
    if isinstance(wanted, Prefix):
        return f"{name} >= ? AND {name} < ?", (str(wanted), f"{wanted}\x7f")
    if isinstance(wanted, Collection) and not isinstance(wanted, str | bytes):
        return f"{name} IN (SELECT value FROM json_each(?))", (json.dumps(list(wanted)),)
    return f"{name} = ?", (wanted,)
