"""The tables of an index, as SQL; `dedup.index.rows` says what may stand in their columns."""

from __future__ import annotations

from dedup.index.rows import NOTE, RUN, STORED, STORED_PAGE, VISIT, WITHHELD, Columns

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 5
# The note of a replica's file that says how far it has read the log.
READ = "log"


def _of(columns: Columns) -> str:
    return ", ".join(f"{name} {kind.sql}" for name, kind in columns.items())


SCHEMA = (
    # What the file knows about itself.
    f"CREATE TABLE meta ({_of(NOTE)}) WITHOUT ROWID",
    # The lock is the name of the file that the process of a run holds.
    f"CREATE TABLE runs ({_of(RUN)}, lock TEXT NOT NULL DEFAULT '')",
    # A page is compared with those of its group only.
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, scope TEXT NOT NULL, "
    "UNIQUE (kind, scope))",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, "
    f"{_of(STORED)})",
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    # The page that a row was judged by.
    f"CREATE TABLE stored_pages ({_of(STORED_PAGE)})",
    # Which hosts a run has been on; `after` is the last row that there was before.
    f"CREATE TABLE visits ({_of(VISIT)}, PRIMARY KEY (scope, host, run)) WITHOUT ROWID",
    # What was not requested because of a copy, the page of a row: its own request, where a callback was
    # skipped, or one that it links to.
    f"CREATE TABLE withheld (id INTEGER PRIMARY KEY, {_of(WITHHELD)}, UNIQUE (run, what, url_key))",
)
