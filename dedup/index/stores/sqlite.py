"""A store in one SQLite file, which several processes of one host may share."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from dedup.index.database import BUSY_TIMEOUT, Database
from dedup.index.mapping import (
    INSERT,
    REPRINT,
    SELECT,
    SELECT_KEPT_TEXT,
    TELLS_OF_SITE,
    kept_text_of,
    print_of,
    row_of,
    values_of,
)
from dedup.index.postings import DEFAULT_BLOCKS
from dedup.index.schema import APPLICATION_ID, SCHEMA_VERSION, create_tables
from dedup.index.stores.base import AnyRecord, Group, Order, Pool, Query, StoredPage, Token
from dedup.index.stores.leases import Leases
from dedup.index.stores.lists import Lists, Progress, problems_of
from dedup.index.stores.queries import clauses, condition
from dedup.index.stores.records import INSERT_RUN, Tables, values_of_run
from dedup.index.stores.sqlite_search import Search, near_rows
from dedup.recipes.config import DedupConfig
from dedup.values.errors import IndexUnavailable
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import KeptText, Row, Run
from dedup.values.verdict import Candidates, Outcome

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
