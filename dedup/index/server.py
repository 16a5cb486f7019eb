"""The connection to a PostgreSQL server: statements, transactions, and errors for people.

Where a pool is in between, each transaction may be run in another session, which others use too.  So
no statement leans on one: tables are named with their schema, locks are those of a transaction, and
through a pool no statement is prepared and no setting changed.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
from psycopg import Cursor, errors
from psycopg.types.numeric import Int8Dumper

from dedup.index.address import Address
from dedup.index.store import Leases, Store
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.printable import printable

logger = logging.getLogger(__name__)

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


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up where it waits for more than *patience* seconds for an answer."""

    patience: float | None = None

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """See `psycopg.Connection.wait`."""
        if self.patience is not None:
            gen = self._limited(gen, monotonic() + self.patience)
        return super().wait(gen, *given, **named)

    def _limited(self, gen: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
        # What waits for the socket also comes by every tenth of a second, with nothing in its hands.
        ready = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                return done.value
            ready = yield wanted
            if not ready and monotonic() > until:
                self.close()
                raise psycopg.OperationalError("the server has not answered in time")


class Server:
    """A connection to the index at *address*, made anew after it was cut.

    In statements, ``@.`` stands for the schema.  Raises `IndexUnavailable` for all that goes wrong.
    """

    def __init__(self, address: Address) -> None:
        self.name = address.name
        self.schema = address.schema
        self._address = address
        self._timeout: float | None = None
        self._is_inside = False
        self._connection: Connection | None = None
        self._is_pooled = False

    def execute(self, text: str, values: Sequence[Any] | None = None) -> Cursor[tuple[Any, ...]]:
        """Run a statement with what it takes, or several that take nothing."""
        with self.errors():
            return self._connected().execute(self.placed(text), values, binary=values is not None)

    def placed(self, text: str) -> Any:
        """Return the statement *text*, as connections run it, with the tables of this index."""
        return text.replace("@.", f'"{self.schema}".')

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Make one transaction of what is inside: the statements *begin* come first."""
        with self.errors():
            connection = self._connected()  # one that was cut is made anew here, and not inside
        self._is_inside = True
        try:
            # Through a pool, the session does not limit it.
            is_limited = self._is_pooled and self._timeout is not None
            self.execute(f"{begin}; SET LOCAL {self._limit()}" if is_limited else begin)
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        finally:
            self._is_inside = False

    # The connection

    def wait_at_most(self, seconds: float) -> None:
        """Let no statement take longer than that, from now on."""
        self._timeout = seconds
        if self._connection is not None and not self._connection.closed:
            self._limit_session(self._connection)

    def connect_again(self) -> Connection:
        """Return another connection to the same index, the caller's to close."""
        connection = Connection.connect(
            self._address.conninfo,
            autocommit=True,
            client_encoding="UTF8",
            connect_timeout=CONNECT_TIMEOUT,
            application_name="scrapy-dedup",
        )
        # One type of numbers, whatever their size: else each size would have a statement of its own.
        connection.adapters.register_dumper(int, Int8Dumper)
        return connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> Connection:
        if self._connection is None or (self._connection.closed and not self._is_inside):
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Connection:
        connection = self.connect_again()
        try:
            if connection.info.server_version < OLDEST:
                raise IndexUnavailable(f"{self.name}: PostgreSQL 14 or newer is needed")
            if connection.info.parameter_status("server_encoding") != "UTF8":
                raise IndexUnavailable(f"{self.name}: the encoding of the database must be UTF8")
            # A pool does not tell whose session this is.
            found = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
            self._is_pooled = found is None or found[0] != connection.info.backend_pid
            if self._is_pooled:
                connection.prepare_threshold = None
            self._limit_session(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _limit_session(self, connection: Connection) -> None:
        if self._timeout is not None:
            connection.patience = self._timeout + _MARGIN
            if not self._is_pooled:
                connection.execute(f"SET {self._limit()}")

    def _limit(self) -> str:
        return f"statement_timeout = {int(1000 * (self._timeout or 0))}"

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


# Of errors that the server tells, those that may be over the next time: connections, resources, being
# shut down, deadlocks, an answer that takes too long.
_PASSING = ("08", "53", "57", "40", "55")
_BUSY = ("starting up", "shutting down", "recovery", "too many", "connection slots", "terminating")


def _kind_of(error: psycopg.Error) -> type[IndexUnavailable]:
    if error.sqlstate is not None:
        is_away = error.sqlstate.startswith(_PASSING)
    else:
        # A server that says why it lets nobody in may be starting; else it is not the right name.
        is_refused = "FATAL" in str(error) and not any(why in str(error) for why in _BUSY)
        is_away = isinstance(error, psycopg.OperationalError) and not is_refused
    return ServerAway if is_away else IndexUnavailable


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
    errors.InsufficientPrivilege: "the role may not do this here; see the documentation on roles",
}

# Seconds that a lease lasts, and how often it is renewed in that time.
LEASE = 60.0
_RENEWALS = 4
_UNTIL = "clock_timestamp() + %s * interval '1 second'"


class ServerLeases(Leases):
    """The leases of runs on *server*, which a thread renews over connections of its own."""

    def __init__(self, replica: Store, server: Server, seconds: float = LEASE) -> None:
        super().__init__(replica)
        self._server, self._seconds = server, seconds
        self._closed = Event()
        self._thread = Thread(target=self._renew, name="dedup leases", daemon=True)

    def take(self, run: int) -> None:
        self._server.execute(
            f"INSERT INTO @.leases VALUES (%s, {_UNTIL}) "
            "ON CONFLICT (run) DO UPDATE SET until = excluded.until",
            (run, self._seconds),
        )
        self._hold(run, None)
        if self._thread.ident is None:
            self._thread.start()

    def release(self, run: int) -> None:
        if run in self._held:
            super().release(run)
            self._server.execute("DELETE FROM @.leases WHERE run = %s", (run,))

    def is_held(self, run: int) -> bool:
        text = "SELECT FROM @.leases WHERE run = %s AND until > clock_timestamp()"
        return self._server.execute(text, (run,)).fetchone() is not None

    def close(self) -> None:
        self._closed.set()
        super().close()

    def _renew(self) -> None:
        every = self._seconds / _RENEWALS
        renewed = self._server.placed(f"UPDATE @.leases SET until = {_UNTIL} WHERE run = ANY(%s)")
        while not self._closed.wait(every):
            try:
                with self._server.connect_again() as connection:
                    connection.patience = every
                    connection.execute(renewed, (self._seconds, list(self._held)))
            except psycopg.Error as error:  # the next time may come before the lease is over
                logger.debug("Leases could not be renewed: %s", error)
