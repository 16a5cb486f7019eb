"""The records of an index on PostgreSQL, and what is counted and glanced at in its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar

from dedup.index.database_files import Damaged
from dedup.index.mapping import SELECT, SELECT_KEPT_TEXT, TELLS_OF_SITE, kept_text_of, row_of
from dedup.index.stores.base import StoredPage
from dedup.index.stores.postgres.server import Server
from dedup.index.stores.postgres.tables import key_of
from dedup.index.stores.records import INSERT_RUN, KINDS, Tables, values_of_run
from dedup.reading.stored import is_readable
from dedup.values.row import KeptText, Run

_ROWS = 500
# What a column of a table must name, and where.
_REFERENCES = (
    ("pages", "run", "runs"),
    ("pages", "scope", "scopes"),
    ("pages", "canonical", "pages"),
    ("pages", "previous", "pages"),
    ("pages", "replaces", "pages"),
    ("pages", "represents", "pages"),
    ("visits", "run", "runs"),
    ("withheld", "run", "runs"),
    ("withheld", "row", "pages"),
    ("stored_pages", "row", "pages"),
    ("pending", "row", "pages"),
    ("bands", "row", "pages"),
)


def problems_of(server: Server) -> Iterator[str]:
    """Yield what is wrong, a line for each."""
    for table, column, other in _REFERENCES:
        found = server.execute(
            f"SELECT count(*), min(t.{column}) FROM {table} t LEFT JOIN {other} o ON o.id = t.{column} "
            f"WHERE t.{column} IS NOT NULL AND o.id IS NULL"
        ).fetchall()
        for count, first in found:
            if count:
                yield f"{count} {table} name a row of {other} that is not there, the first is {first}"
    yield from _invalid_rows(server)
    yield from _settled_twice(server)
    unreadable = sum(
        not is_readable(page) for (page,) in server.execute("SELECT page FROM stored_pages")
    )
    if unreadable:
        yield f"{unreadable} stored {'page' if unreadable == 1 else 'pages'} cannot be read"


def _invalid_rows(server: Server) -> Iterator[str]:
    last = 0
    while found := server.execute(
        f"{SELECT}WHERE p.id > ? ORDER BY p.id LIMIT {_ROWS}", (last,)
    ).fetchall():
        for fields in found:
            try:
                last = row_of(fields).id
            except Damaged as error:
                yield str(error)
                return


def _settled_twice(server: Server) -> Iterator[str]:
    (wrong,) = server.execute(
        "SELECT count(*) FROM pending o JOIN @.pages p ON p.id = o.row WHERE p.outcome != 'confirmed'"
    ).fetchall()[0]
    if wrong:
        yield f"{wrong} rows are pending and settled"


# What is unique in tables with long texts is their digest.
_KEYS = {
    f"ON CONFLICT ({', '.join(kind.table.key)})": f"ON CONFLICT ({', '.join(key_of(kind.table))})"
    for kind in KINDS.values()
    if kind.table.key
}
_TEXTS = 200
_AROUND = 100


class ServerTables(Tables):
    """The part of a store on PostgreSQL that has the records, and that counts and glances."""

    _server: Server
    _kinds: ClassVar = {**KINDS, StoredPage: replace(KINDS[StoredPage], selected="row, page")}

    def _fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._server.execute(text, values).fetchall()

    def _execute_many(self, text: str, values: Sequence[Any]) -> None:
        for key, here in _KEYS.items():
            text = text.replace(key, here)
        self._server.execute_many(text, values)

    def _errors(self) -> AbstractContextManager[None]:
        return self._server.errors()

    def _among(self, name: str, wanted: Collection[Any]) -> tuple[str, Any]:
        return f"{name} = ANY(?)", list(wanted)

    def _rows(self) -> int:
        ((rows,),) = self._fetch("SELECT count(*) FROM pages")
        return int(rows)

    def _bytes(self) -> int:
        ((size,),) = self._fetch(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@.pages'::regclass)"
        )
        return int(size)

    def add_run(self, run: Run) -> Run:
        ((number,),) = self._fetch(f"{INSERT_RUN} RETURNING id", values_of_run(run))
        return replace(run, id=number)

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        if rows is not None:
            yield from self._texts("p.id = ANY(?) AND p.outcome != 'pending'", list(rows), "")
            return
        # A limit that the plan knows: else it is one for a third of all rows.
        found = self._texts("p.id > ?", after, f"LIMIT {_TEXTS}")
        yield from found
        while len(found) == _TEXTS:
            found = self._texts("p.id > ?", found[-1].id, f"LIMIT {_TEXTS}")
            yield from found

    def _texts(self, where: str, given: Any, limit: str) -> list[KeptText]:
        with self._server.errors():
            found = self._server.execute(
                f"{SELECT_KEPT_TEXT}WHERE {where} AND {TELLS_OF_SITE} AND p.sample != '' "
                f"ORDER BY p.id {limit}",
                (given,),
            )
            return [kept_text_of(text) for text in found]

    def urls_around(self, url_key: str) -> list[str]:
        found: list[str] = []
        for order, sign in (("DESC", "<"), ("ASC", ">=")):
            keys = self._server.execute(
                f"SELECT DISTINCT url_key FROM pages WHERE url_key != '' AND url_key {sign} ? "
                f"ORDER BY url_key {order} LIMIT {_AROUND}",
                (url_key,),
            )
            found += [key for (key,) in keys]
        return found
