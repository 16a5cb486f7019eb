"""The connection to a PostgreSQL server: statements, transactions, and errors for people.

Where a pool is in between, each transaction may be run in another session, which others use too.  So
no statement leans on one: tables are named with their schema, locks are those of a transaction, and
through a pool no statement is prepared and no setting changed.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, cast

import psycopg
from psycopg import Connection, Cursor, errors
from psycopg.adapt import Buffer, Dumper
from psycopg.types.numeric import Int8Dumper

from dedup.index.address import Address
from dedup.index.files import Damaged
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.printable import printable

_EVERY = 0.5


class Watch:
    """Cuts a connection on which a statement takes more than *seconds*; has a thread of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._watched: tuple[float, Connection[Any]] | None = None
        self._closed = Event()
        Thread(target=self._work, name="dedup watch", daemon=True).start()

    @contextmanager
    def over(self, connection: Connection[Any]) -> Iterator[None]:
        """Watch *connection* while a statement is run on it."""
        self._watched = (monotonic() + self._seconds, connection)
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def close(self) -> None:
        """End the thread."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.wait(_EVERY):
            with self._lock:
                if self._watched and monotonic() > self._watched[0]:
                    cut(self._watched[1])
                    self._watched = None


def cut(connection: Connection[Any]) -> None:
    """Let who waits for an answer on *connection* hear that there is none."""
    # A copy of the number of the socket: the socket itself belongs to libpq.
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


# Seconds to wait for a connection; and for one statement, where the user has not said.
CONNECT_TIMEOUT = 10
# Seconds that a server has to say itself that a statement took too long.
_MARGIN = 2.0
# The oldest server: `bit_count` came with it.
OLDEST = 140000
# So much is told of an error of the server's: it may quote a statement.
_LONGEST = 300
# Of the advisory lock that clients take to make tables, what is ours: "dedu" in ASCII.
LOCK_CLASS = 0x64656475

Values = Sequence[Any]


class Server:
    """A connection to the index at *address*, made anew after it was cut.

    Statements have ``?`` for what they take.  With *read_only* the server refuses every change.
    Raises `IndexUnavailable` for everything that goes wrong.
    """

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        self.name = address.name
        self.schema = address.schema
        self._address = address
        self._read_only = read_only
        self._timeout: float | None = None
        self._depth = 0
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._watch: Watch | None = None
        self._is_pooled = False

    # Statements

    def execute(self, text: str, values: Values = ()) -> Cursor[tuple[Any, ...]]:
        """Run a statement; inside `transaction` it is part of that, else one of its own."""
        with self.errors():
            self._connected()  # it tells whether there is a pool
            with self._reading_only(), self._watched():
                return self._connected().execute(_marked(text, self.schema), values, binary=True)

    def script(self, text: str) -> None:
        """Run statements that take nothing, one after the other."""
        with self.errors(), self._watched():
            self._connected().execute(cast(Any, placed(text, self.schema)))

    def _reading_only(self) -> AbstractContextManager[None]:
        """Return a transaction that changes nothing, where the session does not see to that."""
        is_safe = self._depth or not (self._read_only and self._is_pooled)
        return nullcontext() if is_safe else self.transaction("BEGIN")

    def placed(self, text: str) -> Any:
        """Return the statement *text*, as connections run it, with the tables of this index."""
        return placed(text, self.schema)

    @property
    def is_inside(self) -> bool:
        """Whether a transaction is under way."""
        return self._depth > 0

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Make one transaction of what is inside: the statements *begin* come first."""
        if self._depth:
            with self.errors():
                yield
            return
        with self.errors():
            self._connected()  # one that was cut is made anew here, and not inside
        self._depth += 1
        try:
            self.script(f"{begin}{self._limits()}")
            with self.errors():
                yield
                with self._watched():
                    self._connected().execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                if self._connection is not None:
                    self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth -= 1

    # The connection

    def wait_at_most(self, seconds: float) -> None:
        """Let no statement take longer than that, from now on."""
        self._timeout = seconds
        if self._watch is None:
            self._watch = Watch(seconds + _MARGIN)
        if self._connection is not None and not self._connection.closed:
            self._set_timeout(self._connection)

    def connect_again(self) -> Connection[tuple[Any, ...]]:
        """Return another connection to the same index, the caller's to close."""
        address = self._address
        connection = psycopg.connect(
            address.conninfo,
            autocommit=True,
            client_encoding="UTF8",
            connect_timeout=CONNECT_TIMEOUT,
            application_name="scrapy-dedup",
        )
        _adapt(connection)
        return connection

    def close(self) -> None:
        """Close the connection."""
        if self._watch:
            self._watch.close()
        if self._connection is not None:
            self._connection.close()

    def _watched(self) -> AbstractContextManager[object]:
        """Cut the connection if a statement takes longer than `wait_at_most`: the server is silent."""
        connection = self._connection
        if self._watch is None or connection is None or connection.closed:
            return nullcontext()
        return self._watch.over(connection)

    def _connected(self) -> Connection[tuple[Any, ...]]:
        if self._connection is None or (self._connection.closed and not self._depth):
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Connection[tuple[Any, ...]]:
        connection = self.connect_again()
        try:
            if connection.info.server_version < OLDEST:
                raise IndexUnavailable(f"{self.name}: PostgreSQL 14 or newer is needed")
            if connection.info.parameter_status("server_encoding") != "UTF8":
                raise IndexUnavailable(f"{self.name}: the encoding of the database must be UTF8")
            self._is_pooled = _is_pooled(connection)
            if self._is_pooled:
                connection.prepare_threshold = None
                return connection
            if self._read_only:
                connection.execute("SET default_transaction_read_only = on")
            self._set_timeout(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_timeout(self, connection: Connection[tuple[Any, ...]]) -> None:
        if self._timeout is not None and not self._is_pooled:
            connection.execute(f"SET statement_timeout = {int(1000 * self._timeout)}")

    def _limits(self) -> str:
        """Return what limits a transaction through a pool; elsewhere the session does.

        The time of statements on their own is limited by the `Watch`.
        """
        if not self._is_pooled:
            return ""
        mode = "; SET TRANSACTION READ ONLY" if self._read_only else ""
        if self._timeout is None:
            return mode
        return f"{mode}; SET LOCAL statement_timeout = {int(1000 * self._timeout)}"

    # Errors

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say errors of the server in plain English, with the address and without its password."""
        try:
            yield
        except psycopg.Error as error:
            kind = _kind_of(error)
            # Not from the error: a traceback of it may show what it was given.
            raise kind(f"{self.name}: {explained(error)}") from None
        except UnicodeEncodeError as error:
            raise IndexUnavailable(f"{self.name}: a text is no Unicode ({error.reason})") from None
        except Damaged as error:
            raise IndexUnavailable(
                f"{self.name}: the index is damaged ({printable(str(error), _LONGEST)}); "
                "see `dedup check`"
            ) from error


# Of errors that the server tells, those that may be over the next time: connections, resources, being
# shut down, deadlocks, an answer that takes too long.
_PASSING = ("08", "53", "57", "40", "55")
_BUSY = ("starting up", "shutting down", "recovery", "too many", "connection slots", "terminating")


def _kind_of(error: psycopg.Error) -> type[IndexUnavailable]:
    if error.sqlstate is None:
        # A server that says why it lets nobody in may be starting; else it is not the right name.
        is_refused = "FATAL" in str(error) and not any(why in str(error) for why in _BUSY)
        is_away = isinstance(error, psycopg.OperationalError) and not is_refused
        return ServerAway if is_away else IndexUnavailable
    return ServerAway if error.sqlstate.startswith(_PASSING) else IndexUnavailable


def _is_pooled(connection: Connection[tuple[Any, ...]]) -> bool:
    """Return whether there is a pool in between: it does not tell whose session this is."""
    found = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return found is None or found[0] != connection.info.backend_pid


class Bits(bytes):
    """Bits, eight in a byte, as the server's ``varbit``."""


class _BitsDumper(Dumper):
    """Writes `Bits`."""

    format = psycopg.pq.Format.BINARY
    oid = psycopg.adapters.types["varbit"].oid

    def dump(self, obj: Bits) -> Buffer:
        return (8 * len(obj)).to_bytes(4) + obj


def _adapt(connection: Connection[Any]) -> None:
    adapters = connection.adapters
    # One type of numbers, whatever their size: else each size would have a statement of its own.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(Bits, _BitsDumper)


@lru_cache(maxsize=1024)
def _marked(text: str, schema: str) -> Any:
    return placed(text, schema).replace("%", "%%").replace("?", "%s")


def placed(text: str, schema: str) -> str:
    """Return the statement *text* with the tables of *schema*: no session has to know where they are."""
    return text.replace("@.", f'"{schema}".')


def explained(error: psycopg.Error) -> str:
    """Return what *error* means, on one line; nothing of an address is quoted."""
    for kind, explanation in _EXPLANATIONS.items():
        if isinstance(error, kind):
            return explanation
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "the address cannot be read"  # what it quotes may be a part of a password
    said = error.diag.message_primary or " ".join(str(error).split())
    return printable(said, _LONGEST)


_EXPLANATIONS: Mapping[type[psycopg.Error], str] = {
    errors.QueryCanceled: "the server has not answered in time",
    errors.LockNotAvailable: "another process held the index for too long",
    errors.DiskFull: "the disk of the server is full",
    errors.InsufficientPrivilege: "the role may not do this here; see the documentation on roles",
    errors.ReadOnlySqlTransaction: "the index was opened to read only",
    errors.AdminShutdown: "the server is shutting down",
}

logger = logging.getLogger(__name__)

# Seconds that a lease lasts, and how often it is renewed in that time.
LEASE = 60.0
_RENEWALS = 4


class Leases:
    """The leases of runs on *server*, which a thread renews over connections of its own."""

    def __init__(self, server: Server, seconds: float = LEASE) -> None:
        self._server = server
        self._seconds = seconds
        self._held: set[int] = set()
        # Taken in a transaction that may still be undone.
        self._taken: set[int] = set()
        self._closed = Event()
        self._thread: Thread | None = None
        self._watch = Watch(seconds / _RENEWALS)

    def take(self, run: int) -> None:
        """Hold *run*, from the end of the transaction on."""
        self._server.execute(
            "INSERT INTO @.leases VALUES (?, clock_timestamp() + ? * interval '1 second') "
            "ON CONFLICT (run) DO UPDATE SET until = excluded.until",
            (run, self._seconds),
        )
        self._held.add(run)
        self._taken.add(run)
        if self._thread is None:
            self._thread = Thread(target=self._renew, name="dedup leases", daemon=True)
            self._thread.start()

    def release(self, run: int) -> None:
        """Hold *run* no longer."""
        if run in self._held:
            self._held.discard(run)
            self._server.execute("DELETE FROM @.leases WHERE run = ?", (run,))

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        if undone:
            self._held -= self._taken
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        found = self._server.execute(
            "SELECT FROM @.leases WHERE run = ? AND until > clock_timestamp()", (run,)
        )
        return found.fetchone() is not None

    def close(self) -> None:
        """Hold no run any longer."""
        self._closed.set()
        self._watch.close()
        for run in list(self._held):
            self.release(run)

    def _renew(self) -> None:
        while not self._closed.wait(self._seconds / _RENEWALS):
            if self._held:
                try:
                    self._renew_now(list(self._held))
                except psycopg.Error as error:  # the next time may come before the lease is over
                    logger.debug("Leases could not be renewed: %s", error)

    def _renew_now(self, runs: list[int]) -> None:
        with self._server.connect_again() as connection, self._watch.over(connection):
            connection.execute(
                self._server.placed(
                    "UPDATE @.leases SET until = clock_timestamp() + %s * interval '1 second' "
                    "WHERE run = ANY(%s)"
                ),
                (self._seconds, runs),
            )
