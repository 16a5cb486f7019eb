"""The tables of an index, and how their rows become values."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any

from dedup.index import chunks, postings
from dedup.index.database import META, Step
from dedup.index.files import Damaged
from dedup.recipes.bands import Banding
from dedup.recipes.sketch import BINS, CHECK_BINS
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import SECRET_SIZE
from dedup.values.row import Glance, Row, Tally, Visit, Withheld, is_canonical, is_elsewhere
from dedup.values.run import EARLIEST, LATEST, Run
from dedup.values.sighting import Sighting
from dedup.values.simhashes import SIMHASH_BITS, signed, unsigned
from dedup.values.urls import host_of
from dedup.values.verdict import UNDONE, Canonical, Outcome, Reason, Standing, Verdict

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 5

_STORED_PAGES = """CREATE TABLE stored_pages (
        row INTEGER PRIMARY KEY REFERENCES pages,
        page BLOB NOT NULL
    )"""
# Which hosts a run has been on; *after* is the last row that there was before.
_VISITS = """CREATE TABLE visits (
        scope TEXT NOT NULL,
        host TEXT NOT NULL,
        run INTEGER NOT NULL REFERENCES runs,
        after INTEGER NOT NULL,
        PRIMARY KEY (scope, host, run)
    ) WITHOUT ROWID"""
# What was not requested because of a copy, the page of *row*: its own request, where a callback was
# skipped, or one that it links to.
_WITHHELD = """CREATE TABLE withheld (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs,
        row INTEGER NOT NULL REFERENCES pages,
        url TEXT NOT NULL,
        url_key TEXT NOT NULL,
        what TEXT NOT NULL,
        request TEXT NOT NULL,
        UNIQUE (run, what, url_key)
    )"""
_LATER_INDEXES = (
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
)


def _draw_secret(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_hex(SECRET_SIZE),))


MIGRATIONS: dict[int, Sequence[Step]] = {
    1: ("ALTER TABLE runs ADD COLUMN action TEXT NOT NULL DEFAULT 'drop'",),
    2: (_STORED_PAGES,),
    3: (
        "ALTER TABLE runs ADD COLUMN crawl TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN began INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE runs ADD COLUMN over INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE pages ADD COLUMN item_key TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE pages ADD COLUMN redirects TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE pages ADD COLUMN check_sketch BLOB NOT NULL DEFAULT x''",
        "ALTER TABLE pages ADD COLUMN is_dry INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE pages ADD COLUMN is_elsewhere INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE pages ADD COLUMN represents INTEGER REFERENCES pages",
        "ALTER TABLE pages ADD COLUMN seen_on TEXT",
        "UPDATE pages SET is_dry = 1 WHERE run IN (SELECT id FROM runs WHERE action = 'dry run')",
        _VISITS,
        _WITHHELD,
        *_LATER_INDEXES,
        _draw_secret,
    ),
    4: (
        "ALTER TABLE pages RENAME COLUMN content TO content_simhash",
        "ALTER TABLE pages RENAME COLUMN structure TO structure_simhash",
        chunks.RENAMED,
    ),
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
        action TEXT NOT NULL DEFAULT 'drop',
        crawl TEXT NOT NULL DEFAULT '',
        began INTEGER NOT NULL DEFAULT 0,
        over INTEGER NOT NULL DEFAULT 0
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
        content_simhash INTEGER NOT NULL,
        structure_simhash INTEGER NOT NULL,
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
        listed INTEGER NOT NULL,
        item_key TEXT NOT NULL DEFAULT '',
        redirects TEXT NOT NULL DEFAULT '',
        check_sketch BLOB NOT NULL DEFAULT x'',
        is_dry INTEGER NOT NULL DEFAULT 0,
        is_elsewhere INTEGER NOT NULL DEFAULT 0,
        represents INTEGER REFERENCES pages,
        seen_on TEXT
    )""",
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    chunks.SCHEMA,
    _STORED_PAGES,
    _VISITS,
    _WITHHELD,
    *_LATER_INDEXES,
)

INSERT = (
    "INSERT INTO pages (run, scope, url, url_key, time, title, canonical_link, content_simhash, "
    "structure_simhash, sketch, body_digest, token_digest, tokens, reason, kept, content_distance, "
    "structure_distance, similarity, canonical, previous, replaces, outcome, listed, item_key, "
    f"redirects, check_sketch, is_dry, is_elsewhere, represents, seen_on) VALUES ({','.join('?' * 30)})"
)
SELECT = (
    "SELECT p.id, p.run, s.kind, s.scope, p.url, p.url_key, p.time, p.title, p.canonical_link, "
    "p.content_simhash, p.structure_simhash, p.sketch, p.body_digest, p.token_digest, p.tokens, "
    "p.reason, p.kept, "
    "p.content_distance, p.structure_distance, p.similarity, p.canonical, p.previous, p.replaces, "
    "p.outcome, p.listed, c.url, c.run, p.item_key, p.redirects, p.check_sketch, p.is_dry, "
    "p.is_elsewhere, p.represents, p.seen_on "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
SELECT_GLANCE = (
    "SELECT id, run, url, structure_simhash, reason, kept, content_distance, structure_distance, "
    "similarity, canonical, outcome, listed FROM pages WHERE id > ?1 "
)
SELECT_RUNS = (
    "SELECT id, spider, job, settings, started, ended, ending, action, crawl, began, over FROM runs "
    "ORDER BY id"
)
SELECT_CANONICAL = (
    "SELECT id, url, run, outcome, represents, seen_on, content_simhash, structure_simhash, sketch, "
    "body_digest, token_digest, tokens, check_sketch FROM pages WHERE scope = ?1 AND listed "
)

# Of a row that is not taken back.
NOT_UNDONE = f"outcome NOT IN ({','.join(repr(str(outcome)) for outcome in UNDONE)})"

# Of a row `m` that shows that its canonical, an earlier row of the same thing, still stands there.
MET = "m.reason = 'unchanged' AND m.canonical = m.previous AND m.outcome IN ('confirmed', 'pending')"

# What `SELECT` and its like give, column by column; who reads a row builds on that.
_MAYBE_INT, _MAYBE_FLOAT = (int, NoneType), (float, NoneType)
_WORDS = (int, int, bytes, bytes, bytes, int)
_VERDICT = (str, int, _MAYBE_INT, _MAYBE_INT, _MAYBE_FLOAT, _MAYBE_INT)
_KINDS = (
    *(int, int, str, str, str, str, float, str, str),
    *_WORDS,
    *_VERDICT,
    *(_MAYBE_INT, _MAYBE_INT, str, int, (str, NoneType), _MAYBE_INT),
    *(str, str, bytes, int, int, _MAYBE_INT, (str, NoneType)),
)
_CANONICAL_KINDS = (int, str, int, str, _MAYBE_INT, (str, NoneType), *_WORDS, bytes)
_GLANCE_KINDS: Sequence[Any] = (int, int, str, int, *_VERDICT, str, int)
_WITHHELD_KINDS = (int, str, str, str, int)
_RUN_KINDS = (int, str, str, str, float, _MAYBE_FLOAT, str, str, str, int, int)
_REASONS, _OUTCOMES = frozenset(map(str, Reason)), frozenset(map(str, Outcome))

# What must be so in every row.  Some columns may be NULL, then they have nothing to be wrong about.
_RULES = {
    "text": "typeof({0}) = 'text'",
    "number": "typeof({0}) = 'integer'",
    "time": f"typeof({{0}}) = 'real' AND {{0}} BETWEEN {EARLIEST} AND {LATEST}",
    "similarity": "typeof({0}) = 'real' AND {0} BETWEEN 0 AND 1",
    "distance": f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN 0 AND {SIMHASH_BITS}",
    "digest": "typeof({0}) = 'blob' AND length({0}) IN (0, 16)",
    "sketch": f"typeof({{0}}) = 'blob' AND length({{0}}) = {BINS}",
    "check_sketch": f"typeof({{0}}) = 'blob' AND length({{0}}) IN (0, {CHECK_BINS})",
    "reason": f"{{0}} IN ({','.join(repr(str(reason)) for reason in Reason)})",
    "outcome": f"{{0}} IN ({','.join(repr(str(outcome)) for outcome in Outcome)})",
    "flag": "typeof({0}) = 'integer' AND {0} IN (0, 1)",
}
_ROW_COLUMNS = {
    "text": ("url", "url_key", "title", "canonical_link", "item_key", "redirects", "seen_on"),
    "number": (
        *("run", "scope", "content_simhash", "structure_simhash", "tokens"),
        *("canonical", "previous", "replaces", "represents"),
    ),
    "time": ("time",),
    "similarity": ("similarity",),
    "distance": ("content_distance", "structure_distance"),
    "digest": ("body_digest", "token_digest"),
    "sketch": ("sketch",),
    "check_sketch": ("check_sketch",),
    "reason": ("reason",),
    "outcome": ("outcome",),
    "flag": ("kept", "listed", "is_dry", "is_elsewhere"),
}
_RUN_COLUMNS = {
    "text": ("spider", "job", "settings", "lock", "ending", "action", "crawl"),
    "number": ("began", "over"),
    "time": ("started", "ended"),
}


def _damaged(table: str, columns: Mapping[str, Sequence[str]]) -> str:
    rules = (
        f"({column} IS NULL OR {_RULES[kind].format(column)})"
        for kind, names in columns.items()
        for column in names
    )
    return f"SELECT count(*), min(id) FROM {table} WHERE NOT ({' AND '.join(rules)})"


DAMAGED = {
    "rows": _damaged("pages", _ROW_COLUMNS),
    "runs": _damaged("runs", _RUN_COLUMNS),
    "scopes": _damaged("scopes", {"text": ("kind", "scope")}),
    "withheld": _damaged("withheld", {"text": ("url", "url_key", "what", "request")}),
}
"""How many hold what was never written, and the first of them."""


def create(connection: sqlite3.Connection, blocks: int) -> None:
    """Make the tables of an index whose posting lists have that many blocks."""
    postings.layout(blocks)  # refuses wrong numbers
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))
    _draw_secret(connection)


def values_of(sighting: Sighting, verdict: Verdict, scope: int, outcome: Outcome) -> tuple[Any, ...]:
    """Return what `INSERT` takes; *scope* is the number of its group."""
    page = sighting.fingerprint
    return (
        *(sighting.run, scope, sighting.url, sighting.url_key, sighting.time),
        *(sighting.title, sighting.canonical_link),
        *(signed(page.content_simhash), signed(page.structure_simhash), page.sketch),
        *(page.body_digest, page.token_digest, page.tokens),
        *(verdict.reason, verdict.kept, verdict.content_distance, verdict.structure_distance),
        *(verdict.similarity, verdict.canonical, verdict.previous, verdict.replaces),
        *(outcome, is_canonical(verdict), sighting.item_key, _lines(sighting.redirects)),
        *(
            page.check_sketch,
            sighting.is_dry,
            is_elsewhere(verdict),
            verdict.represents,
            sighting.seen_on,
        ),
    )


def _lines(urls: Iterable[str]) -> str:
    return "\n".join(url.replace("\n", "%0A") for url in urls)


def row_of(fields: Sequence[Any]) -> Row:
    """Return the row behind what `SELECT` gave; raises `Damaged`."""
    try:
        return _row_of(fields)
    except (TypeError, ValueError) as error:
        raise Damaged(f"row {fields[0]}: {error}") from error


def _row_of(fields: Sequence[Any]) -> Row:
    _require(_KINDS, fields)
    row, run, kind, scope, url, key, seen_at, title, link = fields[:9]
    reason, kept, content, structure, similarity = fields[15:20]
    canonical, previous, replaces, outcome, listed, canonical_url, canonical_run = fields[20:27]
    item_key, redirects, check_sketch, is_dry, elsewhere, represents, seen_on = fields[27:]
    _require_time(seen_at)
    _require_measures(content, structure, similarity=similarity)
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
        represents=represents,
        row=row,
        standing=Standing(canonical, canonical_run, is_elsewhere=True) if elsewhere else None,
    )
    page = _fingerprint((*fields[9:15], check_sketch))
    chain = tuple(redirects.split("\n")) if redirects else ()
    sighting = Sighting(
        *(page, url, key, kind, scope, run, seen_at, title, link, item_key, bool(is_dry), chain),
        seen_on=seen_on,
    )
    return Row(row, sighting, verdict, Outcome(outcome), bool(listed))


def glance_of(fields: Sequence[Any]) -> Glance:
    """Return what `SELECT_GLANCE` gave; raises `Damaged`."""
    row, run, url, structure, reason, _, content, distance, similarity, _, outcome, _ = fields
    # There are millions of them: what is seldom so is asked in one expression.
    if not (
        all(map(isinstance, fields, _GLANCE_KINDS))
        and reason in _REASONS
        and outcome in _OUTCOMES
        and 0 <= (content or 0) <= SIMHASH_BITS
        and 0 <= (distance or 0) <= SIMHASH_BITS
        and 0 <= (similarity or 0) <= 1
    ):
        raise Damaged(f"row {row} holds what was never written")
    return Glance(row, run, url, unsigned(structure), *fields[4:])


def run_of(fields: Sequence[Any]) -> Run:
    """Return the run behind what `SELECT_RUNS` gave; raises `Damaged`."""
    try:
        _require(_RUN_KINDS, fields)
        run = Run(*fields)
        _require_time(run.started)
        _require_time(run.ended or 0)
    except (TypeError, ValueError) as error:
        raise Damaged(f"run {fields[0]}: {error}") from error
    return run


def tally_of(fields: Sequence[Any]) -> Tally:
    """Return the tally of a run, a site, a reason, a flag, an outcome and a number; raises `Damaged`."""
    run, site, reason, kept, outcome, rows = fields
    try:
        return Tally(run, site, Reason(reason), bool(kept), Outcome(outcome), rows)
    except ValueError as error:
        raise Damaged(f"rows of run {run}: {error}") from error


def visit_of(fields: Sequence[Any]) -> Visit:
    """Return a visit behind its columns; raises `Damaged`."""
    try:
        _require((str, str, int, int), fields)
    except TypeError as error:
        raise Damaged(f"a visit: {error}") from error
    return Visit(*fields)


def withheld_of(fields: Sequence[Any]) -> Withheld:
    """Return what was withheld, of its row, URL, kind, request and run; raises `Damaged`."""
    try:
        _require(_WITHHELD_KINDS, fields)
    except TypeError as error:
        raise Damaged(f"what was withheld for row {fields[0]}: {error}") from error
    return Withheld(*fields)


def recipe_of(found: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Return the recipe behind the names and values of `meta`; raises `Damaged`."""
    recipe = {str(name).removeprefix("recipe."): value for name, value in found}
    if not all(isinstance(value, str) for value in recipe.values()):
        raise Damaged("its recipe is no text")
    if recipe and "recipe" not in recipe:
        raise Damaged("its recipe has no version")
    return recipe


def secret_of(found: Sequence[Any] | None) -> bytes:
    """Return the secret behind what `meta` gave, if it did; raises `Damaged`, which quotes nothing."""
    with suppress(TypeError, ValueError):
        secret = bytes.fromhex(found[0].decode() if found else "")
        if len(secret) == SECRET_SIZE:
            return secret
    raise Damaged("its secret is gone")


def layout_of(found: Mapping[str, Any]) -> tuple[int, Banding | None]:
    """Return the number of blocks, and the bands, that `meta` tells; raises `Damaged`."""
    try:
        blocks = int(found["blocks"])
        postings.layout(blocks)  # refuses wrong numbers
        bands, _, rows = found.get("bands", "").partition("x")
        return blocks, Banding(int(bands), int(rows)) if rows else None
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(f"it does not tell its layout: {error}") from error


def canonical_of(fields: Sequence[Any]) -> Canonical:
    """Return the canonical behind what `SELECT_CANONICAL` gave; raises `Damaged`."""
    row, url, run, outcome, represents, seen_on, *page = fields
    try:
        _require(_CANONICAL_KINDS, fields)
        is_pending = outcome == Outcome.PENDING
        host = host_of(url) if seen_on is None else seen_on
        return Canonical(row, url, run, is_pending, _fingerprint(page), represents, host)
    except (TypeError, ValueError) as error:
        raise Damaged(f"row {row}: {error}") from error


def _fingerprint(fields: Sequence[Any]) -> Fingerprint:
    content, structure, sketch, *rest = fields
    if len(sketch) != BINS:
        raise ValueError(f"its sketch has {len(sketch)} bytes")
    if len(rest[-1]) not in (0, CHECK_BINS):
        raise ValueError(f"its check sketch has {len(rest[-1])} bytes")
    return Fingerprint(unsigned(content), unsigned(structure), sketch, *rest)


def _require(kinds: Sequence[Any], fields: Sequence[object]) -> None:
    if not all(map(isinstance, fields, kinds)):
        found = (value for value, kind in zip(fields, kinds, strict=True) if not isinstance(value, kind))
        raise TypeError(f"{next(found)!r:.40} stands where it cannot")


def _require_measures(*distances: int | None, similarity: float | None) -> None:
    if not all(0 <= (distance or 0) <= SIMHASH_BITS for distance in distances):
        raise ValueError(f"its distances {distances} are none")
    if not 0 <= (similarity or 0) <= 1:
        raise ValueError(f"its similarity {similarity} is none")


def _require_time(seconds: float) -> None:
    if not EARLIEST <= seconds <= LATEST:
        raise ValueError(f"its time {seconds:g} is none")
