"""The obviously right index: a list of rows and a linear scan.  Slow; the oracle of the others."""

from __future__ import annotations

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from string import ascii_lowercase, ascii_uppercase

from dedup.index.base import Index
from dedup.recipes.bands import Banding
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import has_equal_tokens, nearness, shared_bands, uses_content, uses_structure
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import SECRET_SIZE
from dedup.values.row import (
    ClusterSize,
    Neighbour,
    NoSuchRow,
    Row,
    Statistics,
    Tally,
    Visit,
    Withheld,
    is_canonical,
    is_elsewhere,
)
from dedup.values.run import DRY_RUN, Crawl, Run, crawl_of
from dedup.values.sighting import Sighting
from dedup.values.simhashes import simhash_distance
from dedup.values.urls import host_of, url_key
from dedup.values.verdict import Candidates, Canonical, Outcome, Verdict, Version

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


class MemoryIndex(Index):
    """An index that lives as long as the object, in this process only."""

    def __init__(self) -> None:
        self._all: list[Row] = []
        self._pages: dict[int, bytes] = {}
        self._runs: list[Run] = []
        self._recipe: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self._restored: set[int] = set()
        self._visits: dict[tuple[str, str, int], int] = {}
        self._secret = secrets.token_bytes(SECRET_SIZE)
        self._withheld: dict[tuple[int, str, str], Withheld] = {}

    @property
    def name(self) -> str:
        return "the index in memory"

    @property
    def secret(self) -> bytes:
        return self._secret

    def begin_run(
        self,
        spider: str = "",
        *,
        job: str = "",
        settings: str = "",
        action: str = "drop",
        crawl: str = "",
    ) -> Run:
        began = self._next_event()
        for run in reversed(self._runs):
            is_over = run.ended is not None and run.ending != "finished"
            is_ours = run.id not in self._restored
            if job and (run.job, run.spider) == (job, spider) and is_over and is_ours:
                resumed = replace(
                    run, ended=None, ending="", action=action, crawl=crawl, began=began, over=0
                )
                self._runs[run.id - 1] = resumed
                return resumed
        number = len(self._runs) + 1
        run = Run(number, spider, job, settings, time.time(), action=action, crawl=crawl, began=began)
        self._runs.append(run)
        return run

    def _next_event(self) -> int:
        return max((max(run.began, run.over) for run in self._runs), default=0) + 1

    def restore_run(self, run: Run) -> Run:
        self._runs.append(replace(run, id=len(self._runs) + 1))
        self._restored.add(self._runs[-1].id)
        return self._runs[-1]

    def end_run(self, run: Run, ending: str) -> None:
        for row in self._rows_of_run(run.id):
            self.release(row.id)
        self._miss(run)
        over = self._next_event()
        self._runs[run.id - 1] = replace(
            self._runs[run.id - 1], ended=time.time(), ending=ending, over=over
        )

    def runs(self) -> list[Run]:
        return list(self._runs)

    def rows(self, run: int | None = None) -> Iterator[Row]:
        return iter([row for row in self._all if run in (None, row.sighting.run)])

    def newest(
        self,
        limit: int,
        *,
        before: int | None = None,
        copies: bool = False,
        run: int = 0,
        part: str = "",
    ) -> list[Row]:
        found = (
            row
            for row in reversed(self._all)
            if (before is None or row.id < before)
            and not (copies and row.verdict.kept)
            and run in (0, row.sighting.run)
            and _has(part, row.sighting.url, row.sighting.title)
        )
        return list(islice(found, limit))

    def copies_of(self, canonical: int, limit: int) -> list[Row]:
        return self._duplicates(canonical)[::-1][:limit]

    def with_body(self, body_digest: bytes, limit: int) -> list[Row]:
        listed = (row for row in self._all if row.listed and body_digest)
        return [row for row in listed if row.sighting.fingerprint.body_digest == body_digest][:limit]

    def largest_clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        dropped = Counter(
            row.verdict.canonical for row in self._rows_of_run(run) if not row.verdict.kept
        )
        largest = sorted(dropped.items(), key=lambda found: (-found[1], found[0] or 0))
        return [(self.row(canonical), size) for canonical, size in largest[:limit] if canonical]

    def clusters(self, limit: int, *, min_copies: int = 1) -> list[ClusterSize]:
        copies: defaultdict[int, list[float]] = defaultdict(list)
        for row in self._all:
            found = row.verdict
            if found.canonical and not found.kept and row.outcome is not Outcome.FORGOTTEN:
                copies[found.canonical].append(found.similarity or 0.0)
        large = [(row, alike) for row, alike in copies.items() if len(alike) >= min_copies]
        large.sort(key=lambda found: (-len(found[1]), found[0]))
        return [ClusterSize(self.row(row), len(alike), min(alike)) for row, alike in large[:limit]]

    def tallies(self) -> list[Tally]:
        counts = Counter(
            (
                row.sighting.run,
                host_of(row.sighting.url_key),
                row.verdict.reason,
                row.verdict.kept,
                row.outcome,
            )
            for row in self._all
        )
        return [Tally(*found, rows) for found, rows in sorted(counts.items())]

    def statistics(self) -> Statistics:
        outcomes = Counter(row.outcome for row in self._all)
        return Statistics(
            rows=len(self._all),
            orphans=outcomes[Outcome.ORPHANED],
            released=outcomes[Outcome.RELEASED],
            forgotten=outcomes[Outcome.FORGOTTEN],
            bytes=0,
        )

    def verify(self) -> list[str]:
        return []

    def recipe(self) -> Mapping[str, str]:
        return self._recipe

    def close(self) -> None:
        """Nothing to close."""

    def _store_recipe(self, recipe: Mapping[str, str]) -> None:
        self._recipe = dict(recipe)

    def _noted(self, name: str) -> str:
        return self._notes.get(name, "")

    def _note(self, name: str, value: str) -> None:
        self._notes[name] = value

    def _notes_under(self, prefix: str) -> list[str]:
        return [text for name, text in sorted(self._notes.items()) if name.startswith(prefix)]

    def _erase_notes(self, prefix: str) -> None:
        self._notes = {name: text for name, text in self._notes.items() if not name.startswith(prefix)}

    def _reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def batch(self) -> Iterator[None]:
        before = list(self._all), list(self._runs), dict(self._pages), dict(self._notes)
        visits, withheld = dict(self._visits), dict(self._withheld)
        try:
            yield
        except BaseException:
            self._all, self._runs, self._pages, self._notes = before
            self._visits, self._withheld = visits, withheld
            raise

    def _crawl(self, run: int) -> Crawl:
        upcoming = Run(run, "", "", "", 0.0, began=self._next_event())
        found = self._runs[run - 1] if 0 < run <= len(self._runs) else upcoming
        return crawl_of(found, self._runs)

    def _versions(self, sighting: Sighting, crawl: Crawl) -> Sequence[Version]:
        if not sighting.is_named:
            return self._same(sighting, crawl) if sighting.seen_on is not None else []
        own = [
            row
            for row in self._visible(sighting, crawl)
            if row.sighting.identity == sighting.identity and not row.outcome.is_undone
        ]
        met_again = {row.verdict.previous for row in own if row.sighting.run in crawl.own}
        earlier = [
            row for row in own if row.sighting.run < sighting.run and row.sighting.run not in crawl.own
        ]
        last = max((row.sighting.run for row in earlier), default=0)
        left = [row for row in earlier if row.origin not in met_again]
        versions = [self._version(row) for row in left if row.sighting.run == last]
        if versions and not any(version.is_standing(sighting.fingerprint) for version in versions):
            still = (row for row in left if _still_shows(row, sighting.fingerprint))
            versions += [self._version(row) for row in still]
        return versions

    def _same(self, sighting: Sighting, crawl: Crawl) -> list[Version]:
        return [
            self._version(row)
            for row in self._visible(sighting, crawl)
            if row.sighting.identity == sighting.identity
            and row.sighting.run < sighting.run
            and row.sighting.run not in crawl.own
            and _still_shows(row, sighting.fingerprint)
            and not self._met(row.id, crawl.own, sighting)
        ]

    def _met(self, canonical: int, runs: Collection[int], sighting: Sighting) -> Row | None:
        found = [
            row
            for row in self._all
            if row.is_met_again
            and row.verdict.canonical == canonical
            and row.sighting.run in runs
            and row.sighting.is_dry <= sighting.is_dry
        ]
        return min(
            found,
            key=lambda row: (not row.verdict.kept, row.outcome is Outcome.PENDING, row.id),
            default=None,
        )

    def _rivals(self, canonical: Canonical, sighting: Sighting, crawl: Crawl) -> list[Canonical]:
        others = [row.as_canonical() for row in self._others(sighting, crawl)]
        return [
            other for other in others if other.cluster == canonical.cluster and other.id != canonical.id
        ]

    def _is_restored(self, sighting: Sighting) -> bool:
        return bool(self._restored_rows(sighting))

    def _restored_rows(self, sighting: Sighting) -> list[Row]:
        return [
            row
            for row in self._group(sighting)
            if row.outcome is Outcome.RESTORED and row.sighting.identity == sighting.identity
        ]

    def wanted(self) -> list[Row]:
        return [row for row in self._all if row.outcome is Outcome.RESTORED]

    def _add_visit(self, scope: str, host: str, run: int) -> None:
        self._visits.setdefault((scope, host, run), len(self._all))

    def withheld(self, run: int | None = None) -> list[Withheld]:
        return [found for found in self._withheld.values() if run in (None, found.run)]

    def _add_withheld(self, run: int, requests: Iterable[Withheld]) -> None:
        for request in requests:
            place = (run, request.what, url_key(request.url))
            self._withheld.setdefault(place, replace(request, run=run))

    def visits(self) -> list[Visit]:
        visits = [Visit(*place, after) for place, after in self._visits.items()]
        return sorted(visits, key=lambda visit: (visit.after, visit.run, visit.scope, visit.host))

    def _delete_visits(self, run: int) -> None:
        self._visits = {visit: after for visit, after in self._visits.items() if visit[2] != run}

    def _is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        return any((one, host, run) in self._visits for run in runs for one in (scope, ""))

    def _has_visited(self, runs: Collection[int]) -> bool:
        return any(run in runs for _, _, run in self._visits)

    def _was_missed(self, canonical: Canonical, scope: str) -> bool:
        met = [row.sighting.run for row in self._repeats(canonical.id) if row.is_met_again]
        last = self._runs[max([canonical.run, *met]) - 1]
        return bool(last.over) and any(
            run.ending == "finished"
            and run.action != DRY_RUN
            and run.began > last.over
            and self._is_visited(scope, canonical.host, [run.id])
            for run in self._runs
        )

    def _rows_elsewhere(self, run: int, runs: Collection[int]) -> list[Row]:
        return [
            row
            for row in self._rows_of_run(run)
            if is_elsewhere(row.verdict)
            and row.outcome in (Outcome.CONFIRMED, Outcome.ORPHANED)
            and not row.sighting.is_dry
            and self._is_visited(
                row.sighting.scope, self.row(row.verdict.canonical or 0).sighting.host, runs
            )
        ]

    def _visible(self, sighting: Sighting, crawl: Crawl) -> list[Row]:
        """Return the rows of its group, of dry runs only those of its own crawl, if it is of one."""
        return [
            row
            for row in self._group(sighting)
            if not row.sighting.is_dry or (sighting.is_dry and row.sighting.run in crawl.alive)
        ]

    def _others(self, sighting: Sighting, crawl: Crawl) -> list[Row]:
        """Return the listed rows that are no own versions of *sighting* from other crawls."""
        rows = self._visible(sighting, crawl)
        met_again = {
            row.verdict.canonical
            for row in rows
            if row.is_met_again
            and row.sighting.run in crawl.own
            and row.sighting.identity == sighting.identity
        }
        return [
            row
            for row in rows
            if row.listed
            and row.sighting.item_key == sighting.item_key
            and (
                row.sighting.run in crawl.own
                or not sighting.is_named
                or row.sighting.identity != sighting.identity
                or row.id in met_again
            )
        ]

    def _rows_at(self, sighting: Sighting, url_key: str) -> list[Row]:
        group = [row for row in self._group(sighting) if not row.sighting.is_dry]
        return [row for row in group if row.sighting.url_key == url_key]

    def _candidates(self, sighting: Sighting, crawl: Crawl, config: DedupConfig) -> list[Candidates]:
        page = sighting.fingerprint
        group = [row for row in self._group(sighting) if row.listed]
        others = [row.as_canonical() for row in self._others(sighting, crawl)]
        if sighting.item_key:
            return [Candidates(sorted(others, key=lambda other: nearness(page, other)), len(others))]
        first = [
            other
            for other in others
            if page.body_digest == other.fingerprint.body_digest
            or has_equal_tokens(other.fingerprint, page)
        ]
        prints = [row.sighting.fingerprint for row in group]
        simhashes = [other.content_simhash for other in prints]
        if uses_content(config):
            first += _nearest(page.content_simhash, others, simhashes, config)
        rest = _with_most_bands(page, others, config)
        if uses_structure(config):
            simhashes = [other.structure_simhash for other in prints]
            rest += _newest(page.structure_simhash, others, simhashes, config)
        seen: set[int] = set()
        batches = []
        for near in (first, rest):
            new = {other.id: other for other in near if other.id not in seen}
            seen.update(new)
            ordered = sorted(new.values(), key=lambda other: nearness(page, other))
            batches.append(Candidates(ordered, len(ordered)))
        return batches

    def _group(self, sighting: Sighting) -> list[Row]:
        group = (sighting.kind, sighting.scope)
        return [row for row in self._all if (row.sighting.kind, row.sighting.scope) == group]

    def _add(self, sighting: Sighting, verdict: Verdict, outcome: Outcome) -> Row:
        row = Row(len(self._all) + 1, sighting, verdict, outcome, is_canonical(verdict))
        self._all.append(row)
        return row

    def _store_page(self, row: int, page: bytes) -> None:
        self._pages[row] = page

    def _stored_page(self, row: int) -> bytes:
        return self._pages.get(row, b"")

    def _delete_pages(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._pages.pop(row, None)

    def _settle(self, row: int, outcome: Outcome) -> None:
        self._all[row - 1] = replace(self.row(row), outcome=outcome)

    def _enlist(self, row: Row) -> None:
        self._all[row.id - 1] = replace(self.row(row.id), listed=True)

    def _delist(self, row: Row) -> None:
        self._all[row.id - 1] = replace(self.row(row.id), listed=False)

    def _require_bands(self, banding: Banding) -> None:
        """A linear scan needs none."""

    def _nearest(
        self, simhash: int, kind: str | None, scope: str | None, max_distance: int
    ) -> Neighbour | None:
        near = self._near("content", simhash, kind, scope, max_distance=max_distance, limit=1)
        return near[0] if near else None

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
        near = [
            Neighbour(row, distance)
            for row in self._all
            if row.listed
            and kind in (None, row.sighting.kind)
            and scope in (None, row.sighting.scope)
            and (distance := simhash_distance(simhash, row.sighting.fingerprint.simhash(field)))
            is not None
            and distance <= max_distance
        ]
        return sorted(near, key=lambda neighbour: neighbour.order)[:limit]

    def _keys_around(self, url_key: str) -> list[str]:  # noqa: ARG002
        return [key for row in self._all if (key := row.sighting.url_key)]

    def orphans(self) -> list[Row]:
        return [row for row in self._all if row.outcome is Outcome.ORPHANED]

    def row(self, row: int) -> Row:
        if not 0 < row <= len(self._all):
            raise NoSuchRow(f"there is no row {row} in {self.name}")
        return self._all[row - 1]

    def _rows_of_run(self, run: int) -> list[Row]:
        return [row for row in self._all if row.sighting.run == run]

    def _rows_of_url(self, url_key: str) -> list[Row]:
        return [row for row in self._all if url_key and row.sighting.url_key == url_key]

    def _rows_last_seen_before(self, moment: float) -> list[Row]:
        fresh = {
            row.verdict.canonical
            for row in self._all
            if row.sighting.time >= moment and row.outcome is not Outcome.FORGOTTEN
        }
        return [row for row in self._all if row.sighting.time < moment and row.id not in fresh]

    def _repeats(self, canonical: int) -> list[Row]:
        return [row for row in self._all if row.verdict.canonical == canonical]


def _still_shows(row: Row, page: Fingerprint) -> bool:
    """Whether *row* is a canonical that shows what *page* shows, of whatever crawl."""
    is_standing = row.listed and row.outcome is Outcome.CONFIRMED
    return is_standing and row.as_version(row).shows(page)


def _has(part: str, *texts: str) -> bool:
    return any(part.translate(_LOWER) in text.translate(_LOWER) for text in texts)


def _nearest(
    simhash: int, others: list[Canonical], simhashes: list[int], config: DedupConfig
) -> list[Canonical]:
    near = _near(simhash, simhashes, config.max_distance, config)
    found = [other for other in others if other.fingerprint.content_simhash in near]
    found.sort(key=lambda other: ((other.fingerprint.content_simhash ^ simhash).bit_count(), other.id))
    return found[: config.max_candidates]


def _newest(
    simhash: int, others: list[Canonical], simhashes: list[int], config: DedupConfig
) -> list[Canonical]:
    near = _near(simhash, simhashes, config.structure_max_distance, config)
    found = [other for other in others if other.fingerprint.structure_simhash in near]
    return found[-config.max_structure_candidates :]


def _with_most_bands(page: Fingerprint, others: list[Canonical], config: DedupConfig) -> list[Canonical]:
    shared = {other.id: shared_bands(other.fingerprint.sketch, page.sketch, config) for other in others}
    found = [other for other in others if shared[other.id]]
    found.sort(key=lambda other: (-shared[other.id], other.id))
    return found[: config.max_candidates]


def _near(simhash: int, simhashes: list[int], limit: int, config: DedupConfig) -> set[int]:
    """Return the simhashes nearest to *simhash* within *limit* bits, as many as may be looked at."""
    near = {other for other in simhashes if _is_near(simhash, other, limit)}
    ordered = sorted(near, key=lambda other: ((other ^ simhash).bit_count(), other))
    return set(ordered[: config.max_candidates])


def _is_near(a: int, b: int, limit: int) -> bool:
    distance = simhash_distance(a, b)
    return distance is not None and distance <= limit
