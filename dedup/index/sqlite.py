"""The index in one SQLite file: rows for every page seen, posting lists for the canonicals.

The file can be shared by several processes of one host.  Every public method is one transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from dedup.config import DedupConfig
from dedup.errors import IndexUnavailable
from dedup.fingerprints import Fingerprint
from dedup.index.base import Index, NoSuchRow, Row, Run, Sighting, is_canonical
from dedup.index.files import RunLock, check_file
from dedup.index.postings import DEFAULT_BLOCKS, PostingList
from dedup.index.postings import SCHEMA as POSTINGS_SCHEMA
from dedup.verdict import (
    MIN_EQUAL_TOKENS,
    Canonical,
    Outcome,
    Reason,
    Verdict,
    Version,
    nearness,
    uses_structure,
)
from dedup.words import signed, unsigned

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 1
BUSY_TIMEOUT = 30.0

# Most duplicates are this near, and looking that far costs little; the rest comes second.
_NEAR = 3
_BATCH = 500

_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        spider TEXT NOT NULL,
        job TEXT NOT NULL,
        settings TEXT NOT NULL,
        lock TEXT NOT NULL,
        started REAL NOT NULL,
        ended REAL,
        ending TEXT NOT NULL DEFAULT ''
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
    POSTINGS_SCHEMA,
)
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA mmap_size = 2147483648",
    "PRAGMA cache_size = -16384",
    "PRAGMA foreign_keys = OFF",
)

_ROW = (
    "SELECT p.id, p.run, s.kind, s.scope, p.url, p.url_key, p.time, p.title, p.canonical_link, "
    "p.content, p.structure, p.sketch, p.body_digest, p.token_digest, p.tokens, p.reason, p.kept, "
    "p.content_distance, p.structure_distance, p.similarity, p.canonical, p.previous, p.replaces, "
    "p.outcome, p.listed, c.url, c.run "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
_CANONICAL = (
    "SELECT id, url, run, outcome, content, structure, sketch, body_digest, token_digest, tokens "
    "FROM pages WHERE scope = ?1 AND listed "
)
# Own versions from other runs are no candidates, unless this run has met them again.
_NOT_OWN = (
    "AND NOT (url_key = ?2 AND url_key != '' AND run != ?3 AND id NOT IN ("
    "SELECT canonical FROM pages WHERE scope = ?1 AND url_key = ?2 AND url_key != '' "
    "AND run = ?3 AND reason = 'unchanged' AND previous = canonical)) "
)


class SQLiteIndex(Index):
    """The index in the file *path*, made there with its folders if there is none.

    With *create* False a missing file is an error.  *blocks* (4 to 8) tunes the posting lists of
    a new file and changes no answer.  *timeout* is how many seconds a lock of another process is
    waited for.  Raises `IndexUnavailable` for a file that cannot be opened or is no index; such a
    file is left as it is.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        blocks: int = DEFAULT_BLOCKS,
        timeout: float = BUSY_TIMEOUT,
        create: bool = True,
    ) -> None:
        self._path = Path(path)
        self._locks: dict[int, RunLock] = {}
        check_file(self._path)
        if not create and not self._path.exists():
            raise IndexUnavailable(f"{self._path} does not exist; a crawl with dedup makes it")
        with self._errors():
            self._make_folder()
            self._connection = sqlite3.connect(self._path, timeout=timeout, isolation_level=None)
            try:
                self._open(blocks)
            except BaseException:
                self._connection.close()
                raise
        self._bury_dead_runs()

    @property
    def name(self) -> str:
        return str(self._path)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def blocks(self) -> int:
        """How many blocks the posting lists of this file have."""
        return self._blocks

    # Runs

    def begin_run(self, spider: str = "", *, job: str = "", settings: str = "") -> Run:
        lock = RunLock(self._path)
        lock.acquire()
        with self._writing():
            run = self._resumable(spider, job)
            if run is None:
                cursor = self._connection.execute(
                    "INSERT INTO runs (spider, job, settings, lock, started) VALUES (?, ?, ?, ?, ?)",
                    (spider, job, settings, lock.name, time.time()),
                )
                run = cursor.lastrowid
            else:
                self._connection.execute(
                    "UPDATE runs SET lock = ?, ended = NULL, ending = '' WHERE id = ?", (lock.name, run)
                )
        assert run is not None
        self._locks[run] = lock
        return next(found for found in self.runs() if found.id == run)

    def _resumable(self, spider: str, job: str) -> int | None:
        found = self._connection.execute(
            "SELECT id FROM runs WHERE job = ? AND job != '' AND spider = ? AND ended IS NOT NULL "
            "AND ending != 'finished' ORDER BY id DESC LIMIT 1",
            (job, spider),
        ).fetchone()
        return found[0] if found else None

    def end_run(self, run: Run, ending: str) -> None:
        self._end_run(run.id, ending)
        if lock := self._locks.pop(run.id, None):
            lock.release()

    def _end_run(self, run: int, ending: str) -> None:
        with self._writing():
            for row in self._select("WHERE p.run = ? AND p.outcome = 'pending'", (run,)):
                self._withdraw(row, Outcome.RELEASED)
            self._connection.execute(
                "UPDATE runs SET ended = ?, ending = ? WHERE id = ?", (time.time(), ending, run)
            )

    def _bury_dead_runs(self) -> None:
        """End the runs whose process is gone: nobody holds their lock."""
        with self._errors():
            unended = self._connection.execute(
                "SELECT id, lock FROM runs WHERE ended IS NULL"
            ).fetchall()
        for run, name in unended:
            lock = RunLock(self._path, name)
            if lock.acquire():
                self._end_run(run, "died")
                lock.release()

    def runs(self) -> list[Run]:
        with self._errors():
            rows = self._connection.execute(
                "SELECT id, spider, job, settings, started, ended, ending FROM runs ORDER BY id"
            ).fetchall()
        return [Run(*row) for row in rows]

    # Reading

    def rows(self) -> Iterator[Row]:
        last = 0
        while rows := self._select(f"WHERE p.id > ? ORDER BY p.id LIMIT {_BATCH}", (last,)):
            yield from rows
            last = rows[-1].id

    def largest_clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        with self._errors():
            largest = self._connection.execute(
                "SELECT canonical, count(*) FROM pages WHERE run = ? AND NOT kept "
                "GROUP BY canonical ORDER BY count(*) DESC, canonical LIMIT ?",
                (run, limit),
            ).fetchall()
        return [(self.row(canonical), size) for canonical, size in largest]

    def verify(self) -> list[str]:
        with self._errors():
            found = [line for (line,) in self._connection.execute("PRAGMA integrity_check")]
            problems = [] if found == ["ok"] else found
            with self._reading():
                for scope, *_ in self._connection.execute(
                    "SELECT id FROM scopes ORDER BY id"
                ).fetchall():
                    for field in ("content", "structure"):
                        problems += self._verify_list(field, scope)
        return problems

    def _verify_list(self, field: str, scope: int) -> Iterator[str]:
        rows = self._connection.execute(
            f"SELECT DISTINCT {field} FROM pages WHERE scope = ? AND listed AND {field} != 0", (scope,)
        )
        expected = {unsigned(word) for (word,) in rows}
        postings = self._postings(field, scope)
        for block in range(postings.blocks):
            words = postings.block_words(block).tolist()
            for problem, count in (
                ("words without a page", len(set(words) - expected)),
                ("words missing", len(expected - set(words))),
                ("words twice", len(words) - len(set(words))),
            ):
                if count:
                    yield f"{field} list of scope {scope}, block {block}: {count} {problem}"

    def recipe(self) -> Mapping[str, str]:
        with self._errors():
            rows = self._connection.execute("SELECT name, value FROM meta WHERE name LIKE 'recipe.%'")
            return {name.removeprefix("recipe."): value for name, value in rows}

    def close(self) -> None:
        self._connection.close()
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()

    # Opening

    def _make_folder(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IndexUnavailable(f"{self._path.parent} cannot be made: {error.strerror}") from error

    def _open(self, blocks: int) -> None:
        self._check_ours()
        # Switching to WAL ignores the busy timeout, so two openings at once need a second try.
        self._patiently("PRAGMA journal_mode = WAL")
        for pragma in _PRAGMAS:
            self._connection.execute(pragma)
        with self._writing():
            if not self._number("application_id"):
                self._create(blocks)
        self._blocks = int(self._meta("blocks"))

    def _patiently(self, pragma: str, tries: int = 100) -> None:
        if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        for attempt in range(tries):
            try:
                self._connection.execute(pragma)
            except sqlite3.OperationalError:
                if attempt == tries - 1:
                    raise
                time.sleep(0.05)
            else:
                return

    def _check_ours(self) -> None:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = self._number("application_id")
        if application != APPLICATION_ID and (application or tables):
            raise IndexUnavailable(
                f"{self._path} is the database of another program; "
                "it was left as it is, use another DEDUP_INDEX"
            )
        version = self._number("user_version")
        if version > SCHEMA_VERSION:
            raise IndexUnavailable(
                f"{self._path} has schema version {version}, this release knows up to "
                f"{SCHEMA_VERSION}; upgrade scrapy-dedup or use another DEDUP_INDEX"
            )

    def _create(self, blocks: int) -> None:
        PostingList(self._connection, "content", 0, blocks=blocks)  # refuses wrong numbers of blocks
        for statement in _SCHEMA:
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))
        self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _number(self, pragma: str) -> int:
        return int(self._connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _meta(self, name: str) -> str:
        return str(
            self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0]
        )

    def _store_recipe(self, recipe: Mapping[str, str]) -> None:
        with self._writing():
            self._connection.executemany(
                "INSERT OR IGNORE INTO meta VALUES (?, ?)",
                [(f"recipe.{name}", value) for name, value in recipe.items()],
            )

    # Transactions

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._errors():
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IndexUnavailable(f"{self._path}: {_explained(error)}") from error

    # What the rules of `Index` ask of a storage

    def _versions(self, sighting: Sighting) -> Sequence[Version]:
        scope = self._scope(sighting.kind, sighting.scope)
        key = (scope, sighting.url_key, sighting.run)
        rows = self._select(
            "WHERE p.scope = ?1 AND p.url_key = ?2 AND p.url_key != '' AND p.run = ("
            "SELECT max(run) FROM pages WHERE scope = ?1 AND url_key = ?2 AND url_key != '' AND run < ?3"
            ") AND CASE p.reason WHEN 'unchanged' THEN p.previous ELSE p.id END NOT IN ("
            "SELECT previous FROM pages WHERE scope = ?1 AND url_key = ?2 AND url_key != '' "
            "AND run = ?3 AND previous IS NOT NULL) ORDER BY p.id",
            key,
        )
        return [self._version(row) for row in rows]

    def _candidates(self, sighting: Sighting, config: DedupConfig) -> Iterator[Canonical]:
        search = _Search(self._connection, sighting, self._scope(sighting.kind, sighting.scope))
        page = sighting.fingerprint
        yield from search.fresh(search.with_value("body_digest", [page.body_digest]))
        if page.tokens >= MIN_EQUAL_TOKENS:
            yield from search.fresh(search.with_value("token_digest", [page.token_digest]))
        if page.content:
            postings = self._postings("content", search.scope)
            for distance in sorted({min(_NEAR, config.max_distance), config.max_distance}):
                words = postings.find(page.content, distance)
                yield from search.fresh(search.with_value("content", [signed(word) for word in words]))
        if page.structure and uses_structure(config):
            words = self._postings("structure", search.scope).find(
                page.structure, config.structure_max_distance
            )
            newest = search.newest_of_structure(words, config.max_structure_candidates)
            yield from search.fresh(newest)

    def _add(self, sighting: Sighting, verdict: Verdict, outcome: Outcome) -> Row:
        seen, page = sighting, sighting.fingerprint
        listed = is_canonical(verdict)
        values = (
            *(seen.run, self._scope(seen.kind, seen.scope, create=True), seen.url, seen.url_key),
            *(seen.time, seen.title, seen.canonical_link),
            *(signed(page.content), signed(page.structure), page.sketch),
            *(page.body_digest, page.token_digest, page.tokens),
            *(verdict.reason, verdict.kept, verdict.content_distance, verdict.structure_distance),
            *(verdict.similarity, verdict.canonical, verdict.previous, verdict.replaces),
            *(outcome, False),  # `_enlist` sets the last one
        )
        cursor = self._connection.execute(_INSERT, values)
        assert cursor.lastrowid is not None
        return Row(cursor.lastrowid, sighting, verdict, outcome, listed)

    def _settle(self, row: int, outcome: Outcome) -> None:
        self._connection.execute("UPDATE pages SET outcome = ? WHERE id = ?", (outcome, row))

    def _enlist(self, row: Row) -> None:
        for field, word, scope in self._listed_words(row):
            postings = self._postings(field, scope)
            if word not in postings:
                postings.add(word)
        self._connection.execute("UPDATE pages SET listed = 1 WHERE id = ?", (row.id,))

    def _delist(self, row: Row) -> None:
        self._connection.execute("UPDATE pages SET listed = 0 WHERE id = ?", (row.id,))
        for field, word, scope in self._listed_words(row):
            others = self._connection.execute(
                f"SELECT 1 FROM pages WHERE scope = ? AND {field} = ? AND listed LIMIT 1",
                (scope, signed(word)),
            ).fetchone()
            if not others:
                self._postings(field, scope).remove(word)

    def _listed_words(self, row: Row) -> Iterator[tuple[str, int, int]]:
        scope = self._scope(row.sighting.kind, row.sighting.scope)
        page = row.sighting.fingerprint
        for field, word in (("content", page.content), ("structure", page.structure)):
            if word:
                yield field, word, scope

    def _postings(self, field: str, scope: int) -> PostingList:
        return PostingList(self._connection, field, scope, blocks=self._blocks)

    def _scope(self, kind: str, scope: str, *, create: bool = False) -> int:
        """Return the number of a group of pages, 0 if there is none yet."""
        if create:
            self._connection.execute(
                "INSERT OR IGNORE INTO scopes (kind, scope) VALUES (?, ?)", (kind, scope)
            )
        found = self._connection.execute(
            "SELECT id FROM scopes WHERE kind = ? AND scope = ?", (kind, scope)
        ).fetchone()
        return int(found[0]) if found else 0

    def row(self, row: int) -> Row:
        rows = self._select("WHERE p.id = ?", (row,))
        if not rows:
            raise NoSuchRow(f"there is no row {row} in {self.name}")
        return rows[0]

    def _rows_of_run(self, run: int) -> list[Row]:
        return self._select("WHERE p.run = ? ORDER BY p.id", (run,))

    def _repeats(self, canonical: int) -> list[Row]:
        return self._select("WHERE p.canonical = ? ORDER BY p.id", (canonical,))

    def _select(self, where: str, values: Sequence[object]) -> list[Row]:
        with self._errors():
            return [_row(fields) for fields in self._connection.execute(_ROW + where, values)]


class _Search:
    """The search for the canonicals near one page; yields none twice."""

    def __init__(self, connection: sqlite3.Connection, sighting: Sighting, scope: int) -> None:
        self.scope = scope
        self._connection = connection
        self._page = sighting.fingerprint
        self._own = (scope, sighting.url_key, sighting.run)
        self._seen: set[int] = set()

    def fresh(self, found: Iterable[Canonical]) -> Iterator[Canonical]:
        """Yield those not yielded before, in the order of `nearness`."""
        new = [canonical for canonical in found if canonical.id not in self._seen]
        self._seen.update(canonical.id for canonical in new)
        yield from sorted(new, key=lambda canonical: nearness(self._page, canonical))

    def with_value(self, column: str, values: Sequence[object]) -> Iterator[Canonical]:
        for start in range(0, len(values), _BATCH):
            batch = values[start : start + _BATCH]
            marks = ",".join("?" * len(batch))
            yield from self._fetch(f"AND {column} IN ({marks})", batch)

    def newest_of_structure(self, words: Sequence[int], limit: int) -> list[Canonical]:
        found = [
            canonical
            for word in words
            for canonical in self._fetch(
                "AND structure = ? ORDER BY id DESC LIMIT ?", [signed(word), limit]
            )
        ]
        found.sort(key=lambda canonical: canonical.id)
        return found[-limit:]

    def _fetch(self, where: str, values: Sequence[object]) -> Iterator[Canonical]:
        for fields in self._connection.execute(_CANONICAL + _NOT_OWN + where, (*self._own, *values)):
            row, url, run, outcome, *page = fields
            yield Canonical(row, url, run, outcome == Outcome.PENDING, _fingerprint(page))


_INSERT = (
    "INSERT INTO pages (run, scope, url, url_key, time, title, canonical_link, content, structure, "
    "sketch, body_digest, token_digest, tokens, reason, kept, content_distance, structure_distance, "
    f"similarity, canonical, previous, replaces, outcome, listed) VALUES ({','.join('?' * 23)})"
)


def _fingerprint(fields: Sequence[object]) -> Fingerprint:
    content, structure, *rest = fields
    return Fingerprint(unsigned(content), unsigned(structure), *rest)  # type: ignore[arg-type]


def _row(fields: tuple) -> Row:  # type: ignore[type-arg]
    row, run, kind, scope, url, key, seen_at, title, link = fields[:9]
    reason, kept, *measures = fields[15:20]
    canonical, previous, replaces, outcome, listed, canonical_url, canonical_run = fields[20:]
    page = _fingerprint(fields[9:15])
    content, structure, similarity = measures
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
    sighting = Sighting(page, url, key, kind, scope, run, seen_at, title, link)
    return Row(row, sighting, verdict, Outcome(outcome), bool(listed))


def _explained(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return "another process held the index for too long"
    if "readonly" in text:
        return "the index cannot be written (read-only file or folder)"
    if "unable to open" in text:
        return "the file cannot be opened or made here"
    if "full" in text:
        return "the disk is full"
    if "malformed" in text or "not a database" in text:
        return f"the file is damaged ({text})"
    return text
