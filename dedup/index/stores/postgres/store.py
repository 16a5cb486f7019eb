"""A store on a PostgreSQL server, which the processes of many machines may share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dedup.algorithms.bands import sketch_keys
from dedup.index.mapping import REPRINT, SELECT, print_of, row_of, values_of
from dedup.index.stores.base import Group, Order, Pool, Query, StoredPage, Token
from dedup.index.stores.postgres.address import Address
from dedup.index.stores.postgres.counts import ServerTables, problems_of
from dedup.index.stores.postgres.leases import LEASE, Leases
from dedup.index.stores.postgres.search import (
    Found,
    Guess,
    Search,
    Unsure,
    code_of,
    distance_to,
    unlike_bits,
)
from dedup.index.stores.postgres.server import LOCK_CLASS, Bits, Numbers, Server
from dedup.index.stores.postgres.tables import ASK_AGAIN, OTHER_EPOCH, RUN_ENDED, last_of, open_tables
from dedup.index.stores.queries import POSTGRES, clauses, condition
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import BANDING, MAX_CANDIDATES
from dedup.values.errors import RunEnded
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import mixed, signed
from dedup.values.row import Row
from dedup.values.sighting import Sighting
from dedup.values.verdict import Candidates, Outcome

_BATCH = 500
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Different groups share no band, so that what is common on all sites does not crowd one of them.
_STEP = 0x9E3779B97F4A7C15


class PostgresStore(ServerTables):
    """The store at *address*, made there if there is none.

    With *create* False a missing one is an error; with *read_only* it is one too, and nothing is ever
    changed.  Raises `IndexUnavailable`.

    Many clients search without a lock (`is_shared`).  Who adds takes the lock of the group for a
    moment, and learns if something was added since that matters; what concerns more than one row is
    done by one client at a time, while no other one changes anything.
    """

    def __init__(self, address: Address, *, create: bool = True, read_only: bool = False) -> None:
        self._server = Server(address, read_only=read_only)
        self._scopes: dict[Group, int] = {}
        self._epoch: int | None = None
        self._seen = 0
        self._undone = 0
        self._is_told = False
        self._is_in_snapshot = False
        self._guess: Guess | None = None
        self._look: _Look | None = None
        self._leases = Leases(self._server, LEASE)
        try:
            open_tables(self._server, address.schema, create=create, read_only=read_only)
        except BaseException:
            self._server.close()
            raise

    @property
    def name(self) -> str:
        return self._server.name

    # Transactions

    @contextmanager
    def transaction(self, *, writing: bool, beside: bool = False) -> Iterator[None]:
        if self._server.is_inside:
            with self._server.errors():
                yield
            return
        self._epoch, self._is_told = None, False
        try:
            with self._server.transaction(self._begin(beside=beside) if writing else _READING):
                yield
        except BaseException:
            self._leases.settle(undone=True)
            self._scopes.clear()  # it may have looked up what was undone
            self._undone += 1
            raise
        else:
            self._leases.settle(undone=False)
        finally:
            self._epoch = None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # No transaction: of what others do meanwhile, `claim` learns all that matters.
        self._is_in_snapshot = not self._server.is_inside
        if self._is_in_snapshot:
            self._epoch = None
        try:
            yield
        finally:
            if self._is_in_snapshot:
                self._is_in_snapshot, self._epoch, self._look = False, None, None

    @property
    def _remembers(self) -> bool:
        """Whether the epoch is asked for once only."""
        return self._is_in_snapshot or self._server.is_inside

    def _begin(self, *, beside: bool) -> str:
        lock = "pg_advisory_xact_lock_shared" if beside else "pg_advisory_xact_lock"
        # Each statement sees what was committed while the lock was waited for.
        take = f"SELECT {lock}({LOCK_CLASS}, {self._server.lock_key})"
        return f"BEGIN ISOLATION LEVEL READ COMMITTED; {take}"

    @property
    def is_shared(self) -> bool:
        return not self._server.is_inside

    @property
    def undone(self) -> int:
        return self._undone

    def state(self) -> Hashable:
        return self._epoch_now(), self._undone

    def announce(self) -> None:
        if self._is_told:
            return
        ((epoch,),) = self._server.execute("UPDATE state SET epoch = epoch + 1 RETURNING epoch")
        self._seen = 0  # it may be undone
        if self._server.is_inside:
            self._epoch, self._is_told = epoch, True

    def _epoch_now(self) -> int:
        if self._guess:
            return self._guess.epoch
        if self._epoch is not None:
            return self._epoch
        ((epoch,),) = self._server.execute("SELECT epoch FROM state")
        self._seen = epoch
        if self._remembers:
            self._epoch = epoch
        return int(epoch)

    def token(self, group: Group) -> Token:
        if self._look and self._look.guess.group == group and self._is_in_snapshot:
            self._epoch = self._look.guess.epoch
            return self._epoch, self._look.last
        self._look = None
        found = self._server.execute(
            f"SELECT e.epoch, s.id, {last_of('s.id')} FROM state e "
            "LEFT JOIN scopes s ON s.kind = ? AND s.scope = ?",
            group,
        ).fetchone()
        assert found is not None
        epoch, scope, last = found
        self._seen = epoch
        if scope is not None:
            self._scopes[group] = scope
        if self._remembers:
            self._epoch = epoch
        return epoch, last

    # Rows

    def add(self, row: Row, page: bytes = b"") -> Row:
        return self._added(row, page, self._add(row, None))

    def claim(self, row: Row, token: Token, page: bytes = b"") -> Row | None:
        number = self._add(row, token)
        return self._added(row, page, number) if number != ASK_AGAIN else None

    def guess(
        self, sighting: Sighting, judge: Callable[[], Row | None], page: bytes = b""
    ) -> Row | None:
        self._look = None
        if not (self._seen and self.is_shared):
            return None
        guess = self._guess = Guess(sighting, self._seen)
        try:
            row = judge()
        except Unsure:
            row = None
        finally:
            self._guess = None
        if row is None or not row.listed:
            return None
        number = self._add_new(row, guess)
        return self._added(row, page, number) if number > 0 else None

    def _add_new(self, row: Row, guess: Guess) -> int:
        """Add *row* if there is nothing but what *guess* says; return its number, else `ASK_AGAIN`."""
        values, keys = self._values(row)
        sketch = row.sighting.fingerprint.sketch
        text = f"CALL @.claim_new({self._marks(values)}, {', '.join('?' * 4)}{', NULL' * 5})"
        given = (*(guess.epoch, guess.searches, unlike_bits(sketch)), MAX_CANDIDATES)
        (columns,) = self._server.execute(text, (*values, keys, *given)).fetchall()
        *found, last = map(Found._make, zip(*columns, strict=True))
        number = self._number(last.id, row)
        if number == OTHER_EPOCH:
            self._seen = 0
        elif number == ASK_AGAIN:
            self._look = _Look(guess, last.shared, found, is_known=last.has_body)
        return number

    def _added(self, row: Row, page: bytes, number: int) -> Row:
        if page:
            self.put(StoredPage(number, page))
        return Row(number, row.sighting, row.verdict, row.outcome, row.listed)

    def _add(self, row: Row, token: Any) -> int:
        values, keys = self._values(row)
        unlike = unlike_bits(row.sighting.fingerprint.sketch)
        marks = f"{self._marks(values)}, {', '.join('?' * 3)}"
        is_alone = token and not self._server.is_inside
        text = f"CALL @.claim({marks}, NULL)" if is_alone else f"SELECT @.add_page({marks})"
        epoch, last = token or (None, None)
        given = (epoch, last, unlike)
        ((number,),) = self._server.execute(text, (*values, keys, *given)).fetchall()
        return self._number(number, row)

    def _marks(self, values: Sequence[Any]) -> str:
        """Return the first arguments of a function that adds a row: it, its keys, and the lock.

        What is the same each time is no parameter: psycopg reads a statement of more than 50 each time.
        """
        row = f"ROW({', '.join('?' * (len(values) - 1))}, NULL, ?)::@.pages"
        return f"{row}, ?, {self._server.lock_key}"

    def _values(self, row: Row) -> tuple[list[Any], Numbers | None]:
        """Return what a row of the table is made of, but for its number, and the keys of its bands."""
        seen = row.sighting
        scope, sketch = self._scope((seen.kind, seen.scope), create=True), seen.fingerprint.sketch
        values = [*values_of(row, scope), code_of(sketch) if row.listed else None]
        return values, _keys_of(sketch, scope) if row.listed else None

    def _number(self, number: int, row: Row) -> int:
        """Return *number*, the answer of a function that was to add *row*."""
        if number == RUN_ENDED:
            raise RunEnded(
                f"{self.name}: run {row.sighting.run} was ended by others, as it was not heard of for "
                "too long"
            )
        return number

    def change(self, which: Query, *, outcome: Outcome | None = None, listed: bool | None = None) -> int:
        if listed or outcome is not Outcome.CONFIRMED:
            self.announce()
        text, values = condition(which, self._scope_of(which), POSTGRES)
        chosen = f"SELECT p.id FROM pages p WHERE {text}"
        if outcome is Outcome.CONFIRMED and which.outcomes == (Outcome.PENDING,) and listed is None:
            return self._server.execute(f"DELETE FROM pending WHERE row IN ({chosen})", values).rowcount
        rows = [row for (row,) in self._server.execute(chosen, values)]
        if rows and listed is not None:
            self._list(rows, listed=listed)
        if rows and outcome is not None:
            self._settle(rows, outcome)
        return len(rows)

    def _settle(self, rows: list[int], outcome: Outcome) -> None:
        stored = Outcome.CONFIRMED if outcome is Outcome.PENDING else outcome
        self._server.execute("UPDATE pages SET outcome = ? WHERE id = ANY(?)", (stored, rows))
        self._server.execute("DELETE FROM pending WHERE row = ANY(?)", (rows,))
        if outcome is Outcome.PENDING:
            self._server.execute("INSERT INTO pending SELECT unnest(?::bigint[])", (rows,))

    def _list(self, rows: list[int], *, listed: bool) -> None:
        """Put *rows* into the lists, or take them out."""
        for number, keys, _ in self._keyed("WHERE p.listed AND p.id = ANY(?)", (rows,)):
            self._server.execute("DELETE FROM bands WHERE key = ANY(?) AND row = ?", (keys, number))
        self._server.execute("UPDATE pages SET listed = ? WHERE id = ANY(?)", (listed, rows))
        if listed:
            self._band("WHERE p.id = ANY(?)", (rows,))

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        self._server.execute(REPRINT, print_of(row, fingerprint))

    def rows(self, query: Query) -> Iterator[Row]:
        if self._guess:
            return self._guess.rows(query)
        if self._look and self._look.is_nothing(query):
            return iter(())
        if query.limit is not None or query.order is not Order.OLDEST:
            return iter(self._select(query, query.limit))
        rows = self._select(query, _BATCH)
        return iter(rows) if len(rows) < _BATCH else self._batches(query, rows)

    def _batches(self, query: Query, rows: list[Row]) -> Iterator[Row]:
        while rows:
            yield from rows
            rows = self._select(query._replace(after=rows[-1].id), _BATCH)

    def _select(self, query: Query, limit: int | None = None) -> list[Row]:
        with self._server.errors():
            text, values = clauses(query, self._scope_of(query), limit, POSTGRES)
            return list(map(row_of, self._server.execute(SELECT + text, values)))

    def _scope_of(self, query: Query) -> int:
        return self._scope(query.group) if query.group else 0

    def _scope(self, group: Group, *, create: bool = False) -> int:
        """Return the number of a group, 0 if there is none yet."""
        if group in self._scopes:
            return self._scopes[group]
        if create:
            self._server.execute(
                "INSERT INTO scopes (kind, scope) VALUES (?, ?) ON CONFLICT DO NOTHING", group
            )
        found = self._server.execute(
            "SELECT id FROM scopes WHERE kind = ? AND scope = ?", group
        ).fetchone()
        if found:
            self._scopes[group] = found[0]
        return int(found[0]) if found else 0

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        if self._guess:
            return self._guess.candidates(pool)
        scope = self._scope(pool.group)
        known = self._look.found if self._look and self._look.guess.has_asked(page, pool) else None
        return Search(page, pool, config, self._server, scope, known, _keys_of).batches()

    # Bands

    def _band(self, where: str, values: Sequence[Any]) -> None:
        """Put some rows into the lists by their sketches."""
        for row, keys, code in self._keyed(where, values):
            self._server.execute("UPDATE pages SET code = ? WHERE id = ?", (code, row))
            self._server.execute("INSERT INTO bands SELECT unnest(?::bigint[]), ?", (keys, row))

    def _keyed(self, where: str, values: Sequence[Any]) -> Iterator[tuple[int, Numbers, Bits]]:
        """Yield rows with the keys of their bands, and their codes."""
        last = 0
        while rows := self._server.execute(
            f"SELECT p.id, p.scope, p.sketch FROM pages p {where} AND p.id > ? "
            f"ORDER BY p.id LIMIT {_BATCH}",
            (*values, last),
        ).fetchall():
            last = rows[-1][0]
            for row, scope, sketch in rows:
                yield row, _keys_of(sketch, scope), code_of(sketch)

    # Leases

    def lease(self, run: int) -> None:
        self._leases.take(run)

    def release(self, run: int) -> None:
        self._leases.release(run)

    def is_leased(self, run: int) -> bool:
        return self._leases.is_held(run)

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        column = f"{field}_simhash"
        found = self._server.execute(
            f"SELECT {distance_to(column)}, id FROM pages WHERE listed AND {column} != 0 "
            f"AND {distance_to(column)} <= ? ORDER BY 1, 2 LIMIT ?",
            (signed(simhash), signed(simhash), max_distance, limit),
        )
        return [(distance, row) for distance, row in found]

    # Upkeep

    def problems(self) -> list[str]:
        with self.transaction(writing=False):
            return list(problems_of(self._server))

    def wait_at_most(self, seconds: float) -> None:
        self._server.wait_at_most(seconds)

    def close(self) -> None:
        try:
            self._leases.close()
        finally:
            self._server.close()


@dataclass(slots=True)
class _Look:
    """What was found where a *guess* was wrong; *last* was the last row then: nobody asks again."""

    guess: Guess
    last: int
    found: list[Found]
    is_known: bool

    def is_nothing(self, query: Query) -> bool:
        """Return whether it is known that there is no row of *query*."""
        return not self.is_known and self.guess.is_of_it(query)


def _keys_of(sketch: bytes, scope: int) -> Numbers:
    keys = sketch_keys(sketch, BANDING) + np.uint64(scope * _STEP % 2**64)
    return Numbers(mixed(keys).astype(">u8").tobytes())
