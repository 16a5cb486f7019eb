"""The small tables of an index on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from dedup.index.stores.base import AnyRecord, Record, Store, StoredPage
from dedup.index.stores.postgres.server import Server
from dedup.index.stores.postgres.tables import key_of
from dedup.index.stores.records import INSERT_RUN, KINDS, RecordTable, conditions, puts, values_of_run
from dedup.values.row import Run

_KINDS: Mapping[type, RecordTable] = {
    **KINDS,
    StoredPage: replace(KINDS[StoredPage], selected="row, page"),
}
# What is unique in tables with long texts is their digest.
_KEYS = {
    f"ON CONFLICT ({', '.join(kind.table.key)})": f"ON CONFLICT ({', '.join(key_of(kind.table))})"
    for kind in KINDS.values()
    if kind.table.key
}


class Records(Store):
    """The part of a store on PostgreSQL that has the records; see `dedup.index.stores.records`."""

    _server: Server

    def put(self, *records: Record, renew: bool = True) -> None:
        for statement, given in puts(records, renew=renew):
            self._server.execute_many(_by_digests(statement), given)

    def add_run(self, run: Run) -> Run:
        added = self._server.execute(f"{INSERT_RUN} RETURNING id", values_of_run(run)).fetchone()
        assert added is not None
        return replace(run, id=added[0])

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        stored = _KINDS[kind]
        where: tuple[str, list[Any]] = conditions(fields, _among)
        text = f"{stored.select}{where[0]} ORDER BY {stored.order} LIMIT ?"
        with self._server.errors():
            return [stored.read(columns) for columns in self._server.execute(text, [*where[1], limit])]

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        where: tuple[str, list[Any]] = conditions(fields, _among)
        self._server.execute(f"DELETE FROM {_KINDS[kind].table.name}{where[0]}", where[1])


def _by_digests(statement: str) -> str:
    for key, here in _KEYS.items():
        statement = statement.replace(key, here)
    return statement


def _among(name: str, wanted: Collection[Any]) -> tuple[str, Any]:
    return f"{name} = ANY(?)", list(wanted)
