"""An index on a PostgreSQL server: a log there, and in a file of this machine all that was made of it.

Everything that was ever changed is in the log, one entry after the other.  Whatever changes the file is
first appended there, and every process does the same with each entry, in the same order.  Processes of
one machine share the file, which may be removed: it is made anew.

Who writes takes the lock of the one row of `state` for a moment, so positions have no gaps.  `stamp`
tells an entry from another one at its position before the server was restored.  An entry that adds one
page has what tells whether another page may have to be compared with it; one that *matters* may change
any verdict.  As a pool may run each transaction in another session, no statement leans on one: tables
are named with their schema, locks are those of a transaction, and a pool's sessions have no settings.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
from filelock import FileLock, Timeout
from msgpack import packb, unpackb
from psycopg import Cursor, errors
from psycopg.types.numeric import Int8Dumper

from dedup.index.rows import AMONG, LARGE_INDEXES, claim_keys, values_of
from dedup.index.sqlite_file import Damaged
from dedup.index.store import Leases, Store
from dedup.model.address import Address
from dedup.model.errors import IndexUnavailable, RunEnded, ServerAway, printable
from dedup.model.fingerprint import Sighting
from dedup.model.hashes import digest
from dedup.model.verdict import Outcome, Row

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10  # seconds to wait for a connection
SILENCE = 60.0  # seconds after which a client that falls silent in a transaction holds no lock
_MARGIN = 2.0  # seconds that a server has to say itself that a statement took too long
OLDEST = 140000  # `bit_count` came with it
_LONGEST = 300  # characters are told of an error: it may quote a statement
LOCK_CLASS = 0x64656475  # of the advisory lock that clients take to make tables: "dedu" in ASCII


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up where it waits for more than *patience* seconds for an answer."""

    patience: float | None = None

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """See `psycopg.Connection.wait`."""
        if self.patience is not None:
            gen = self._limited(gen, monotonic() + self.patience)
        return super().wait(gen, *given, **named)

    def _limited(self, gen: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
        ready = None  # what waits for the socket also comes by every tenth of a second, empty-handed
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                return done.value
            ready = yield wanted
            if not ready and monotonic() > until:
                self.close()
                raise psycopg.OperationalError("the server has not answered in time")


SCHEMA_VERSION = 14  # also of what stands in entries, as rows in the order of `dedup.index.rows.insert`
AT_ONCE, _SINCE = 1_000, 5_000  # entries are read at once, beside new ones and alone
_BRACES = str.maketrans("[]", "{}")
OTHER_LOG = "the index on the server was restored or made anew meanwhile; begin the crawl again"


class OtherLog(IndexUnavailable):
    """The server has another log than the one that was read so far."""


# Of the log: its position, its stamp, the number of the first row that it adds, and what it does.
Entry = tuple[int, int, int, bytes]


# Appends entries, and returns them with those after `since`; of those that add pages, which have scopes,
# only the first ones to which none of these may matter.  The lock is not held while the disk writes: an
# entry is seen at once, and a second transaction waits for the disk.  To plan each claim would take
# longer than to make it; a plan for all cannot know how much is new: it must not read the whole log, or
# be compiled.
_CLAIM = (
    """
CREATE PROCEDURE @.claim(since bigint, since_stamp bigint, its_scope bigint[], its_keys bigint[][],
    its_code varbit[], unlike bigint[], its_does bytea[], its_page bytea[], most bigint,
    OUT added bigint, OUT positions bigint[], OUT stamps bigint[], OUT its_rows bigint[],
    OUT entries bytea[])
LANGUAGE plpgsql AS $$
DECLARE
    last @.state;
BEGIN
    added := 0;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SET LOCAL synchronous_commit = off;
    SET LOCAL plan_cache_mode = force_generic_plan;
    SET LOCAL enable_seqscan = off;
    SET LOCAL jit = off;
    SELECT * FROM @.state FOR UPDATE INTO last;
    IF since > 0 AND NOT EXISTS (
        SELECT FROM @.log l WHERE l.position = since AND l.stamp = since_stamp
    ) THEN
        RAISE EXCEPTION '%', '"""
    + OTHER_LOG
    + """';
    END IF;
    FOR i IN 1 .. cardinality(its_does) LOOP
        EXIT WHEN its_scope[i] IS NOT NULL AND (last.position - since > most OR EXISTS (
            SELECT FROM @.log l WHERE l.position BETWEEN since + 1 AND last.position
            AND (l.matters OR l.keys && its_keys[i:i]
                OR (l.scope = its_scope[i] AND bit_count(l.code # its_code[i]) <= unlike[i]))));
        INSERT INTO @.log VALUES (last.position + i, DEFAULT, last.rows + i, false, its_does[i],
            its_scope[i], its_keys[i:i], its_code[i]);
        IF its_page[i] <> '' THEN
            INSERT INTO @.texts VALUES (last.rows + i, its_page[i]);
        END IF;
        added := i;
    END LOOP;
    IF added > 0 THEN
        UPDATE @.state SET position = position + added,
            rows = rows + CASE WHEN its_scope[1] IS NULL THEN 0 ELSE added END;
    END IF;
    SELECT array_agg(l.position), array_agg(l.stamp), array_agg(l.row), array_agg(l.does)
    INTO positions, stamps, its_rows, entries FROM (
        SELECT * FROM @.log WHERE position BETWEEN since + 1 AND since + most + cardinality(its_does)
        ORDER BY position
    ) l;
    COMMIT;
    PERFORM pg_logical_emit_message(true, 'dedup', '');
END $$
"""
)

_CALL = (
    f"CALL @.claim(%s, %s, {2 * '%s::bigint[], '}%s::varbit[], %s::bigint[], {2 * '%b::bytea[], '}"
    "%s, NULL, NULL, NULL, NULL, NULL)"
)

# Appends an entry that adds so many rows, and may change any verdict; for who alone may append.
_APPEND = (
    "WITH now AS (UPDATE @.state SET position = position + 1, rows = rows + %s "
    "RETURNING position, rows) INSERT INTO @.log (position, row, matters, does) "
    "SELECT position, rows - %s + 1, true, %s FROM now RETURNING position, stamp"
)

_TABLES = (
    "CREATE TABLE @.meta (name text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE @.state (position bigint NOT NULL, rows bigint NOT NULL) WITH (fillfactor = 10)",
    "INSERT INTO @.state VALUES (0, 0)",
    "CREATE TABLE @.log (position bigint PRIMARY KEY, stamp bigint NOT NULL DEFAULT random() * 4e18, "
    "row bigint NOT NULL, matters boolean NOT NULL, does bytea NOT NULL, scope bigint, keys bigint[], "
    "code varbit) WITH (toast_tuple_target = 4000)",  # whole in its place, which is read twice as fast
    "ALTER TABLE @.log ALTER does SET STORAGE EXTERNAL",  # not worth the time of packing them
    "CREATE TABLE @.texts (row bigint PRIMARY KEY, page bytea NOT NULL)",
    "CREATE TABLE @.leases (run bigint PRIMARY KEY, until timestamptz NOT NULL)",
    _CLAIM,
)


class Server:
    """A connection to the index at *address*, made anew after it was cut.

    In statements, ``@.`` stands for the schema.  Raises `IndexUnavailable` for all that goes wrong.
    """

    def __init__(self, address: Address) -> None:
        self.name, self.schema = address.name, address.schema
        self._conninfo = address.conninfo
        self._timeout: float | None = None
        self._is_inside = False
        self._connection: Connection | None = None
        self._is_pooled = False

    def execute(self, text: str, values: Sequence[Any] | None = None) -> Cursor[tuple[Any, ...]]:
        """Run a statement with what it takes, or several that take nothing."""
        with self.errors():
            query: Any = text.replace("@.", f'"{self.schema}".')
            return self._connected().execute(query, values, binary=values is not None)

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Make one transaction of what is inside: the statements *begin* come first."""
        with self.errors():
            connection = self._connected()  # one that was cut is made anew here, and not inside
        self._is_inside = True
        try:
            # Through a pool, the session does not limit it.
            is_limited = self._is_pooled and self._timeout is not None
            self.execute(f"{begin}; {self._limits('SET LOCAL')}" if is_limited else begin)
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        finally:
            self._is_inside = False

    def forbids(self) -> str:
        """Return why nothing may be written to the tables here, "" where it may."""
        ((is_reading, may_write),) = self.execute(
            "SELECT current_setting('transaction_read_only'), bool_and(has_table_privilege(c.oid, p)) "
            "FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p "
            "WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s) "
            "AND relname IN ('log', 'state', 'texts', 'leases')",  # and not those of others
            (self.schema,),
        )
        if is_reading == "on":
            return _EXPLANATIONS[errors.ReadOnlySqlTransaction]
        return _EXPLANATIONS[errors.InsufficientPrivilege] if may_write is False else ""

    def wait_at_most(self, seconds: float) -> None:
        """Let no statement take longer than that, from now on."""
        self._timeout = seconds
        self.close()  # a connection is limited when it is made

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> Connection:
        if self._connection is None or (self._connection.closed and not self._is_inside):
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Connection:
        connection = Connection.connect(
            self._conninfo,
            autocommit=True,
            client_encoding="UTF8",
            connect_timeout=CONNECT_TIMEOUT,
            application_name="scrapy-dedup",
        )
        try:
            # One type of numbers, whatever their size: else each size would have a statement of its own.
            connection.adapters.register_dumper(int, Int8Dumper)
            if connection.info.server_version < OLDEST:
                raise IndexUnavailable(f"{self.name}: PostgreSQL 14 or newer is needed")
            if connection.info.parameter_status("server_encoding") != "UTF8":
                raise IndexUnavailable(f"{self.name}: the encoding of the database must be UTF8")
            # A pool does not tell whose session this is.
            ((session,),) = connection.execute("SELECT pg_backend_pid()", prepare=False)
            self._is_pooled = session != connection.info.backend_pid
            if self._is_pooled:
                connection.prepare_threshold = None
            if self._timeout is not None:
                connection.patience = self._timeout + _MARGIN
                if not self._is_pooled:
                    connection.execute(self._limits("SET"))
        except BaseException:
            connection.close()
            raise
        return connection

    def _limits(self, how: str) -> str:
        most = int(1000 * (self._timeout or 0))
        return (
            f"{how} statement_timeout = {most}; {how} lock_timeout = {most * 9 // 10}; "
            f"{how} idle_in_transaction_session_timeout = {int(1000 * SILENCE)}"
        )

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

    # The log

    def begin(self, *, create: bool) -> str:
        """Return the name that no other index has; make the tables with *create* if there are none."""
        if (found := self._meta()) is None:
            if not create:
                why = "there is no index here yet; a crawl with dedup makes it"
                raise IndexUnavailable(f"{self.name}: {why}")
            with self.transaction(f"BEGIN; SELECT pg_advisory_xact_lock({LOCK_CLASS}, 0)"):
                found = self._meta() or self._make()  # another client may have been faster
        version, name = found.get("version", ""), found.get("id")
        if not (version.isdecimal() and name):
            raise IndexUnavailable(f"{self.name}: the tables in this schema are not those of an index")
        if int(version) != SCHEMA_VERSION:
            raise IndexUnavailable(
                f"{self.name} has schema version {version}, this release reads {SCHEMA_VERSION}; "
                "use that release, or another DEDUP_INDEX"
            )
        return name

    def _meta(self) -> dict[str, str] | None:
        text = "SELECT FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'meta'"
        if self.execute(text, (self.schema,)).fetchone() is None:
            return None
        return dict(self.execute("SELECT name, value FROM @.meta"))

    def _make(self) -> dict[str, str]:
        made = {"version": str(SCHEMA_VERSION), "id": token_hex(16)}
        text = "SELECT FROM pg_namespace WHERE nspname = %s"
        if self.execute(text, (self.schema,)).fetchone() is None:
            self.execute(f'CREATE SCHEMA "{self.schema}"')
        for statement in _TABLES:
            self.execute(statement)
        for name_and_value in made.items():
            self.execute("INSERT INTO @.meta VALUES (%s, %s)", name_and_value)
        return made

    def since(self, position: int, stamp: int) -> Iterator[list[Entry]]:
        """Yield the entries from that one on in batches; raises `OtherLog` if the server has another."""
        text = "SELECT position, stamp, row, does FROM @.log WHERE position >= %s ORDER BY 1 LIMIT %s"
        while True:
            found: list[Any] = self.execute(text, (position, _SINCE)).fetchall()
            if position and (not found or found[0][:2] != (position, stamp)):
                raise OtherLog(f"{self.name}: {OTHER_LOG}")
            if len(found) > bool(position):
                yield found
            if len(found) < _SINCE:
                return
            position, stamp, *_ = found[-1]


# Of errors that the server tells, those that may be over the next time: connections, resources, being
# shut down, deadlocks, an answer that takes too long, a standby that is not the first one yet, silence.
_PASSING = ("08", "53", "57", "40", "55", "25006", "25P03")
_RAISED = "P0001"  # by the procedure alone
_BUSY = ("starting up", "shutting down", "recovery", "too many", "connection slots", "terminating")


def _kind_of(error: psycopg.Error) -> type[IndexUnavailable]:
    if error.sqlstate == _RAISED:
        return OtherLog
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
    errors.QueryCanceled: "the server has not answered in time; see its load, and its statement_timeout",
    errors.LockNotAvailable: "another process held the index for too long; end one that is stopped",
    errors.InsufficientPrivilege: (
        "the role may not do this here; docs/how-to/many-machines.md has the statements that let it"
    ),
    errors.ReadOnlySqlTransaction: (
        "the server only reads; name the one that writes, as by target_session_attrs=read-write"
    ),
    errors.DiskFull: "the disk of the server is full; make room there",
}


_QUIET, _PATIENCE = 10.0, 600.0  # seconds to wait for who makes the file, before saying so and after
# For a file that nobody else knows yet.
_QUICK = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", f"PRAGMA mmap_size = {1 << 40}")
READ = "log"  # the note that says how far the file has read the log
LEASE = 60.0  # seconds that a lease lasts
_RENEWALS = 4  # in that time
_UNTIL = "clock_timestamp() + %s * interval '1 second'"


class Replica(Store):
    """The store at *address*, as `PostgresIndex`.

    Many clients search without a lock (`is_shared`).  Who adds learns if something was added since that
    matters; what concerns more than one row is done by one client at a time.
    """

    def __init__(self, address: Address, *, create: bool = True, read_only: bool = False) -> None:
        self._server = Server(address)
        self._on_server = ServerLeases(self, self._server, Server(address))
        self._does: list[Any] | None = None  # what a transaction does; None outside of one
        self._is_beside = False  # whether that is done only when it is read
        try:
            forbidden = "" if read_only else self._server.forbids()
            if forbidden and create:
                raise IndexUnavailable(f"{self._server.name}: {forbidden}")
            self.is_read_only = read_only or bool(forbidden)
            self._why_not = forbidden or "the index was opened to read only"
            self._open(create=create and not self.is_read_only)
        except BaseException:
            self._server.close()
            raise

    def _open(self, *, create: bool = False) -> None:
        """Open the file of this machine, or make it anew where the server has another log by now."""
        path = _folder() / _file_of(self._server.begin(create=create), self._server.name)
        lock = FileLock(f"{path}.lock")
        try:
            try:
                lock.acquire(timeout=_QUIET)
            except Timeout:
                logger.warning("%s: this waits for another process to make %s", self._server.name, path)
                lock.acquire(timeout=_PATIENCE)
            if path.exists():
                with suppress(OtherLog):
                    self._open_file(path)
                    return
            self._make_file(path)
            self._open_file(path)
        except Timeout:
            why = f"another process held {lock.lock_file} for too long; end one that is stopped"
            raise ServerAway(f"{self._server.name}: {why}") from None
        finally:
            lock.release()

    def _make_file(self, path: Path) -> None:
        """Make the file, beside its place: without a journal, and with its large indexes at the end."""
        new = path.with_suffix(".new")
        _remove(new)
        super().__init__(new)
        try:
            for statement in (*_QUICK, *map("DROP INDEX {}".format, LARGE_INDEXES)):
                self.fetch(statement)
            with ThreadPoolExecutor(1) as reader:  # the next entries come while these are done
                batches = self._server.since(*self.position())
                coming = reader.submit(next, batches, None)
                while entries := coming.result():
                    coming = reader.submit(next, batches, None)
                    self._do(entries)
            for statement in LARGE_INDEXES.values():
                self.fetch(statement)
        finally:
            super(Store, self).close()
        # A log that an old file has left beside it would be taken for one of the new file.
        _remove(path)
        new.replace(path)

    def _open_file(self, path: Path) -> None:
        super().__init__(path)
        self.name, self.leases = self._server.name, self._on_server
        # What was claimed may be in the log already, as with a lost answer of the server.
        self.busy = ServerAway
        try:
            self._read()
        except BaseException:
            super(Store, self).close()
            raise

    def _open_again(self) -> None:
        """Follow the log that the server has by now: it may have lost its end, or was restored."""
        super(Store, self).close()
        self._open()
        self.undone += 1

    # Reading the log

    def position(self) -> tuple[int, int]:
        found = self.fetch("SELECT value FROM meta WHERE name = ?", (READ,))  # as `note`, but faster
        position, stamp = found[0][0].split() if found else (0, 0)
        return int(position), int(stamp)

    def _note(self, position: int, stamp: int, *_: Any) -> None:
        super()._change("put Note", (READ, f"{position} {stamp}"))

    def _read(self) -> None:
        for entries in self._server.since(*self.position()):
            self._do(entries)

    def _do(self, entries: Sequence[Entry]) -> None:
        """Do what *entries* say, in their order; those that were done are left out."""
        with super().transaction(writing=True):
            at, _ = self.position()
            new = [entry for entry in entries if entry[0] > at]
            for position, _, row, does in new:
                self._numbers = count(row)
                try:
                    for change in unpackb(does, use_list=False):
                        super()._change(*change)
                except (LookupError, TypeError, ValueError) as error:
                    raise Damaged(f"entry {position} of the log cannot be read") from error
            if new:
                self._note(*new[-1])

    def transaction(self, *, writing: bool, beside: bool = False) -> AbstractContextManager[None]:
        if not writing or self.is_inside:
            return super().transaction(writing=False)
        if self.is_read_only:
            raise IndexUnavailable(f"{self.name}: {self._why_not}")
        return self._writing_beside() if beside else self._writing()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Change the file and the log, while nobody else changes the log."""
        with ExitStack() as remote:
            try:
                self._read()
            except OtherLog:
                self._open_again()
            # From here on nobody else appends.
            remote.enter_context(self._server.transaction("BEGIN ISOLATION LEVEL READ COMMITTED"))
            ((rows,),) = self._server.execute("SELECT rows FROM @.state FOR UPDATE")
            self._read()
            self._numbers = count(rows + 1)
            self._does = []
            try:
                with super().transaction(writing=True):
                    yield
                    if self._does:
                        added = sum(name == "add" for name, *_ in self._does)
                        given = added, added, packb(self._does)
                        self._note(*self._server.execute(_APPEND, given).fetchall()[0])
                    remote.close()
            finally:
                self._does = None

    @contextmanager
    def _writing_beside(self) -> Iterator[None]:
        """Change the log, and then the file: nobody waits for the log while others wait for the file."""
        self._does, self._is_beside = [], True
        try:
            with super().transaction(writing=False):
                yield
            does = self._does
        finally:
            self._does, self._is_beside = None, False
        while does and not self._claimed([packb(does)], self.position()):
            pass

    def _change(self, name: str, values: Any) -> Any:
        # Outside of a transaction it is one of its own.
        with self.transaction(writing=True) if self._does is None else nullcontext():
            assert self._does is not None
            self._does.append((name, values))
            return None if self._is_beside else super()._change(name, values)

    @property
    def is_shared(self) -> bool:
        return not (self.is_inside or self.is_read_only)

    def add(self, row: Row, page: bytes = b"") -> Row:
        self._check_run(row)
        return super().add(row, page)

    def claim(self, rows: Sequence[Row], seen: Hashable, pages: Sequence[bytes]) -> list[int]:
        self._check_run(min(rows, key=lambda row: row.outcome is not Outcome.PENDING))
        assert isinstance(seen, tuple)
        does = [packb([("add", (*row.sighting.group, *values_of(row)))]) for row in rows]
        return self._claimed(does, seen, [row.sighting for row in rows], pages)

    def _claimed(
        self,
        does: Sequence[bytes],
        since: tuple[int, int],
        seen: Sequence[Sighting] = (),
        pages: Sequence[bytes] = (b"",),
    ) -> list[int]:
        """Append entries; of those that add the pages *seen* the first, to which nothing may matter.

        Do all after the position and stamp *since*; return the first rows of the new ones, which are on
        the disk of the server.
        """
        keys = [*zip(*map(claim_keys, seen), strict=True)] or [(None,)] * 4
        arrays = [json.dumps(one).translate(_BRACES) for one in keys]  # psycopg takes longer
        given = *since, *arrays, list(does), list(pages), AT_ONCE
        try:
            ((new, *found),) = self._server.execute(_CALL, given)
        except OtherLog:
            self._open_again()
            return []
        entries: list[Entry] = [*zip(*(part or () for part in found), strict=True)]
        self._do(entries)
        if len(entries) > AT_ONCE:  # and there may be more
            self._read()
        return [row for _, _, row, _ in entries[len(entries) - new :]]

    def _check_run(self, row: Row) -> None:
        """Raise `RunEnded` if others have ended the run of *row*, and settled what was pending."""
        text = "SELECT ended IS NOT NULL AND NOT is_imported FROM runs WHERE id = ?"
        found = self.fetch(text, (row.sighting.run,))
        if not found and self._does is None:
            raise IndexUnavailable(f"{self.name}: {OTHER_LOG}")
        if found and found[0][0] and row.outcome is Outcome.PENDING:
            raise RunEnded(f"{self.name}: the run was ended by others, who took this process for dead")

    def _of_pages(self, text: str, *values: Any) -> Any:
        among = "IN (SELECT value::bigint FROM json_array_elements_text(%s))"
        text = text.replace(AMONG, among).replace("?", "%s").replace("BLOB", "bytea")
        return self._server.execute(text.replace("stored_pages", "@.texts"), values)

    def _bytes(self) -> int:
        ((size,),) = self._server.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@.log'::regclass)"
        ).fetchall()
        return int(size)

    def wait_at_most(self, seconds: float) -> None:
        self._server.wait_at_most(seconds)
        super().wait_at_most(seconds)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._server.close()


def _folder() -> Path:
    """Return the folder for files that can be made anew, one of this process alone if there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scrapy-dedup"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="scrapy-dedup-"))


def _file_of(log: str, name: str) -> str:
    return f"{log}-{digest(name.encode()).hex()[:8]}.db"


def last_replica(address: Address) -> Path | None:
    """Return the file of this machine that followed the log at *address* last, None if there is none."""
    found = _folder().glob(_file_of("*", address.name))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


class ServerLeases(Leases):
    """The leases of runs on *server*, which a thread renews over its *own* connection."""

    def __init__(self, replica: Store, server: Server, own: Server) -> None:
        super().__init__(replica)
        self._server, self._own, self._seconds = server, own, LEASE
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
        text = f"UPDATE @.leases SET until = {_UNTIL} WHERE run = ANY(%s)"
        self._own.wait_at_most(every)
        while not self._closed.wait(every):
            try:
                self._own.execute(text, (self._seconds, list(self._held)))
            except IndexUnavailable as error:  # the next time may come before the lease is over
                logger.debug("Leases could not be renewed: %s", error)
            self._own.close()
