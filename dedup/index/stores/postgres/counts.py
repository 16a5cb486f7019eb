"""What is counted and glanced at in the tables of an index on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dedup.index.database_files import Damaged
from dedup.index.mapping import (
    SELECT,
    SELECT_GLANCE,
    SELECT_KEPT_TEXT,
    TELLS_OF_SITE,
    glance_of,
    kept_text_of,
    row_of,
)
from dedup.index.stores.base import Store
from dedup.index.stores.postgres.server import Server
from dedup.reading.stored import is_readable
from dedup.values.row import Glance, KeptText, Statistics
from dedup.values.verdict import Outcome

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


_GLANCES = 10_000
_TEXTS = 200
_AROUND = 100


class Counts(Store):
    """The part of a store on PostgreSQL that counts and glances."""

    _server: Server

    def last(self) -> int:
        found = self._server.execute("SELECT id FROM pages ORDER BY id DESC LIMIT 1").fetchone()
        return found[0] if found else 0

    def glances(self, after: int, outcome: Outcome | None) -> Iterator[Glance]:
        only, given = ("", ()) if outcome is None else ("AND outcome = ? ", (outcome,))
        last = after
        while found := [
            glance_of(fields)
            for fields in self._server.execute(
                f"{SELECT_GLANCE}{only}ORDER BY id LIMIT {_GLANCES}", (last, *given)
            )
        ]:
            yield from found
            last = found[-1].id

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

    def statistics(self) -> Statistics:
        with self.transaction(writing=False):
            outcomes = dict(
                self._server.execute(
                    "SELECT outcome, count(*) FROM pages WHERE outcome != 'confirmed' GROUP BY outcome"
                ).fetchall()
            )
            rows, size = self._server.execute(
                "SELECT (SELECT count(*) FROM pages), sum(pg_total_relation_size(oid))::bigint "
                "FROM pg_class WHERE relkind = 'r' AND relnamespace = "
                "(SELECT relnamespace FROM pg_class WHERE oid = '@.pages'::regclass)"
            ).fetchall()[0]
        return Statistics(
            rows=rows,
            orphans=outcomes.get("orphaned", 0),
            released=outcomes.get("released", 0),
            forgotten=outcomes.get("forgotten", 0),
            bytes=size,
        )

    def clusters(
        self, *, run: int | None, forgotten: bool, min_copies: int, limit: int
    ) -> list[tuple[int, int, float]]:
        of_run = "" if run is None else "AND run = ? "
        standing = "" if forgotten else "AND outcome != 'forgotten' "
        found = self._server.execute(
            "SELECT canonical, count(*), min(coalesce(similarity, 0.0)) FROM pages "
            f"WHERE canonical IS NOT NULL AND NOT kept {of_run}{standing}GROUP BY canonical "
            "HAVING count(*) >= ? ORDER BY count(*) DESC, canonical LIMIT ?",
            (*(() if run is None else (run,)), min_copies, limit),
        )
        return [(canonical, copies, least) for canonical, copies, least in found]

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
