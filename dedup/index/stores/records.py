"""The small tables of an index in SQLite: runs, visits, withheld requests, notes and stored pages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from dedup.index.files import Damaged
from dedup.index.rows import run_of, visit_of, withheld_of
from dedup.index.stores.base import AnyRecord, Note, Prefix, Record, StoredPage
from dedup.index.tables import RUNS
from dedup.values.row import Visit, Withheld
from dedup.values.run import Run

_RUN = tuple(column.name for column in RUNS.columns if column.field and column.name != "id")


@dataclass(frozen=True, slots=True)
class _Table:
    """Where records of one kind stand: *fields* are written, *columns* are read in the given order."""

    name: str
    fields: tuple[str, ...]
    key: tuple[str, ...]
    order: str
    read: Callable[[Sequence[Any]], Any]
    columns: str = ""

    @property
    def select(self) -> str:
        return f"SELECT {self.columns or ', '.join(self.fields)} FROM {self.name}"

    def put(self, *, renew: bool) -> str:
        others = ", ".join(f"{name} = excluded.{name}" for name in self.fields if name not in self.key)
        does = f"UPDATE SET {others}" if renew else "NOTHING"
        return f"{self.insert} ON CONFLICT ({', '.join(self.key)}) DO {does}"

    @property
    def insert(self) -> str:
        marks = ", ".join("?" * len(self.fields))
        return f"INSERT INTO {self.name} ({', '.join(self.fields)}) VALUES ({marks})"

    def values(self, record: Record) -> tuple[Any, ...]:
        return tuple([getattr(record, name) for name in self.fields])


def _run_of(fields: Sequence[Any]) -> Run:
    *own, is_imported = fields
    run = run_of(own)
    return replace(run, is_imported=True) if is_imported else run


def _note_of(fields: Sequence[Any]) -> Note:
    if not all(isinstance(text, str) for text in fields):
        raise Damaged("a note is no text")
    return Note(*fields)


_TABLES: dict[type, _Table] = {
    Run: _Table(
        *("runs", ("id", *_RUN), ("id",), "id", _run_of),
        columns=f"id, {', '.join(_RUN)}, lock = ''",
    ),
    Visit: _Table(
        "visits",
        ("scope", "host", "run", "after"),
        ("scope", "host", "run"),
        "after, run, scope, host",
        visit_of,
    ),
    Withheld: _Table(
        "withheld",
        ("row", "url", "what", "request", "run", "url_key"),
        ("run", "what", "url_key"),
        "id",
        withheld_of,
        columns="row, url, what, request, run",
    ),
    Note: _Table("meta", ("name", "value"), ("name",), "name", _note_of),
    StoredPage: _Table(
        "stored_pages",
        ("row", "page"),
        ("row",),
        "row",
        lambda fields: StoredPage(*fields),
        columns="row, CAST(page AS BLOB)",
    ),
}
# A run is inserted by `add_run` only, with its lock.
_UPDATE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _RUN)} WHERE id = ?"
_INSERT_RUN = f"INSERT INTO runs ({', '.join(_RUN)}, lock) VALUES ({', '.join('?' * len(_RUN))}, ?)"
_VALUES_OF_RUN = attrgetter(*_RUN)


class Records:
    """The records in the tables of *connection*; every method is part of the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, records: Sequence[Record], *, renew: bool) -> None:
        """See `Store.put`."""
        runs = [record for record in records if isinstance(record, Run)]
        self._connection.executemany(_UPDATE_RUN, [(*_VALUES_OF_RUN(run), run.id) for run in runs])
        for kind in {type(record) for record in records} - {Run}:
            table = _TABLES[kind]
            fields = [table.values(record) for record in records if type(record) is kind]
            self._connection.executemany(table.put(renew=renew), fields)

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
        table = _TABLES[kind]
        where, values = _where(fields)
        values.append(-1 if limit is None else limit)
        text = f"{table.select}{where} ORDER BY {table.order} LIMIT ?"
        return [table.read(columns) for columns in self._connection.execute(text, values)]

    def delete(self, kind: type[AnyRecord], fields: Mapping[str, Any]) -> None:
        """See `Store.delete`."""
        where, taken = _where(fields)
        # A text that is to be forgotten shall not stay behind in the free pages of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute(f"DELETE FROM {_TABLES[kind].name}{where}", taken)
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
