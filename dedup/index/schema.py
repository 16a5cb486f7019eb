"""The tables of an index, as SQL; `dedup.index.rows` says what may stand in them."""

from __future__ import annotations

import sqlite3
from secrets import token_hex

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 3
ID_SIZE = 16
# The note of a replica's file that says how far it has read the log.
READ = "log"
UNFINISHED = "unfinished"

# What the file knows about itself; every schema has this table.
META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
# Chunks of posting lists, see `dedup.index.blocks`.
POSTINGS = "CREATE TABLE postings (id INTEGER PRIMARY KEY, entries BLOB NOT NULL)"

SCHEMA = (
    META,
    # The lock is the name of the file that the process of a run holds.
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, spider TEXT NOT NULL, job TEXT NOT NULL, "
    "lock TEXT NOT NULL, started REAL NOT NULL, ended REAL, "
    "ending TEXT NOT NULL DEFAULT '', action TEXT NOT NULL DEFAULT 'drop', "
    "crawl TEXT NOT NULL DEFAULT '', began INTEGER NOT NULL DEFAULT 0)",
    # A page is compared with those of its group only.
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, scope TEXT NOT NULL, "
    "UNIQUE (kind, scope))",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, "
    "scope INTEGER NOT NULL REFERENCES scopes, url TEXT NOT NULL, url_key TEXT NOT NULL, "
    "time REAL NOT NULL, title TEXT NOT NULL, "
    "content_simhash INTEGER NOT NULL, structure_simhash INTEGER NOT NULL, sketch BLOB NOT NULL, "
    "body_digest BLOB NOT NULL, token_digest BLOB NOT NULL, tokens INTEGER NOT NULL, "
    "reason TEXT NOT NULL, kept INTEGER NOT NULL, content_distance INTEGER, "
    "structure_distance INTEGER, similarity REAL, canonical INTEGER REFERENCES pages, "
    "previous INTEGER REFERENCES pages, replaces INTEGER REFERENCES pages, "
    "represents INTEGER REFERENCES pages, outcome TEXT NOT NULL, listed INTEGER NOT NULL, "
    "item_key TEXT NOT NULL DEFAULT '', redirects TEXT NOT NULL DEFAULT '', seen_on TEXT, "
    "unjudged TEXT NOT NULL DEFAULT '', is_dry INTEGER NOT NULL DEFAULT 0, "
    "is_elsewhere INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0, "
    "shingles INTEGER NOT NULL DEFAULT 0, sample BLOB NOT NULL DEFAULT x'', "
    "sentences BLOB NOT NULL DEFAULT x'', inside INTEGER, traits BLOB NOT NULL DEFAULT x'', "
    "lost INTEGER, missing INTEGER, site_pages INTEGER, finding TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    POSTINGS,
    # The page that a row was judged by.
    "CREATE TABLE stored_pages (row INTEGER PRIMARY KEY REFERENCES pages, page BLOB NOT NULL)",
    # Which hosts a run has been on; `after` is the last row that there was before.
    "CREATE TABLE visits (scope TEXT NOT NULL, host TEXT NOT NULL, "
    "run INTEGER NOT NULL REFERENCES runs, after INTEGER NOT NULL, "
    "PRIMARY KEY (scope, host, run)) WITHOUT ROWID",
    # What was not requested because of a copy, the page of a row: its own request, where a callback was
    # skipped, or one that it links to.
    "CREATE TABLE withheld (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, "
    "row INTEGER NOT NULL REFERENCES pages, url TEXT NOT NULL, url_key TEXT NOT NULL, "
    "what TEXT NOT NULL, request TEXT NOT NULL, UNIQUE (run, what, url_key))",
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of an index."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('id', ?)", (token_hex(ID_SIZE),))
