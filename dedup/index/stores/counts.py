"""What is counted and glanced at in the tables of an index, instead of reading all of its rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator

from dedup.index.database import Database
from dedup.index.mapping import (
    SELECT_GLANCE,
    SELECT_KEPT_TEXT,
    TELLS_OF_SITE,
    glance_of,
    kept_text_of,
)
from dedup.index.stores.base import Store
from dedup.values.row import Glance, KeptText, Statistics
from dedup.values.verdict import Outcome

_GLANCES = 10_000
# How many URLs before and after another one are looked at for one that may be meant.
_AROUND = 100


class Counts(Store):
    """The part of a store in SQLite that counts and glances."""

    _database: Database
    _connection: sqlite3.Connection

    def last(self) -> int:
        with self._database.errors():
            (row,) = self._connection.execute("SELECT ifnull(max(id), 0) FROM pages").fetchone()
        return int(row)

    def glances(self, after: int, outcome: Outcome | None) -> Iterator[Glance]:
        last = after
        while found := self._glances_after(last, outcome):
            yield from found
            last = found[-1].id

    def _glances_after(self, row: int, outcome: Outcome | None) -> list[Glance]:
        only = "" if outcome is None else "AND outcome = ? "
        if outcome not in (None, Outcome.CONFIRMED):
            only += "AND outcome != 'confirmed' "  # the condition of the index `pages_unsettled`
        values = (row, *(() if outcome is None else (outcome,)), _GLANCES)
        with self._database.errors():
            found = self._connection.execute(f"{SELECT_GLANCE}{only}ORDER BY id LIMIT ?", values)
            return [glance_of(fields) for fields in found]

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        values: tuple[object] = (after,) if rows is None else (json.dumps(list(rows)),)
        where = "p.id > ?" if rows is None else "p.id IN (SELECT value FROM json_each(?))"
        with self._database.errors():
            found = self._connection.execute(
                f"{SELECT_KEPT_TEXT}WHERE {where} AND {TELLS_OF_SITE} AND p.sample != x'' ORDER BY p.id",
                values,
            )
            yield from map(kept_text_of, found)

    def statistics(self) -> Statistics:
        with self.transaction(writing=False):
            rows = self.last()
            outcomes = dict(
                self._connection.execute(
                    "SELECT outcome, count(*) FROM pages WHERE outcome != 'confirmed' GROUP BY outcome"
                ).fetchall()
            )
            # What stands in the log beside the file is no more than this once it is copied.
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            (of_page,) = self._connection.execute("PRAGMA page_size").fetchone()
        return Statistics(
            rows=rows,
            orphans=outcomes.get("orphaned", 0),
            released=outcomes.get("released", 0),
            forgotten=outcomes.get("forgotten", 0),
            bytes=pages * of_page if self._database.is_file else 0,
        )

    def clusters(
        self, *, run: int | None, forgotten: bool, min_copies: int, limit: int
    ) -> list[tuple[int, int, float]]:
        of_run = "" if run is None else "AND run = ? "
        standing = "" if forgotten else "AND outcome != 'forgotten' "
        with self._database.errors():
            found = self._connection.execute(
                "SELECT canonical, count(*), min(coalesce(similarity, 0.0)) FROM pages "
                f"WHERE canonical IS NOT NULL AND NOT kept {of_run}{standing}GROUP BY canonical "
                "HAVING count(*) >= ? ORDER BY count(*) DESC, canonical LIMIT ?",
                (*(() if run is None else (run,)), min_copies, limit),
            )
            return found.fetchall()

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
