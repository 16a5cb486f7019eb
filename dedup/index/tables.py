"""The tables of an index, and how their rows become values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from dedup.fingerprints import Fingerprint
from dedup.index import chunks, postings
from dedup.index.base import Glance, Row, Sighting, Tally, is_canonical
from dedup.index.database import META
from dedup.index.files import Damaged
from dedup.sketch import BINS
from dedup.verdict import Canonical, Outcome, Reason, Verdict
from dedup.words import signed, unsigned

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 3

_STORED_PAGES = """CREATE TABLE stored_pages (
        row INTEGER PRIMARY KEY REFERENCES pages,
        page BLOB NOT NULL
    )"""
MIGRATIONS: dict[int, Sequence[str]] = {
    1: ("ALTER TABLE runs ADD COLUMN action TEXT NOT NULL DEFAULT 'drop'",),
    2: (_STORED_PAGES,),
}

SCHEMA = (
    META,
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        spider TEXT NOT NULL,
        job TEXT NOT NULL,
        settings TEXT NOT NULL,
        lock TEXT NOT NULL,
        started REAL NOT NULL,
        ended REAL,
        ending TEXT NOT NULL DEFAULT '',
        action TEXT NOT NULL DEFAULT 'drop'
    )""",
    """CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        UNIQUE (kind, scope)
    )""",
    """CREATE TABLE pages (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs,
        scope INTEGER NOT NULL REFERENCES scopes,
        url TEXT NOT NULL,
        url_key TEXT NOT NULL,
        time REAL NOT NULL,
        title TEXT NOT NULL,
        canonical_link TEXT NOT NULL,
        content INTEGER NOT NULL,
        structure INTEGER NOT NULL,
        sketch BLOB NOT NULL,
        body_digest BLOB NOT NULL,
        token_digest BLOB NOT NULL,
        tokens INTEGER NOT NULL,
        reason TEXT NOT NULL,
        kept INTEGER NOT NULL,
        content_distance INTEGER,
        structure_distance INTEGER,
        similarity REAL,
        canonical INTEGER REFERENCES pages,
        previous INTEGER REFERENCES pages,
        replaces INTEGER REFERENCES pages,
        outcome TEXT NOT NULL,
        listed INTEGER NOT NULL
    )""",
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    chunks.SCHEMA,
    _STORED_PAGES,
)

INSERT = (
    "INSERT INTO pages (run, scope, url, url_key, time, title, canonical_link, content, structure, "
    "sketch, body_digest, token_digest, tokens, reason, kept, content_distance, structure_distance, "
    f"similarity, canonical, previous, replaces, outcome, listed) VALUES ({','.join('?' * 23)})"
)
SELECT = (
    "SELECT p.id, p.run, s.kind, s.scope, p.url, p.url_key, p.time, p.title, p.canonical_link, "
    "p.content, p.structure, p.sketch, p.body_digest, p.token_digest, p.tokens, p.reason, p.kept, "
    "p.content_distance, p.structure_distance, p.similarity, p.canonical, p.previous, p.replaces, "
    "p.outcome, p.listed, c.url, c.run "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
SELECT_GLANCE = (
    "SELECT id, run, url, structure, reason, kept, content_distance, structure_distance, similarity, "
    "canonical, outcome, listed FROM pages WHERE id > ? ORDER BY id LIMIT ?"
)
SELECT_CANONICAL = (
    "SELECT id, url, run, outcome, content, structure, sketch, body_digest, token_digest, tokens "
    "FROM pages WHERE scope = ?1 AND listed "
)

# What must be so in every row.  Some columns may be NULL, then they have nothing to be wrong about.
_RULES = {
    "text": "typeof({0}) = 'text'",
    "number": "typeof({0}) = 'integer'",
    "fraction": "typeof({0}) = 'real'",
    "digest": "typeof({0}) = 'blob' AND length({0}) IN (0, 16)",
    "sketch": f"typeof({{0}}) = 'blob' AND length({{0}}) = {BINS}",
    "reason": f"{{0}} IN ({','.join(repr(str(reason)) for reason in Reason)})",
    "outcome": f"{{0}} IN ({','.join(repr(str(outcome)) for outcome in Outcome)})",
    "flag": "typeof({0}) = 'integer' AND {0} IN (0, 1)",
}
_COLUMNS = {
    "text": ("url", "url_key", "title", "canonical_link"),
    "number": (
        *("run", "scope", "content", "structure", "tokens", "content_distance"),
        *("structure_distance", "canonical", "previous", "replaces"),
    ),
    "fraction": ("time", "similarity"),
    "digest": ("body_digest", "token_digest"),
    "sketch": ("sketch",),
    "reason": ("reason",),
    "outcome": ("outcome",),
    "flag": ("kept", "listed"),
}
DAMAGED_ROWS = (
    "SELECT count(*), min(id) FROM pages WHERE NOT ("
    + " AND ".join(
        f"({column} IS NULL OR {_RULES[kind].format(column)})"
        for kind, columns in _COLUMNS.items()
        for column in columns
    )
    + ")"
)


def create(connection: sqlite3.Connection, blocks: int) -> None:
    """Make the tables of an index whose posting lists have that many blocks."""
    postings.layout(blocks)  # refuses wrong numbers
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))


def values_of(sighting: Sighting, verdict: Verdict, scope: int, outcome: Outcome) -> tuple[Any, ...]:
    """Return what `INSERT` takes; *scope* is the number of its group."""
    page = sighting.fingerprint
    return (
        *(sighting.run, scope, sighting.url, sighting.url_key, sighting.time),
        *(sighting.title, sighting.canonical_link),
        *(signed(page.content), signed(page.structure), page.sketch),
        *(page.body_digest, page.token_digest, page.tokens),
        *(verdict.reason, verdict.kept, verdict.content_distance, verdict.structure_distance),
        *(verdict.similarity, verdict.canonical, verdict.previous, verdict.replaces),
        *(outcome, is_canonical(verdict)),
    )


def row_of(fields: Sequence[Any]) -> Row:
    """Return the row behind what `SELECT` gave; raises `Damaged`."""
    try:
        return _row_of(fields)
    except (TypeError, ValueError) as error:
        raise Damaged(f"row {fields[0]}: {error}") from error


def _row_of(fields: Sequence[Any]) -> Row:
    row, run, kind, scope, url, key, seen_at, title, link = fields[:9]
    reason, kept, content, structure, similarity = fields[15:20]
    canonical, previous, replaces, outcome, listed, canonical_url, canonical_run = fields[20:]
    _require(int | None, content, structure)
    _require(float | None, similarity)
    verdict = Verdict(
        Reason(reason),
        bool(kept),
        content,
        structure,
        similarity,
        canonical=canonical,
        canonical_url=canonical_url or "",
        canonical_run=canonical_run,
        previous=previous,
        replaces=replaces,
        row=row,
    )
    page = _fingerprint(fields[9:15])
    sighting = Sighting(page, url, key, kind, scope, run, seen_at, title, link)
    return Row(row, sighting, verdict, Outcome(outcome), bool(listed))


def glance_from(fields: Sequence[Any]) -> Glance:
    """Return what `SELECT_GLANCE` gave of a row; raises `Damaged`."""
    row, run, url, structure, reason, kept, content_distance, distance, similarity, *rest = fields
    canonical, outcome, listed = rest
    try:
        _require(int, structure)
        _require(str, url)
        _require(int | None, content_distance, distance, canonical)
        _require(float | None, similarity)
        reason, outcome = str(Reason(reason)), str(Outcome(outcome))
    except (TypeError, ValueError) as error:
        raise Damaged(f"row {row}: {error}") from error
    distances = content_distance, distance, similarity
    return Glance(
        row, run, url, unsigned(structure), reason, kept, *distances, canonical, outcome, listed
    )


def tally_from(fields: Sequence[Any]) -> Tally:
    """Return the tally of some rows; raises `Damaged`."""
    run, site, reason, kept, outcome, rows = fields
    try:
        return Tally(run, site, Reason(reason), bool(kept), Outcome(outcome), rows)
    except ValueError as error:
        raise Damaged(f"some rows: {error}") from error


def canonical_of(fields: Sequence[Any]) -> Canonical:
    """Return the canonical behind what `SELECT_CANONICAL` gave; raises `Damaged`."""
    row, url, run, outcome, *page = fields
    try:
        return Canonical(row, url, run, outcome == Outcome.PENDING, _fingerprint(page))
    except (TypeError, ValueError) as error:
        raise Damaged(f"row {row}: {error}") from error


def _fingerprint(fields: Sequence[Any]) -> Fingerprint:
    content, structure, *rest = fields
    _require(int, content, structure)
    return Fingerprint(unsigned(content), unsigned(structure), *rest)


def _require(kind: Any, *values: object) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r:.40} is none of {kind}")
