"""The tables of an index, column by column: the one place that knows what stands in them.

The SQL, the checks of `dedup check`, the readers of `dedup.index.rows` and the keys of an export
follow from `PAGES` and its like.  A new column is a line here, a migration, and a field of the value
that it belongs to.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import replace
from typing import Any

from dedup.index import chunks, postings
from dedup.index.columns import (
    BYTES,
    CHECK_SKETCH,
    COUNT,
    DIGEST,
    DISTANCE,
    FLAG,
    NUMBER,
    OUTCOME,
    REASON,
    ROW,
    RUN,
    SAMPLE,
    SIMHASH,
    SIMILARITY,
    SKETCH,
    STANDING,
    TEXT,
    TIME,
    URLS,
    Column,
    Kind,
    Table,
)
from dedup.index.database import Migrations
from dedup.values.hashes import SECRET_SIZE

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 1

ID = Column("id", NUMBER, "id", constraint="PRIMARY KEY")
_RUN = Column("run", RUN, "run", constraint="REFERENCES runs")
_ROW = Column("row", ROW, "row", constraint="REFERENCES pages")


def _simhash(name: str, export: str) -> Column:
    return Column(name, SIMHASH, f"sighting.fingerprint.{name}", export)


def _of_page(name: str, kind: Kind, **more: Any) -> Column:
    return Column(name, kind, f"sighting.fingerprint.{name}", name, **more)


def _of_sighting(name: str, kind: Kind, **more: Any) -> Column:
    return Column(name, kind, f"sighting.{name}", name, **more)


def _of_verdict(name: str, kind: Kind, **more: Any) -> Column:
    return Column(name, kind, f"verdict.{name}", name, **more)


def _reference(name: str) -> Column:
    return _of_verdict(name, ROW, optional=True, constraint="REFERENCES pages")


PAGES = Table(
    "pages",
    (
        replace(ID, export="row"),
        replace(_RUN, field="sighting.run", export="run"),
        Column("scope", NUMBER, constraint="REFERENCES scopes"),
        _of_sighting("url", TEXT),
        Column("url_key", TEXT, "sighting.url_key"),
        _of_sighting("time", TIME),
        _of_sighting("title", TEXT),
        _of_sighting("canonical_link", TEXT),
        _simhash("content_simhash", "content"),
        _simhash("structure_simhash", "structure"),
        _of_page("sketch", SKETCH),
        _of_page("body_digest", DIGEST),
        _of_page("token_digest", DIGEST),
        _of_page("tokens", COUNT),
        _of_verdict("reason", REASON),
        _of_verdict("kept", FLAG),
        _of_verdict("content_distance", DISTANCE, optional=True),
        _of_verdict("structure_distance", DISTANCE, optional=True),
        _of_verdict("similarity", SIMILARITY, optional=True),
        _reference("canonical"),
        _reference("previous"),
        _reference("replaces"),
        _reference("represents"),
        Column("outcome", OUTCOME, "outcome", "outcome"),
        Column("listed", FLAG, "listed", "listed"),
        _of_sighting("item_key", TEXT, default=""),
        _of_sighting("redirects", URLS, default=()),
        _of_sighting("seen_on", TEXT, optional=True),
        Column("is_dry", FLAG, "sighting.is_dry", "dry", default=False),
        Column("is_elsewhere", STANDING, "verdict.standing", default=None),
        # It is keyed with the secret of one index: no other one can use it.
        Column("check_sketch", CHECK_SKETCH, "sighting.fingerprint.check_sketch", default=b""),
        _of_page("words", COUNT, default=0),
        _of_page("shingles", COUNT, default=0),
        _of_page("sample", SAMPLE, default=b""),
        _of_page("sentences", DIGEST, default=b""),
        _of_verdict("lost", COUNT, optional=True),
        _of_verdict("missing", COUNT, optional=True),
    ),
)
# A page is compared with those of its group only.
SCOPES = Table(
    "scopes",
    (replace(ID, field=""), _of_sighting("kind", TEXT), _of_sighting("scope", TEXT)),
    ("kind", "scope"),
)
RUNS = Table(
    "runs",
    (
        replace(ID, export="run"),
        Column("spider", TEXT, "spider", "spider"),
        Column("job", TEXT, "job", "job"),
        Column("settings", TEXT, "settings", "settings"),
        # The name of the lock file that its process holds.
        Column("lock", TEXT),
        Column("started", TIME, "started", "started"),
        Column("ended", TIME, "ended", "ended", optional=True),
        Column("ending", TEXT, "ending", "ending", default=""),
        Column("action", TEXT, "action", "action", default="drop"),
        Column("crawl", TEXT, "crawl", default=""),
        Column("began", NUMBER, "began", default=0),
        Column("over", NUMBER, "over", default=0),
    ),
)
# The page that a row was judged by.
STORED_PAGES = Table(
    "stored_pages",
    (
        replace(_ROW, constraint="PRIMARY KEY REFERENCES pages"),
        Column("page", BYTES, "page"),
    ),
)
# Which hosts a run has been on; *after* is the last row that there was before.
VISITS = Table(
    "visits",
    (
        Column("scope", TEXT, "scope"),
        Column("host", TEXT, "host"),
        _RUN,
        Column("after", NUMBER, "after"),
    ),
    ("scope", "host", "run"),
    "WITHOUT ROWID",
)
# What was not requested because of a copy, the page of *row*: its own request, where a callback was
# skipped, or one that it links to.
WITHHELD = Table(
    "withheld",
    (
        replace(ID, field=""),
        _RUN,
        _ROW,
        *(Column(name, TEXT, name) for name in ("url", "url_key", "what", "request")),
    ),
    ("run", "what", "url_key"),
)
# What the file knows about itself; every schema has this table.
META = Table(
    "meta",
    (Column("name", TEXT, "name", constraint="PRIMARY KEY"), Column("value", TEXT, "value")),
    options="WITHOUT ROWID",
)

# What brings a file of an older schema to the next one, by the version it has.
MIGRATIONS: Migrations = {}

SCHEMA = (
    META.create,
    RUNS.create,
    SCOPES.create,
    PAGES.create,
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    chunks.SCHEMA,
    STORED_PAGES.create,
    VISITS.create,
    WITHHELD.create,
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
)

INVALID = {
    "rows": PAGES.count_invalid,
    "runs": RUNS.count_invalid,
    "scopes": SCOPES.count_invalid,
    "visits": VISITS.count_invalid,
    "withheld": WITHHELD.count_invalid,
}
"""Statements that count those with invalid values and give the first one; of visits, its run."""


def create(connection: sqlite3.Connection, blocks: int) -> None:
    """Make the tables of an index whose posting lists have that many blocks."""
    postings.layout(blocks)  # refuses wrong numbers
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))
    connection.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_hex(SECRET_SIZE),))
