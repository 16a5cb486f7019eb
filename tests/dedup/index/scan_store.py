"""The obviously right store: a list of rows and a linear scan.  Slow; the oracle of the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from dedup.index import Index
from dedup.index.rows import (
    AnyRecord,
    Group,
    Note,
    Order,
    Pool,
    Prefix,
    Query,
    Record,
    Store,
    StoredPage,
    Token,
)
from dedup.recipes.config import DedupConfig
from dedup.rule.site import told_by, told_by_copy
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import simhash_distance
from dedup.values.row import (
    Glance,
    KeptText,
    Row,
    Run,
    Statistics,
    Visit,
    Withheld,
    glance_of,
)
from dedup.values.verdict import Candidates, Outcome, Reason, Verdict
from tests.dedup.index.scan import scan


def is_elsewhere(verdict: Verdict) -> bool:
    """Return whether *verdict* leans on a page of a host that the crawl had not visited."""
    return verdict.standing is not None and verdict.standing.is_elsewhere


def kept_text(row: Row, repeated: bytes) -> KeptText:
    """Return what *row* tells about its site."""
    seen = row.sighting
    traits = seen.fingerprint.traits
    group, told = (seen.kind, seen.scope), told_by(seen.fingerprint.sample, traits)
    told = told if row.verdict.kept else told_by_copy(traits, repeated)
    is_new = row.verdict.reason in (Reason.NEW, Reason.NEAR_DUPLICATE)
    found = KeptText(row.id, group, seen.host, seen.run, seen.is_dry, is_new, row.outcome, told)
    return found._replace(is_kept=row.verdict.kept)


def tells_of_site(row: Row) -> bool:
    """Return whether *row* was kept, or was dropped as a near copy and lost a word."""
    found = row.verdict
    is_near = found.reason is Reason.NEAR_DUPLICATE and (found.lost or 0) > 0
    return bool(row.sighting.fingerprint.sample) and (found.kept or is_near)


# What tells a record from all others of its kind, and the order of the kind, None for that of time.
_KEYS: dict[type, Callable[[Any], Any]] = {
    Run: lambda run: run.id,
    Visit: lambda visit: visit[:3],
    Withheld: lambda one: (one.run, one.what, one.url_key),
    Note: lambda note: note.name,
    StoredPage: lambda page: page.row,
}
_ORDERS: dict[type, Callable[[Any], Any]] = {
    Run: lambda run: run.id,
    Visit: lambda visit: (visit.after, visit.run, visit.scope, visit.host),
    Note: lambda note: note.name,
    StoredPage: lambda page: page.row,
}

# What the conditions of a `Query` mean, but for `unseen_since`.
_CONDITIONS: dict[str, Callable[[Row, Any], bool]] = {
    "ids": lambda row, ids: row.id in ids,
    "after": lambda row, number: row.id > number,
    "group": lambda row, group: (row.sighting.kind, row.sighting.scope) == group,
    "url_key": lambda row, key: row.sighting.url_key == key,
    "item_key": lambda row, key: row.sighting.item_key == key,
    "body_digest": lambda row, digest: row.sighting.fingerprint.body_digest == digest,
    "token_digest": lambda row, digest: row.sighting.fingerprint.token_digest == digest,
    "canonical": lambda row, number: row.verdict.canonical == number,
    "previous": lambda row, number: row.verdict.previous == number,
    "cluster": lambda row, number: row.verdict.represents == number,
    "runs": lambda row, runs: row.sighting.run in runs,
    "not_runs": lambda row, runs: row.sighting.run not in runs,
    "before_run": lambda row, run: row.sighting.run < run,
    "dry_runs": lambda row, runs: not row.sighting.is_dry or row.sighting.run in runs,
    "outcomes": lambda row, outcomes: row.outcome in outcomes,
    "kept": lambda row, kept: row.verdict.kept is kept,
    "listed": lambda row, listed: row.listed is listed,
    "replaces": lambda row, replaces: (row.verdict.replaces is not None) is replaces,
    "represents": lambda row, stands_in: (row.verdict.represents is not None) is stands_in,
    "elsewhere": lambda row, elsewhere: is_elsewhere(row.verdict) is elsewhere,
    "met_again": lambda row, met: row.is_met_again is met,
}
_ROW_ORDERS: dict[Order, Callable[[Row], Any]] = {
    Order.OLDEST: lambda row: row.id,
    Order.NEWEST: lambda row: -row.id,
    Order.LAST_RUN: lambda row: (-row.sighting.run, -row.id),
}


@dataclass(slots=True)
class _Held:
    """All that a store holds: in a transaction that is undone, what it held before."""

    rows: list[Row] = field(default_factory=list)
    records: defaultdict[type, dict[Any, Any]] = field(default_factory=lambda: defaultdict(dict))

    def copy(self) -> _Held:
        held = _Held(list(self.rows))
        held.records.update({kind: dict(records) for kind, records in self.records.items()})
        return held


class ScanIndex(Index):
    """The index over a `ScanStore`."""

    def __init__(self) -> None:
        super().__init__(ScanStore())


class ScanStore(Store):
    """A store that lives as long as the object, in this process only."""

    def __init__(self) -> None:
        self._held = _Held()
        self._in_transaction = False
        self._undone = self._changes = 0

    @property
    def name(self) -> str:
        return "the index of the oracle"

    @contextmanager
    def transaction(
        self,
        *,
        writing: bool,
        beside: bool = False,
    ) -> Iterator[None]:
        if self._in_transaction or not writing:
            yield
            return
        before, self._in_transaction = self._held.copy(), True
        try:
            yield
        except BaseException:
            self._held = before
            self._undone += 1
            raise
        finally:
            self._in_transaction = False

    def add(self, row: Row, page: bytes = b"") -> Row:
        added = replace(row, id=len(self._held.rows) + 1)
        self._held.rows.append(added)
        self._changes += 1
        if page:
            self.put(StoredPage(added.id, page))
        return added

    def change(self, which: Query, *, outcome: Outcome | None = None, listed: bool | None = None) -> int:
        rows = list(self.rows(which))
        for row in rows:
            self._held.rows[row.id - 1] = replace(
                row,
                outcome=row.outcome if outcome is None else outcome,
                listed=row.listed if listed is None else listed,
            )
        self._changes += 1
        return len(rows)

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        old = self._held.rows[row - 1]
        self._held.rows[row - 1] = replace(old, sighting=replace(old.sighting, fingerprint=fingerprint))
        self._changes += 1

    def rows(self, query: Query) -> Iterator[Row]:
        rows = matching(query, self._held.rows)
        if query.unseen_since is not None:
            seen = self._repeated_since(query.unseen_since)
            rows = [row for row in rows if row.sighting.time < query.unseen_since and row.id not in seen]
        return islice(sorted(rows, key=_ROW_ORDERS[query.order]), query.limit)

    def _repeated_since(self, moment: float) -> set[int | None]:
        return {
            row.verdict.canonical
            for row in self._held.rows
            if row.sighting.time >= moment and row.outcome is not Outcome.FORGOTTEN
        }

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        group = list(self.rows(Query(group=pool.group, listed=True)))
        return scan(page, group, pool, config)

    def token(self, group: Group) -> Token:
        return self._changes, self._undone

    @property
    def undone(self) -> int:
        return self._undone

    def state(self) -> int:
        return self._undone

    def put(self, *records: Record, renew: bool = True) -> None:
        for record in records:
            held, key = self._held.records[type(record)], _KEYS[type(record)](record)
            if renew or key not in held:
                held[key] = record

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        records = [one for one in self._held.records[kind].values() if _fits(one, fields)]
        return (sorted(records, key=_ORDERS[kind]) if kind in _ORDERS else records)[:limit]

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        held = self._held.records[kind]
        self._held.records[kind] = {key: one for key, one in held.items() if not _fits(one, fields)}

    def add_run(self, run: Run) -> Run:
        added = replace(run, id=len(self._held.records[Run]) + 1)
        self.put(added)
        return added

    def lease(self, run: int) -> None:
        """Whoever reaches this store is the process that holds its runs."""

    def release(self, run: int) -> None:
        """See `lease`."""

    def is_leased(self, run: int) -> bool:
        return True

    def last(self) -> int:
        return len(self._held.rows)

    def glances(self, after: int, outcome: Outcome | None) -> Iterator[Glance]:
        wanted = None if outcome is None else (outcome,)
        return map(glance_of, self.rows(Query(after=after, outcomes=wanted)))

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        if rows is None:
            found = self._held.rows[max(after, 0) :]
        else:
            found = [self._held.rows[row - 1] for row in sorted(rows)]
        for row in filter(tells_of_site, found):
            canonical = self._held.rows[(row.verdict.canonical or row.id) - 1]
            yield kept_text(row, canonical.sighting.fingerprint.token_digest)

    def statistics(self) -> Statistics:
        outcomes = Counter(row.outcome for row in self._held.rows)
        return Statistics(
            rows=len(self._held.rows),
            orphans=outcomes[Outcome.ORPHANED],
            released=outcomes[Outcome.RELEASED],
            forgotten=outcomes[Outcome.FORGOTTEN],
            bytes=0,
        )

    def clusters(
        self, *, run: int | None, forgotten: bool, min_copies: int, limit: int
    ) -> list[tuple[int, int, float]]:
        copies: defaultdict[int, list[float]] = defaultdict(list)
        runs = None if run is None else frozenset((run,))
        for row in self.rows(Query(kept=False, runs=runs)):
            if row.verdict.canonical and (forgotten or row.outcome is not Outcome.FORGOTTEN):
                copies[row.verdict.canonical].append(row.verdict.similarity or 0.0)
        large = [
            (canonical, len(alike), min(alike))
            for canonical, alike in copies.items()
            if len(alike) >= min_copies
        ]
        return sorted(large, key=lambda cluster: (-cluster[1], cluster[0]))[:limit]

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        found = [
            (distance, row.id)
            for row in self.rows(Query(listed=True))
            if (distance := simhash_distance(simhash, row.sighting.fingerprint.simhash(field)))
            is not None
            and distance <= max_distance
        ]
        return sorted(found)[:limit]

    def urls_around(self, url_key: str) -> list[str]:
        return [key for row in self._held.rows if (key := row.sighting.url_key)]

    def prepare(self, config: DedupConfig) -> None:
        """A linear scan needs no lists."""

    def problems(self) -> list[str]:
        return []

    def wait_at_most(self, seconds: float) -> None:
        """There are no others."""

    def close(self) -> None:
        """Nothing to close."""


def matching(query: Query, rows: list[Row]) -> list[Row]:
    """Return those of *rows* that meet the conditions of *query*, but for `unseen_since`."""
    given = {name: value for name, value in query._asdict().items() if value is not None}
    wanted = [(holds, given[name]) for name, holds in _CONDITIONS.items() if name in given]
    return [row for row in rows if all(holds(row, value) for holds, value in wanted)]


def _fits(record: object, fields: dict[str, Any]) -> bool:
    return all(_is_restored(getattr(record, name), wanted) for name, wanted in fields.items())


def _is_restored(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Prefix):
        return str(value).startswith(wanted)
    if isinstance(wanted, Collection) and not isinstance(wanted, str | bytes):
        return value in wanted
    return bool(value == wanted)
