"""Whether the tables of an index on PostgreSQL hold what was written there."""

from __future__ import annotations

from collections.abc import Iterator

from dedup.index.database_files import Damaged
from dedup.index.mapping import SELECT, row_of
from dedup.index.stores.postgres.server import Server
from dedup.reading.stored import is_readable

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
