"""Whether the tables and lists of an index in SQLite hold what was written there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from dedup.index.stores.lists import Lists
from dedup.index.tables import INVALID
from dedup.reading.stored import is_readable


def problems_of(connection: sqlite3.Connection, lists: Lists) -> Iterator[str]:
    """Yield what is wrong, a line for each; lists are looked at only where the rows are sound."""
    for table, statement in INVALID.items():
        count, first = connection.execute(statement).fetchone()
        if count:
            yield f"{count} {table} contain invalid values, the first is {first}"
            return
    yield from lists.problems()
    yield from _problems_of_pages(connection)


def _problems_of_pages(connection: sqlite3.Connection) -> Iterator[str]:
    stored = connection.execute(
        "SELECT CAST(s.page AS BLOB), p.id FROM stored_pages s LEFT JOIN pages p ON p.id = s.row"
    )
    unreadable = strays = 0
    for page, row in stored:
        strays += row is None
        unreadable += not is_readable(page)
    if unreadable:
        yield f"{unreadable} stored {'page' if unreadable == 1 else 'pages'} cannot be read"
    if strays:
        yield f"{strays} stored {'page belongs' if strays == 1 else 'pages belong'} to no row"
