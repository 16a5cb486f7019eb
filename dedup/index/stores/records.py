"""What stores in tables share: records (runs, visits, withheld requests, notes, pages), and counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

from dedup.index.database_files import Damaged
from dedup.index.mapping import SELECT_GLANCE, Reader, glance_of
from dedup.index.schema import FLAG, META, RUNS, STORED_PAGES, VISITS, WITHHELD, Column, Table
from dedup.index.stores.base import AnyRecord, Note, Prefix, Record, Store, StoredPage
from dedup.values.row import Glance, Run, Statistics, Visit, Withheld
from dedup.values.verdict import Outcome

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
