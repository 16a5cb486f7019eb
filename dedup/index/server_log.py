"""The log of an index on PostgreSQL: everything that was ever changed in it, one entry after the other.

Who writes takes the lock of the one row of `state` for a moment, so entries are seen in the order of
their positions, without gaps.  `stamp` tells an entry from another one at its position before the server
was restored.  An entry that adds one page has what tells whether another page may have to be compared
with it; one that *matters* may change any verdict.  Texts of pages are beside it, to be removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from secrets import randbits, token_hex
from typing import Any, NamedTuple

from dedup.index.server import LOCK_CLASS, Server
from dedup.model.errors import IndexUnavailable, ServerLost
from dedup.model.fingerprint import BINS, Sighting
from dedup.model.hashes import murmur3, signed
from dedup.rule.loss import MIN_EQUAL_TOKENS, MIN_SIMILARITY

# Also of what stands in entries: rows as `dedup.index.rows.INSERT` takes them.
SCHEMA_VERSION = 8
# So many entries are read at once.
_AT_ONCE = 1_000
# The codes of two bytes of sketches differ in so many bits, or in none: two bytes share each.
_APART = 2
_ROUNDING = 1e-6
_CODES = ("000", "011", "101", "110") * 64
_STAMP_BITS = 62
_ENTRIES = "SELECT position, stamp, row, does FROM @.log"
RESTORED = "the index on the server was restored or made anew meanwhile; begin the crawl again"


class Restored(IndexUnavailable):
    """The server has another log than the one that was read so far."""


class Entry(NamedTuple):
    """An entry of the log: what it *does* begins with the row number *row* where it adds rows."""

    position: int
    stamp: int
    row: int
    does: bytes


def keys_of(seen: Sighting) -> tuple[Any, ...]:
    """Return what tells whether *seen* may have to be compared with another page, as `claim` takes it.

    That is its scope, URL, key, bytes and text, 0 for what it has not; a code of three bits a byte
    of its sketch, and in how many bits at most that of a page that may be like it differs.
    """
    page = seen.fingerprint
    # So many bins are filled in either of two pages that are alike, and a share that is no less is equal
    # in both.
    either = min(BINS, (BINS - page.sketch.count(0)) / MIN_SIMILARITY)
    return (
        _hash(f"{seen.kind} {seen.scope}"),
        _hash(seen.url_key) if seen.url_key else 0,
        _hash(seen.item_key) if seen.item_key else 0,
        _number(page.body_digest),
        _number(page.token_digest) if page.tokens >= MIN_EQUAL_TOKENS else 0,
        "".join(map(_CODES.__getitem__, page.sketch)),
        _APART * int(either * (1 - MIN_SIMILARITY) + _ROUNDING),
    )


def apart(seen: Sequence[Sighting]) -> int:
    """Return how many of the first pages *seen* need not be compared with each other."""
    known: set[tuple[Any, ...]] = set()
    codes: list[tuple[Any, int]] = []
    for number, (scope, *keys, code, unlike) in enumerate(map(keys_of, seen)):
        own, bits = {(scope, at, key) for at, key in enumerate(keys) if key}, int(code, 2)
        if own & known or any(of == scope and (bits ^ it).bit_count() <= unlike for of, it in codes):
            return number
        known |= own
        codes.append((scope, bits))
    return len(seen)


def _hash(text: str) -> int:
    return signed(murmur3(text))


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big", signed=True)


# Appends entries, and returns them with those after `since`; of those that add pages, which have scopes,
# only the first ones to which none of these may matter.  The lock is not held while the disk writes: an
# entry is seen at once, and a second transaction waits for the disk.  Positions are asked for from one
# to another: without an end the planner, which does not know how much is new, reads the whole log.
_CLAIM = (
    """
CREATE PROCEDURE @.claim(since bigint, since_stamp bigint, its_scope bigint[], its_url bigint[],
    its_item bigint[], its_body bigint[], its_text bigint[], its_code varbit[], unlike bigint[],
    its_stamp bigint[], its_does bytea[], its_page bytea[], most bigint, waits boolean,
    OUT positions bigint[], OUT stamps bigint[], OUT its_rows bigint[], OUT entries bytea[])
LANGUAGE plpgsql AS $$
DECLARE
    last @.state;
    added integer := 0;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SET LOCAL synchronous_commit = off;
    SELECT * FROM @.state FOR UPDATE INTO last;
    IF since > 0 AND NOT EXISTS (
        SELECT FROM @.log l WHERE l.position = since AND l.stamp = since_stamp
    ) THEN
        RAISE EXCEPTION '%', '"""
    + RESTORED
    + """';
    END IF;
    FOR i IN 1 .. cardinality(its_does) LOOP
        EXIT WHEN its_scope[i] IS NOT NULL AND (last.position - since > most OR EXISTS (
            SELECT FROM @.log l WHERE l.position BETWEEN since + 1 AND last.position
            AND (l.matters OR (l.scope = its_scope[i] AND (
                (l.url = its_url[i] AND its_url[i] <> 0) OR (l.item = its_item[i] AND its_item[i] <> 0)
                OR l.body = its_body[i] OR (l.text = its_text[i] AND its_text[i] <> 0)
                OR bit_count(l.code # its_code[i]) <= unlike[i])))));
        INSERT INTO @.log VALUES (last.position + i, its_stamp[i], last.rows + i, false, its_does[i],
            its_scope[i], its_url[i], its_item[i], its_body[i], its_text[i], its_code[i]);
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
    IF waits THEN
        PERFORM pg_logical_emit_message(true, 'dedup', '');
    END IF;
END $$
"""
)

_CALL = (
    f"CALL @.claim(%s, %s, {5 * '%s::bigint[], '}%s::varbit[], {2 * '%s::bigint[], '}"
    f"{2 * '%s::bytea[], '}%s, %s, NULL, NULL, NULL, NULL)"
)

_TABLES = (
    "CREATE TABLE @.meta (name text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE @.state (position bigint NOT NULL, rows bigint NOT NULL) WITH (fillfactor = 10)",
    "INSERT INTO @.state VALUES (0, 0)",
    "CREATE TABLE @.log (position bigint PRIMARY KEY, stamp bigint NOT NULL, row bigint NOT NULL, "
    "matters boolean NOT NULL, does bytea NOT NULL, scope bigint, url bigint, item bigint, body bigint, "
    "text bigint, code varbit)",
    # Not worth the time of packing them.
    "ALTER TABLE @.log ALTER does SET STORAGE EXTERNAL",
    "CREATE TABLE @.texts (row bigint PRIMARY KEY, page bytea NOT NULL)",
    "CREATE TABLE @.leases (run bigint PRIMARY KEY, until timestamptz NOT NULL)",
    _CLAIM,
)


class ServerLog:
    """The log on *server*, made there with *create* if there is none; raises `IndexUnavailable`."""

    def __init__(self, server: Server, *, create: bool) -> None:
        self._server = server
        found = self._version()
        if found is None and not create:
            raise IndexUnavailable(
                f"{server.name}: there is no index here yet; a crawl with dedup makes it"
            )
        if found is None:
            with server.transaction(f"BEGIN; SELECT pg_advisory_xact_lock({LOCK_CLASS}, 0)"):
                found = self._version() or self._make()  # another client may have been faster
        if found != SCHEMA_VERSION:
            raise IndexUnavailable(
                f"{server.name} has schema version {found}, this release reads {SCHEMA_VERSION}; "
                "use that release, or another DEDUP_INDEX"
            )

    def _version(self) -> int | None:
        server = self._server
        text = "SELECT FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'meta'"
        if server.execute(text, (server.schema,)).fetchone() is None:
            return None
        found = server.execute("SELECT value FROM @.meta WHERE name = 'version'").fetchone()
        if found is None or not str(found[0]).isdecimal():
            raise IndexUnavailable(f"{server.name}: the tables in this schema are not those of an index")
        return int(found[0])

    def _make(self) -> int:
        server = self._server
        text = "SELECT FROM pg_namespace WHERE nspname = %s"
        if not server.execute(text, (server.schema,)).fetchone():
            server.execute(f'CREATE SCHEMA "{server.schema}"')
        for statement in _TABLES:
            server.execute(statement)
        text = "INSERT INTO @.meta VALUES ('version', %s), ('id', %s)"
        server.execute(text, (str(SCHEMA_VERSION), token_hex(16)))
        return SCHEMA_VERSION

    def id(self) -> str:
        """Return the name that no other index has."""
        found = self._server.execute("SELECT value FROM @.meta WHERE name = 'id'").fetchone()
        if found is None:
            raise IndexUnavailable(f"{self._server.name}: the index has lost its id; restore a dump")
        return str(found[0])

    def since(self, position: int, stamp: int) -> Iterator[list[Entry]]:
        """Yield the entries after that one in batches; raises `Restored` if the server has another."""
        text = f"{_ENTRIES} WHERE position >= %s ORDER BY position LIMIT %s"
        while True:
            found = [Entry(*one) for one in self._server.execute(text, (position, _AT_ONCE)).fetchall()]
            if position and (not found or found[0][:2] != (position, stamp)):
                raise Restored(f"{self._server.name}: {RESTORED}")
            new = found[1:] if position else found
            if new:
                yield new
            if len(found) < _AT_ONCE:
                return
            position, stamp = found[-1].position, found[-1].stamp

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Let nobody else append; yield how many rows there are."""
        with self._server.transaction("BEGIN ISOLATION LEVEL READ COMMITTED"):
            found = self._server.execute("SELECT rows FROM @.state FOR UPDATE").fetchone()
            assert found is not None
            yield int(found[0])

    def append(self, does: bytes, *, rows: int) -> Entry:
        """Append an entry that adds so many *rows*, and may change any verdict; inside `locked`."""
        stamp = randbits(_STAMP_BITS)
        found = self._server.execute(
            "WITH now AS (UPDATE @.state SET position = position + 1, rows = rows + %s "
            "RETURNING position, rows) INSERT INTO @.log (position, stamp, row, matters, does) "
            "SELECT position, %s, rows - %s + 1, true, %s FROM now RETURNING position, row",
            (rows, stamp, rows, does),
        ).fetchone()
        assert found is not None
        return Entry(found[0], stamp, found[1], does)

    def claim(
        self,
        does: Sequence[bytes],
        since: tuple[int, int],
        seen: Sequence[Sighting] = (),
        pages: Sequence[bytes] = (b"",),
        *,
        waits: bool = True,
    ) -> tuple[list[Entry], int]:
        """Append entries; of those that add the pages *seen* the first, to which nothing may matter.

        Returns the entries after the position and stamp *since*, the new ones last, and how many these
        are.  They are on the disk of the server, unless nobody *waits* for that: then after `flush`.
        """
        stamps = [randbits(_STAMP_BITS) for _ in does]
        keys = [list(one) for one in zip(*map(keys_of, seen), strict=True)] or [[None]] * 7
        given = (*since, *keys, stamps, list(does), list(pages), _AT_ONCE, waits)
        try:
            found = self._server.execute(_CALL, given).fetchone()
        except IndexUnavailable as error:
            if RESTORED in str(error):
                raise Restored(str(error)) from None
            raise
        assert found is not None
        entries = [Entry(*one) for one in zip(*(part or () for part in found), strict=True)]
        return entries, sum(entry.stamp in stamps for entry in entries)

    def flush(self, position: int, stamp: int) -> None:
        """Wait until all is on the disk of the server; raises `ServerLost` if it has lost that entry."""
        found = self._server.execute(
            "SELECT EXISTS (SELECT FROM @.log WHERE position = %s AND stamp = %s), "
            "pg_logical_emit_message(true, 'dedup', '')",
            (position, stamp),
        ).fetchone()
        if not (found and found[0]):
            raise ServerLost(f"{self._server.name}: the server was stopped and has lost what came last")
