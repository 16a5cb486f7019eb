"""The index in one SQLite file: rows for every page seen, posting lists for the canonicals.

The file can be shared by several processes of one host.  Every public method is one transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path

import numpy as np

from dedup.index.bands import BandList, Sketched
from dedup.index.base import Index
from dedup.index.database import BUSY_TIMEOUT, Database
from dedup.index.files import Damaged, RunLock, is_lock_name, lock_names
from dedup.index.postings import DEFAULT_BLOCKS, PostingList, layout
from dedup.index.search import Search, by_distance, dry_clause, listed, not_own
from dedup.index.tables import (
    APPLICATION_ID,
    DAMAGED,
    INSERT,
    MET,
    MIGRATIONS,
    NOT_UNDONE,
    SCHEMA_VERSION,
    SELECT,
    SELECT_CANONICAL,
    SELECT_GLANCE,
    SELECT_RUNS,
    canonical_of,
    create,
    glance_of,
    layout_of,
    recipe_of,
    row_of,
    run_of,
    secret_of,
    tally_of,
    values_of,
    visit_of,
    withheld_of,
)
from dedup.reading.stored import is_readable
from dedup.recipes.bands import Banding
from dedup.recipes.config import DedupConfig
from dedup.recipes.sketch import BINS
from dedup.rule.verifier import banding_of
from dedup.values.errors import ConfigError, IndexMismatch, IndexUnavailable
from dedup.values.fingerprint import SIMHASH_FIELDS
from dedup.values.hashes import Hashes
from dedup.values.row import (
    ClusterSize,
    Glance,
    Neighbour,
    NoSuchRow,
    Row,
    Statistics,
    Tally,
    Visit,
    Withheld,
    is_canonical,
)
from dedup.values.run import Crawl, Run, crawl_of
from dedup.values.sighting import Sighting
from dedup.values.simhashes import signed
from dedup.values.urls import host_of, kept_url, url_key
from dedup.values.verdict import Candidates, Canonical, Outcome, Verdict, Version

_BATCH = 500
# The number of the next beginning or end of a run.
_NEXT_EVENT = "(SELECT ifnull(max(max(began, over)), 0) + 1 FROM runs)"
_GLANCES = 10_000
# How many URLs before and behind another one are looked at for one that may be meant.
_AROUND = 100


class SQLiteIndex(Index):
    """The index in the file *path*, made there with its folders if there is none.

    With *create* False a missing file is an error; with *read_only* it is one too, nothing is ever
    changed, and dead runs look like living ones.  *blocks* (4 to 8) tunes the posting lists of
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
        read_only: bool = False,
    ) -> None:
        self._locks: dict[int, RunLock] = {}
        self._scopes: dict[tuple[str, str], int] = {}
        # What is true until a run begins or ends, or somebody else changes the file.
        self._crawls: dict[int, Crawl] = {}
        self._has_restored: bool | None = None
        self._blocks = blocks
        self._banding: Banding | None = None
        self._layout_read_at: int | None = None
        self._database = _database(
            path, blocks=blocks, timeout=timeout, must_exist=not create, read_only=read_only
        )
        self._connection = self._database.connection
        try:
            with self._database.errors():
                self._read_layout()
            if not read_only:
                self._bury_dead_runs()
        except BaseException:
            self._database.close()
            raise

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one at its path."""
        return self._database.is_in_place

    @property
    def blocks(self) -> int:
        """How many blocks the posting lists of this file have."""
        return self._blocks

    @property
    def secret(self) -> bytes:
        with self._database.errors():
            return self._read_secret()

    def _read_secret(self) -> bytes:
        # As bytes: an error of text that is none would quote it.
        found = self._connection.execute("SELECT CAST(value AS BLOB) FROM meta WHERE name = 'secret'")
        return secret_of(found.fetchone())

    @property
    def banding(self) -> Banding | None:
        """How the sketches of this file are cut into bands, None where it has no lists of bands."""
        return self._banding

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than that for a lock of another process, from now on."""
        with self._database.errors():
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    # Runs

    def begin_run(
        self,
        spider: str = "",
        *,
        job: str = "",
        settings: str = "",
        action: str = "drop",
        crawl: str = "",
    ) -> Run:
        lock = RunLock(self.path)
        try:
            with self._writing():
                lock.acquire()  # in here: `_remove_stray_locks` shall not see it without its run
                run = self._resumable(spider, job)
                if run is None:
                    cursor = self._connection.execute(
                        "INSERT INTO runs (spider, job, settings, lock, started, action, crawl, began) "
                        f"VALUES (?, ?, ?, ?, ?, ?, ?, {_NEXT_EVENT})",
                        (spider, job, settings, lock.name, time.time(), action, crawl),
                    )
                    run = cursor.lastrowid
                else:
                    self._connection.execute(
                        "UPDATE runs SET lock = ?, action = ?, crawl = ?, ended = NULL, ending = '', "
                        f"began = {_NEXT_EVENT}, over = 0 WHERE id = ?",
                        (lock.name, action, crawl, run),
                    )
                self._crawls.clear()
        except BaseException:
            lock.release()
            raise
        assert run is not None
        self._locks[run] = lock
        return self._run(run)

    def _resumable(self, spider: str, job: str) -> int | None:
        found = self._connection.execute(
            "SELECT id FROM runs WHERE job = ? AND job != '' AND spider = ? AND ended IS NOT NULL "
            "AND ending != 'finished' AND lock != '' ORDER BY id DESC LIMIT 1",
            (job, spider),
        ).fetchone()
        return found[0] if found else None

    def restore_run(self, run: Run) -> Run:
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO runs (spider, job, settings, lock, started, ended, ending, action, crawl, "
                "began, over) VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.spider, run.job, run.settings, run.started, run.ended, run.ending),
                    *(run.action, run.crawl, run.began, run.over),
                ),
            )
            self._crawls.clear()
        assert cursor.lastrowid is not None
        return replace(run, id=cursor.lastrowid)

    def end_run(self, run: Run, ending: str) -> None:
        with self._writing():
            self._end_run(run, ending)
        if lock := self._locks.pop(run.id, None):
            lock.release()

    def _end_run(self, run: Run, ending: str) -> None:
        for row in self._select(
            "WHERE p.outcome != 'confirmed' AND p.outcome = 'pending' AND p.run = ?", (run.id,)
        ):
            self._withdraw(row, Outcome.RELEASED)
        self._miss(run)
        self._connection.execute(
            f"UPDATE runs SET ended = ?, ending = ?, over = {_NEXT_EVENT} WHERE id = ?",
            (time.time(), ending, run.id),
        )
        self._crawls.clear()

    def _bury_dead_runs(self) -> None:
        """End the runs whose process is gone: nobody holds their lock."""
        with self._database.errors():
            unended = self._connection.execute(
                "SELECT id, lock FROM runs WHERE ended IS NULL"
            ).fetchall()
        for run, name in unended:
            # What is no name was never a lock, so nobody holds it.
            lock = RunLock(self.path, name if is_lock_name(name) else "")
            if not lock.acquire():
                continue
            with self._writing():
                # Whoever ended it, or resumed it under another lock, was faster.
                still = self._connection.execute(
                    "SELECT 1 FROM runs WHERE id = ? AND ended IS NULL AND lock = ?", (run, name)
                ).fetchone()
                if still:
                    self._end_run(self._run(run), "died")
            lock.release()
        self._remove_stray_locks()

    def _remove_stray_locks(self) -> None:
        """Remove what processes left that died just before a run began or just after it ended."""
        if not self._stray_locks():
            return
        with self._writing():
            for name in self._stray_locks():
                lock = RunLock(self.path, name)
                if lock.acquire():
                    lock.release()

    def _stray_locks(self) -> set[str]:
        with self._database.errors():
            runs = self._connection.execute("SELECT lock FROM runs WHERE ended IS NULL").fetchall()
        return lock_names(self.path) - {name for (name,) in runs}

    def runs(self) -> list[Run]:
        with self._database.errors():
            return [run_of(fields) for fields in self._connection.execute(SELECT_RUNS)]

    def _run(self, run: int) -> Run:
        return next(found for found in self.runs() if found.id == run)

    # Reading

    def unmapped(self) -> AbstractContextManager[None]:
        """Read without a map of the file, so that who reads all of a large one stays small."""
        return self._database.unmapped()

    def rows(self, run: int | None = None) -> Iterator[Row]:
        only = "" if run is None else "p.run = ?2 AND "
        last = 0
        while rows := self._select(
            f"WHERE {only}p.id > ?1 ORDER BY p.id LIMIT {_BATCH}", (last, run)[: 1 + bool(only)]
        ):
            yield from rows
            last = rows[-1].id

    def glances(self, after: int = 0, outcome: Outcome | None = None) -> Iterator[Glance]:
        last = after
        while found := self._glances_after(last, outcome):
            yield from found
            last = found[-1].id

    def _glances_after(self, row: int, outcome: Outcome | None) -> list[Glance]:
        only = "" if outcome is None else "AND outcome = ?3 "
        if outcome not in (None, Outcome.CONFIRMED):
            only += "AND outcome != 'confirmed' "  # the condition of the index `pages_unsettled`
        values = (row, _GLANCES, outcome)[: 2 + bool(only)]
        with self._database.errors():
            found = self._connection.execute(SELECT_GLANCE + only + "ORDER BY id LIMIT ?2", values)
            return [glance_of(fields) for fields in found]

    def rows_of(self, rows: Iterable[int]) -> Iterator[Row]:
        left = iter(rows)
        while batch := list(islice(left, _BATCH)):
            marks = ",".join("?" * len(batch))
            found = {row.id: row for row in self._select(f"WHERE p.id IN ({marks})", batch)}
            for number in batch:
                if number not in found:
                    raise NoSuchRow(f"there is no row {number} in {self.name}")
                yield found[number]

    def newest(
        self,
        limit: int,
        *,
        before: int | None = None,
        copies: bool = False,
        run: int = 0,
        part: str = "",
    ) -> list[Row]:
        return self._select(
            "WHERE (?1 IS NULL OR p.id < ?1) AND NOT (?2 AND p.kept) AND ?3 IN (0, p.run) AND "
            "(?4 = '' OR instr(lower(p.url), lower(?4)) OR instr(lower(p.title), lower(?4))) "
            "ORDER BY p.id DESC LIMIT ?5",
            (before, copies, run, part, limit),
        )

    def copies_of(self, canonical: int, limit: int) -> list[Row]:
        return self._select(
            "WHERE p.canonical = ? AND NOT p.kept ORDER BY p.id DESC LIMIT ?", (canonical, limit)
        )

    def with_body(self, body_digest: bytes, limit: int) -> list[Row]:
        # The scopes and the + make SQLite take the index `pages_by_body` and read no other rows.
        return self._select(
            "WHERE p.listed AND p.scope IN (SELECT id FROM scopes) AND p.body_digest = ?1 "
            "AND ?1 != x'' ORDER BY +p.id LIMIT ?2",
            (body_digest, limit),
        )

    def orphans(self) -> list[Row]:
        # The first condition is the one of the index `pages_unsettled`.
        return self._select(
            "WHERE p.outcome != 'confirmed' AND p.outcome = 'orphaned' ORDER BY p.id", ()
        )

    def row(self, row: int) -> Row:
        rows = self._select("WHERE p.id = ?", (row,))
        if not rows:
            raise NoSuchRow(f"there is no row {row} in {self.name}")
        return rows[0]

    def largest_clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        with self._database.errors():
            largest = self._connection.execute(
                "SELECT canonical, count(*) FROM pages WHERE run = ? AND NOT kept "
                "GROUP BY canonical ORDER BY count(*) DESC, canonical LIMIT ?",
                (run, limit),
            ).fetchall()
        return [(self.row(canonical), size) for canonical, size in largest]

    def clusters(self, limit: int, *, min_copies: int = 1) -> list[ClusterSize]:
        with self._database.errors():
            largest = self._connection.execute(
                "SELECT canonical, count(*), min(similarity) FROM pages "
                "WHERE canonical IS NOT NULL AND NOT kept AND outcome != 'forgotten' "
                "GROUP BY canonical HAVING count(*) >= ? ORDER BY count(*) DESC, canonical LIMIT ?",
                (min_copies, limit),
            ).fetchall()
        return [ClusterSize(self.row(row), copies, alike or 0.0) for row, copies, alike in largest]

    def tallies(self) -> list[Tally]:
        self._connection.create_function("host_of", 1, host_of, deterministic=True)
        with self._database.errors():
            found = self._connection.execute(
                "SELECT run, host_of(url_key), reason, kept, outcome, count(*) FROM pages "
                "GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
            )
            return [tally_of(fields) for fields in found]

    def statistics(self) -> Statistics:
        with self._database.errors():
            (rows,) = self._connection.execute("SELECT ifnull(max(id), 0) FROM pages").fetchone()
            outcomes = dict(
                self._connection.execute(
                    "SELECT outcome, count(*) FROM pages WHERE outcome != 'confirmed' GROUP BY outcome"
                ).fetchall()
            )
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return Statistics(
            rows=rows,
            orphans=outcomes.get("orphaned", 0),
            released=outcomes.get("released", 0),
            forgotten=outcomes.get("forgotten", 0),
            bytes=sum(file.stat().st_size for file in files if file.exists()),
        )

    def verify(self) -> list[str]:
        problems = self._database.integrity()
        with self._reading():
            self.recipe()  # raises where it is none
            self._read_secret()
            for table, statement in DAMAGED.items():
                count, first = self._connection.execute(statement).fetchone()
                if count:
                    what = f"{count} {table} hold what was never written, the first is {first}"
                    return [*problems, what]
            for (scope,) in self._connection.execute("SELECT id FROM scopes ORDER BY id").fetchall():
                for field in SIMHASH_FIELDS:
                    problems += self._verify_list(field, scope)
                if bands := self._bands(scope):
                    found = bands.problems(self._sketches_of_rows(scope))
                    problems += [f"list of bands of scope {scope}: {problem}" for problem in found]
            problems += self._verify_pages()
        return problems

    def _verify_pages(self) -> Iterator[str]:
        stored = self._connection.execute(
            "SELECT CAST(s.page AS BLOB), p.id FROM stored_pages s LEFT JOIN pages p ON p.id = s.row"
        )
        unreadable = strays = 0
        for page, row in stored:
            strays += row is None
            unreadable += not is_readable(page)
        if unreadable:
            yield f"{unreadable} stored {'page' if unreadable == 1 else 'pages'} cannot be read"
        if strays:
            yield f"{strays} stored {'page belongs' if strays == 1 else 'pages belong'} to no row"

    def _verify_list(self, field: str, scope: int) -> Iterator[str]:
        expected = set(self._simhashes_of_rows(field, scope).tolist())
        for problem in self._postings(field, scope).problems(expected):
            yield f"{field} list of scope {scope}, {problem}"

    def rebuild(
        self, blocks: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Make the posting lists anew from the rows, with another number of *blocks* if given.

        One transaction: until it is whole, the file is what it was.  *progress* is told how many
        lists are done, of how many.  Raises `IndexUnavailable` while a crawl is using the index.
        """
        with self._writing():
            self._refuse_while_in_use("rebuild it")
            self._layout_read_at = None  # this may be rolled back
            blocks = blocks or self._blocks
            layout(blocks)  # refuses wrong numbers
            self._connection.execute("DELETE FROM postings")
            self._blocks = blocks
            lists = [
                partial(self._fill_simhashes, field, scope)
                for scope in self._scope_ids()
                for field in SIMHASH_FIELDS
            ]
            lists += [partial(self._fill_bands, scope) for scope in self._scope_ids() if self._banding]
            for done, fill in enumerate(lists, 1):
                fill()
                if progress:
                    progress(done, len(lists))
            self._connection.execute("UPDATE meta SET value = ? WHERE name = 'blocks'", (str(blocks),))

    def band(self, banding: Banding | None, progress: Callable[[int, int], None] | None = None) -> None:
        """Make lists of bands from the rows, or with None take them out, as `rebuild` makes others."""
        with self._writing():
            self._refuse_while_in_use("change its bands")
            self._layout_read_at = None  # as in `rebuild`
            if banding and banding.length > BINS:
                raise ConfigError(
                    f"bands ({banding.bands}) times rows ({banding.rows}) must be at most {BINS}"
                )
            scopes = self._scope_ids()
            for scope in scopes:
                if bands := self._bands(scope):
                    bands.clear()
            self._banding = banding
            for done, scope in enumerate(scopes, 1):
                self._fill_bands(scope)
                if progress:
                    progress(done, len(scopes))
            text = f"{banding.bands}x{banding.rows}" if banding else ""
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('bands', ?)", (text,))

    def _require_bands(self, banding: Banding) -> None:
        with self._reading():
            found = self._banding
        if found != banding:
            self.band(banding)

    def _refuse_while_in_use(self, to_do: str) -> None:
        if any(run.ended is None for run in self.runs()):
            raise IndexUnavailable(f"{self.name} is in use by a crawl; {to_do} when that has ended")

    def _scope_ids(self) -> list[int]:
        scopes = self._connection.execute("SELECT id FROM scopes ORDER BY id").fetchall()
        return [scope for (scope,) in scopes]

    def _fill_simhashes(self, field: str, scope: int) -> None:
        self._postings(field, scope).add_many(self._simhashes_of_rows(field, scope))

    def _fill_bands(self, scope: int) -> None:
        if bands := self._bands(scope):
            bands.add_many(self._sketches_of_rows(scope))

    def _sketches_of_rows(self, scope: int) -> Iterable[Sketched]:
        return self._connection.execute(
            "SELECT id, sketch FROM pages WHERE scope = ? AND listed ORDER BY id", (scope,)
        )

    def _simhashes_of_rows(self, field: str, scope: int) -> Hashes:
        rows = self._connection.execute(
            f"SELECT {field}_simhash FROM pages WHERE scope = ? AND listed AND {field}_simhash != 0",
            (scope,),
        )
        try:
            return np.fromiter((simhash for (simhash,) in rows), np.int64).view(np.uint64)
        except (OverflowError, TypeError, ValueError) as error:
            raise Damaged(f"a row has no number as its {field} simhash") from error

    def recipe(self) -> Mapping[str, str]:
        with self._database.errors():
            rows = self._connection.execute("SELECT name, value FROM meta WHERE name LIKE 'recipe.%'")
            return recipe_of(rows)

    def close(self) -> None:
        self._database.close()
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()

    # What the rules of `Index` ask of a storage

    def _store_recipe(self, recipe: Mapping[str, str]) -> None:
        with self._writing():
            self._connection.executemany(
                "INSERT OR IGNORE INTO meta VALUES (?, ?)",
                [(f"recipe.{name}", value) for name, value in recipe.items()],
            )

    def _noted(self, name: str) -> str:
        with self._database.errors():
            return self._database.meta(name)

    def _note(self, name: str, value: str) -> None:
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _notes_under(self, prefix: str) -> list[str]:
        with self._database.errors():
            found = self._connection.execute(
                "SELECT value FROM meta WHERE name >= ? AND name < ? ORDER BY name", _range(prefix)
            )
            return [value for (value,) in found]

    def _erase_notes(self, prefix: str) -> None:
        with self._writing():
            self._connection.execute("DELETE FROM meta WHERE name >= ? AND name < ?", _range(prefix))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._database.reading():
            self._read_layout()
            yield

    def _writing(self) -> AbstractContextManager[None]:
        # What is part of a transaction sees the layout that this one has read.
        return self._database.writing() if self._connection.in_transaction else self._beginning()

    @contextmanager
    def _beginning(self) -> Iterator[None]:
        with self._database.writing():
            self._read_layout()
            try:
                yield
            except BaseException:
                # A batch may have looked up what is rolled back.
                self._scopes.clear()
                self._forget_facts()
                raise

    def _read_layout(self) -> None:
        # Between two transactions another process may have made the lists anew.
        changes = self._database.changes()
        if changes == self._layout_read_at:
            return
        found = self._connection.execute(
            "SELECT name, value FROM meta WHERE name IN ('blocks', 'bands')"
        )
        self._blocks, self._banding = layout_of(dict(found.fetchall()))
        self._layout_read_at = changes
        self._forget_facts()

    def _forget_facts(self) -> None:
        self._crawls.clear()
        self._has_restored = None

    def _crawl(self, run: int) -> Crawl:
        if run not in self._crawls:
            runs = [run_of(fields) for fields in self._connection.execute(SELECT_RUNS)]
            next_event = max((max(found.began, found.over) for found in runs), default=0) + 1
            upcoming = Run(run, "", "", "", 0.0, began=next_event)
            self._crawls[run] = crawl_of(next((one for one in runs if one.id == run), upcoming), runs)
        return self._crawls[run]

    def _versions(self, sighting: Sighting, crawl: Crawl) -> Sequence[Version]:
        if not sighting.is_named:
            return self._still_shown(sighting, crawl) if sighting.seen_on is not None else []
        scope = self._scope(sighting.kind, sighting.scope)
        column, value = sighting.identity
        of_it = f"p.scope = ?1 AND p.{column} = ?2 AND p.{column} != '' AND p.{NOT_UNDONE} "
        of_it += dry_clause(sighting, crawl, "p.")
        own = listed(crawl.own)
        rows = self._select(
            f"WHERE {of_it}AND p.run = (SELECT p.run FROM pages p WHERE {of_it}AND p.run < ?3 "
            f"AND p.run NOT IN {own} ORDER BY p.run DESC LIMIT 1) "
            "AND CASE p.reason WHEN 'unchanged' THEN p.previous ELSE p.id END NOT IN ("
            f"SELECT p.previous FROM pages p WHERE {of_it}AND p.run IN {own} "
            "AND p.previous IS NOT NULL) ORDER BY p.id",
            (scope, value, sighting.run),
        )
        versions = [self._version(row) for row in rows]
        if versions and not any(version.is_standing(sighting.fingerprint) for version in versions):
            versions += self._still_shown(sighting, crawl)
        return versions

    def _still_shown(self, sighting: Sighting, crawl: Crawl) -> list[Version]:
        """Return its canonicals that show the same, of whatever earlier crawl, unless met again."""
        column, value = sighting.identity
        page = sighting.fingerprint
        shown = "token_digest" if page.tokens else "body_digest"
        same = f"p.{column} = ?3" if sighting.is_named else "p.url_key = '' AND p.item_key = ''"
        rows = self._select(
            f"WHERE p.scope = ?1 AND p.listed AND p.{shown} = ?2 AND {same} AND ?3 IS NOT NULL "
            f"AND p.run < ?4 AND p.run NOT IN {listed(crawl.own)} AND p.outcome = 'confirmed' "
            f"{dry_clause(sighting, crawl, 'p.')}ORDER BY p.id",
            (
                self._scope(sighting.kind, sighting.scope),
                getattr(page, shown),
                value,
                sighting.run,
            ),
        )
        versions = [row.as_version(row) for row in rows]
        return [
            version
            for version in versions
            if version.shows(page) and not self._is_consumed(version.origin, sighting, crawl)
        ]

    def _is_consumed(self, origin: int, sighting: Sighting, crawl: Crawl) -> bool:
        """Whether this crawl has met the version again already that the row *origin* showed first."""
        if not sighting.is_named:
            return self._met(origin, crawl.own, sighting) is not None
        column, value = sighting.identity
        return bool(
            self._select(
                f"WHERE p.scope = ? AND p.{column} = ? AND p.{column} != '' AND p.previous = ? "
                f"AND p.run IN {listed(crawl.own)} AND p.{NOT_UNDONE} "
                f"{dry_clause(sighting, crawl, 'p.')}"
                "LIMIT 1",
                (self._scope(sighting.kind, sighting.scope), value, origin),
            )
        )

    def _met(self, canonical: int, runs: Collection[int], sighting: Sighting) -> Row | None:
        found = self._select(
            f"WHERE p.canonical = ? AND p.run IN {listed(runs)} AND {MET.replace('m.', 'p.')} "
            "AND p.is_dry <= ? ORDER BY p.kept DESC, p.outcome = 'pending', p.id LIMIT 1",
            (canonical, sighting.is_dry),
        )
        return found[0] if found else None

    def _rivals(self, canonical: Canonical, sighting: Sighting, crawl: Crawl) -> list[Canonical]:
        members = self._connection.execute(
            "SELECT id FROM pages WHERE represents = ?", (canonical.cluster,)
        ).fetchall()
        rows = {canonical.cluster, *(row for (row,) in members)} - {canonical.id}
        if not rows:  # as for nearly every page: nothing has ever stood in its place
            return []
        found = self._connection.execute(
            f"{SELECT_CANONICAL} AND id IN {listed(rows)} {not_own(sighting, crawl)} ORDER BY id",
            (self._scope(sighting.kind, sighting.scope), sighting.identity[1]),
        )
        return [canonical_of(fields) for fields in found.fetchall()]

    def _is_restored(self, sighting: Sighting) -> bool:
        return self._any_restored() and bool(self._restored_rows(sighting))

    def _any_restored(self) -> bool:
        if self._has_restored is None:
            self._has_restored = bool(
                self._connection.execute(
                    "SELECT 1 FROM pages WHERE outcome != 'confirmed' AND outcome = 'restored' LIMIT 1"
                ).fetchone()
            )
        return self._has_restored

    def _restored_rows(self, sighting: Sighting) -> list[Row]:
        group = self._scope(sighting.kind, sighting.scope)
        wanted = self._select(
            "WHERE p.outcome != 'confirmed' AND p.outcome = 'restored' AND p.scope = ? ORDER BY p.id",
            (group,),
        )
        return [row for row in wanted if row.sighting.identity == sighting.identity]

    def wanted(self) -> list[Row]:
        return self._select(
            "WHERE p.outcome != 'confirmed' AND p.outcome = 'restored' ORDER BY p.id", ()
        )

    def _add_visit(self, scope: str, host: str, run: int) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO visits SELECT ?, ?, ?, ifnull(max(id), 0) FROM pages",
            (scope, host, run),
        )

    def withheld(self, run: int | None = None) -> list[Withheld]:
        with self._database.errors():
            found = self._connection.execute(
                "SELECT row, url, what, request, run FROM withheld WHERE ?1 IS NULL OR run = ?1 "
                "ORDER BY id",
                (run,),
            )
            return [withheld_of(fields) for fields in found]

    def _add_withheld(self, run: int, requests: Iterable[Withheld]) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO withheld (run, row, url, url_key, what, request) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (run, one.row, kept_url(one.url), url_key(one.url), one.what, one.request)
                for one in requests
            ],
        )

    def visits(self) -> list[Visit]:
        with self._database.errors():
            found = self._connection.execute(
                "SELECT scope, host, run, after FROM visits ORDER BY after, run, scope, host"
            )
            return [visit_of(fields) for fields in found]

    def _delete_visits(self, run: int) -> None:
        self._connection.execute("DELETE FROM visits WHERE run = ?", (run,))

    def _is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        return bool(
            self._connection.execute(
                "SELECT 1 FROM visits WHERE scope IN (?, '') AND host = ? "
                f"AND run IN {listed(runs)} LIMIT 1",
                (scope, host),
            ).fetchone()
        )

    def _has_visited(self, runs: Collection[int]) -> bool:
        return bool(
            self._connection.execute(
                f"SELECT 1 FROM visits WHERE run IN {listed(runs)} LIMIT 1"
            ).fetchone()
        )

    def _was_missed(self, canonical: Canonical, scope: str) -> bool:
        return bool(
            self._connection.execute(
                "SELECT 1 FROM visits v JOIN runs r ON r.id = v.run JOIN runs l ON l.id = ("
                f"SELECT max(run) FROM (SELECT ?4 AS run UNION ALL SELECT m.run FROM pages m "
                f"WHERE m.canonical = ?3 AND {MET})) "
                "WHERE v.scope IN (?1, '') AND v.host = ?2 AND r.ending = 'finished' "
                "AND r.action != 'dry run' AND l.over > 0 AND r.began > l.over LIMIT 1",
                (scope, canonical.host, canonical.id, canonical.run),
            ).fetchone()
        )

    def _rows_elsewhere(self, run: int, runs: Collection[int]) -> list[Row]:
        self._connection.create_function("host_of", 1, host_of, deterministic=True)
        return self._select(
            "WHERE p.is_elsewhere AND p.run = ? AND p.outcome IN ('confirmed', 'orphaned') "
            "AND NOT p.is_dry AND EXISTS (SELECT 1 FROM visits v WHERE v.scope IN (s.scope, '') "
            f"AND v.host = ifnull(c.seen_on, host_of(c.url)) AND v.run IN {listed(runs)}) ORDER BY p.id",
            (run,),
        )

    def _rows_at(self, sighting: Sighting, url_key: str) -> list[Row]:
        scope = self._scope(sighting.kind, sighting.scope)
        return self._select(
            "WHERE p.scope = ? AND p.url_key = ? AND p.url_key != '' AND NOT p.is_dry ORDER BY p.id",
            (scope, url_key),
        )

    def _candidates(self, sighting: Sighting, crawl: Crawl, config: DedupConfig) -> Iterator[Candidates]:
        scope = self._scope(sighting.kind, sighting.scope)
        content, structure = (self._postings(field, scope) for field in SIMHASH_FIELDS)
        bands = self._wanted_bands(scope, banding_of(config))
        own = not_own(sighting, crawl)
        return Search(
            self._connection, sighting, own, scope, content, structure, bands, config
        ).batches()

    def _wanted_bands(self, scope: int, wanted: Banding | None) -> BandList | None:
        if wanted is None:
            return None
        if wanted != self._banding:
            raise IndexMismatch(
                f"{self.name} has no lists of {wanted}; "
                "call `prepare` or make them with `dedup rebuild --bands`"
            )
        return self._bands(scope)

    def _nearest(
        self, simhash: int, kind: str | None, scope: str | None, max_distance: int
    ) -> Neighbour | None:
        nearest: Neighbour | None = None
        for group in self._groups(kind, scope):
            limit = nearest.distance if nearest else max_distance
            if found := self._postings("content", group).nearest(simhash, limit):
                neighbour = Neighbour(self._oldest(group, found[1]), found[0])
                nearest = min(nearest or neighbour, neighbour, key=lambda one: one.order)
        return nearest

    def _near(
        self,
        field: str,
        simhash: int,
        kind: str | None,
        scope: str | None,
        *,
        max_distance: int,
        limit: int,
    ) -> list[Neighbour]:
        found = [
            near
            for group in self._groups(kind, scope)
            for near in self._near_in_group(field, simhash, group, max_distance, limit)
        ]
        return [Neighbour(self.row(row), distance) for distance, row in sorted(found)[:limit]]

    def _near_in_group(
        self, field: str, simhash: int, scope: int, max_distance: int, limit: int
    ) -> list[tuple[int, int]]:
        """Return distances and rows, at most *limit*."""
        simhashes = self._postings(field, scope).near(simhash, max_distance)
        found: list[tuple[int, int]] = []
        if not len(simhashes):
            return found
        for near in by_distance(simhash, simhashes, len(simhashes)):
            distance = (int(near[0]) ^ simhash).bit_count()
            rows = self._connection.execute(
                f"SELECT p.id FROM json_each(?) w CROSS JOIN pages p ON p.scope = ? "
                f"AND p.{field}_simhash = w.value AND p.listed ORDER BY p.id LIMIT ?",
                (json.dumps(near.view(np.int64).tolist()), scope, limit - len(found)),
            )
            found += [(distance, row) for (row,) in rows]
            if len(found) >= limit:
                break
        return found

    def _groups(self, kind: str | None, scope: str | None) -> list[int]:
        found = self._connection.execute(
            "SELECT id FROM scopes WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR scope = ?2)",
            (kind, scope),
        )
        return [group for (group,) in found.fetchall()]

    def _oldest(self, scope: int, simhashes: Hashes) -> Row:
        """Return the oldest canonical with one of the content *simhashes*."""
        (row,) = self._connection.execute(
            "SELECT min(p.id) FROM json_each(?) w CROSS JOIN pages p "
            "ON p.scope = ? AND p.content_simhash = w.value AND p.listed",
            (json.dumps(simhashes.view(np.int64).tolist()), scope),
        ).fetchone()
        return self.row(row)

    def _add(self, sighting: Sighting, verdict: Verdict, outcome: Outcome) -> Row:
        scope = self._scope(sighting.kind, sighting.scope, create=True)
        cursor = self._connection.execute(INSERT, values_of(sighting, verdict, scope, outcome))
        assert cursor.lastrowid is not None
        row = Row(cursor.lastrowid, sighting, verdict, outcome, is_canonical(verdict))
        if row.listed:
            self._add_to_lists(row)
        return row

    def _store_page(self, row: int, page: bytes) -> None:
        self._connection.execute("INSERT INTO stored_pages VALUES (?, ?)", (row, page))

    def _stored_page(self, row: int) -> bytes:
        with self._database.errors():
            found = self._connection.execute(
                "SELECT CAST(page AS BLOB) FROM stored_pages WHERE row = ?", (row,)
            ).fetchone()
        return found[0] if found else b""

    def _delete_pages(self, rows: Sequence[int]) -> None:
        # A text that is to be forgotten shall not stay behind in the free pages of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executemany("DELETE FROM stored_pages WHERE row = ?", [(row,) for row in rows])
        self._connection.execute("PRAGMA secure_delete = OFF")

    def _settle(self, row: int, outcome: Outcome) -> None:
        if outcome is Outcome.RESTORED:
            self._has_restored = True
        self._connection.execute("UPDATE pages SET outcome = ? WHERE id = ?", (outcome, row))

    def _confirm_plain(self, row: int) -> bool:
        if self._any_restored():
            return False
        changed = self._connection.execute(
            "UPDATE pages SET outcome = 'confirmed' "
            "WHERE id = ? AND outcome = 'pending' AND replaces IS NULL",
            (row,),
        ).rowcount
        return bool(changed)

    def _enlist(self, row: Row) -> None:
        self._connection.execute("UPDATE pages SET listed = 1 WHERE id = ?", (row.id,))
        self._add_to_lists(row)

    def _add_to_lists(self, row: Row) -> None:
        for postings, simhash in self._listed_simhashes(row):
            if not self._is_shared(postings, simhash, row.id):
                postings.add(simhash)
        if bands := self._bands(self._scope_of(row)):
            bands.add(row.id, row.sighting.fingerprint.sketch)

    def _delist(self, row: Row) -> None:
        self._connection.execute("UPDATE pages SET listed = 0 WHERE id = ?", (row.id,))
        for postings, simhash in self._listed_simhashes(row):
            if not self._is_shared(postings, simhash, row.id):
                postings.remove(simhash)
        if bands := self._bands(self._scope_of(row)):
            bands.remove(row.id, row.sighting.fingerprint.sketch)

    def _is_shared(self, postings: PostingList, simhash: int, row: int) -> bool:
        """Whether another row than *row* has put *simhash* into the list."""
        found = self._connection.execute(
            f"SELECT 1 FROM pages WHERE scope = ? AND {postings.field}_simhash = ? AND listed "
            "AND id != ? LIMIT 1",
            (postings.scope, signed(simhash), row),
        )
        return found.fetchone() is not None

    def _listed_simhashes(self, row: Row) -> Iterator[tuple[PostingList, int]]:
        scope = self._scope_of(row)
        page = row.sighting.fingerprint
        for field in SIMHASH_FIELDS:
            if simhash := page.simhash(field):
                yield self._postings(field, scope), simhash

    def _postings(self, field: str, scope: int) -> PostingList:
        return PostingList(self._connection, field, scope, blocks=self._blocks)

    def _bands(self, scope: int) -> BandList | None:
        return BandList(self._connection, scope, self._banding) if self._banding else None

    def _scope_of(self, row: Row) -> int:
        return self._scope(row.sighting.kind, row.sighting.scope)

    def _scope(self, kind: str, scope: str, *, create: bool = False) -> int:
        """Return the number of a group of pages, 0 if there is none yet."""
        group = (kind, scope)
        if group in self._scopes:
            return self._scopes[group]
        if create:
            self._connection.execute("INSERT OR IGNORE INTO scopes (kind, scope) VALUES (?, ?)", group)
        found = self._connection.execute(
            "SELECT id FROM scopes WHERE kind = ? AND scope = ?", group
        ).fetchone()
        if found and not create:  # what this transaction made may be rolled back
            self._scopes[group] = found[0]
        return int(found[0]) if found else 0

    def _rows_of_run(self, run: int) -> list[Row]:
        return self._select("WHERE p.run = ? ORDER BY p.id", (run,))

    def _rows_of_url(self, url_key: str) -> list[Row]:
        with self._database.errors():
            scopes = [scope for (scope,) in self._connection.execute("SELECT id FROM scopes")]
        found = [
            row
            for scope in scopes
            for row in self._select(
                "WHERE p.scope = ? AND p.url_key = ? AND p.url_key != ''", (scope, url_key)
            )
        ]
        return sorted(found, key=lambda row: row.id)

    def _keys_around(self, url_key: str) -> list[str]:
        found: list[str] = []
        with self._database.errors():
            for (scope,) in self._connection.execute("SELECT id FROM scopes").fetchall():
                for order, sign in (("DESC", "<"), ("ASC", ">=")):
                    found += [
                        key
                        for (key,) in self._connection.execute(
                            "SELECT DISTINCT url_key FROM pages WHERE scope = ? AND url_key != '' "
                            f"AND url_key {sign} ? AND typeof(url_key) = 'text' "
                            f"ORDER BY url_key {order} LIMIT {_AROUND}",
                            (scope, url_key),
                        )
                    ]
        return found

    def _rows_last_seen_before(self, moment: float) -> list[Row]:
        return self._select(
            "WHERE p.time < ?1 AND NOT EXISTS (SELECT 1 FROM pages r WHERE r.canonical = p.id "
            "AND r.time >= ?1 AND r.outcome != 'forgotten') ORDER BY p.id",
            (moment,),
        )

    def _repeats(self, canonical: int) -> list[Row]:
        return self._select("WHERE p.canonical = ? ORDER BY p.id", (canonical,))

    def _select(self, where: str, values: Iterable[object]) -> list[Row]:
        with self._database.errors():
            rows = self._connection.execute(SELECT + where, tuple(values))
            return [row_of(fields) for fields in rows]


def _range(prefix: str) -> tuple[str, str]:
    """Return between which two names those stand that begin with *prefix*, which is ASCII."""
    return prefix, prefix + "\x7f"


def _database(
    path: str | PathLike[str], *, blocks: int, timeout: float, must_exist: bool, read_only: bool
) -> Database:
    return Database(
        path,
        application_id=APPLICATION_ID,
        version=SCHEMA_VERSION,
        create=partial(create, blocks=blocks),
        migrations=MIGRATIONS,
        timeout=timeout,
        must_exist=must_exist,
        read_only=read_only,
    )
