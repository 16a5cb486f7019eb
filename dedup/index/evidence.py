"""What an index knows about one page that is to be judged: the `Past` that `decide` asks about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dedup.index.facts import Facts
from dedup.index.stores.base import NOT_UNDONE, Order, Pool, Query, Store, first, the_row
from dedup.recipes.config import DedupConfig
from dedup.rule.decide import Past
from dedup.rule.frozen import FrozenSites
from dedup.rule.keys import nearness
from dedup.rule.site import SiteContext
from dedup.values.exceptions import Exceptions
from dedup.values.row import Row
from dedup.values.run import DRY_RUN, Crawl, Run
from dedup.values.sighting import Sighting
from dedup.values.urls import url_key
from dedup.values.verdict import Candidates, Canonical, Outcome, Standing, Version

_NO_RUNS: frozenset[int] = frozenset()
_FEW = 2


@dataclass(slots=True)
class Evidence:
    """What *store* knows about the page of *sighting*, for the run that has seen it.

    An own version of the page is a row of the same identity, from another crawl.
    """

    store: Store
    facts: Facts
    sighting: Sighting
    frozen: FrozenSites | None = None
    crawl: Crawl = field(init=False)
    dry_runs: frozenset[int] = field(init=False)
    _latest: list[Row] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.crawl = self.facts.crawl(self.sighting.run)
        self.dry_runs = self.crawl.alive if self.sighting.is_dry else _NO_RUNS

    def past(self, config: DedupConfig, *, is_restored: bool = False) -> Past:
        """Return what `decide` asks about; a page that *is_restored* is kept, whatever it repeats."""
        versions = self.versions()
        return Past(
            versions=versions,
            candidates=lambda: self.candidates(config),
            declared=self._declared() if config.canonical_link == "decide" else None,
            standing=self.standing,
            rivals=self.rivals,
            is_restored=is_restored or self._is_restored(versions),
            site=lambda: self.site(config),
            originals=lambda: self.originals(config.exceptions),
            is_stranger=self._strangers(config.exceptions),
        )

    def site(self, config: DedupConfig) -> SiteContext:
        """Return what is on the pages of its site that this crawl delivers, or that any crawl did.

        Where unchanged pages are dropped, whatever any crawl has kept counts as delivered.  Pages
        without a URL are a site of their own.  What is *frozen* takes the place of all that.
        """
        seen = self.sighting
        if self.frozen is not None:
            return self.frozen.site(seen.host)
        runs = None if config.unchanged == "drop" else self.crawl.alive
        return self.facts.site((seen.kind, seen.scope), seen.host, runs, self.dry_runs)

    # Own versions

    def versions(self) -> list[Version]:
        """Return the own versions of the last earlier run that this crawl has not met again yet.

        If none of them is a canonical that shows the same, those of any earlier run that do are added.
        """
        seen = self.sighting
        if not seen.is_named:
            return self._still_shown(_NO_RUNS) if seen.seen_on is not None else []
        last, rows = self._last_met()
        met_again = {row.verdict.previous for row in rows if row.sighting.run in self.crawl.own}
        left = [row for row in rows if row.sighting.run == last and row.origin not in met_again]
        versions = [self._version(row) for row in sorted(left, key=lambda row: row.id)]
        if versions and not any(version.is_standing(seen.fingerprint) for version in versions):
            versions += self._still_shown(met_again)
        return versions

    def _last_met(self) -> tuple[int, list[Row]]:
        """Return the last earlier run of another crawl that met the page, and rows of it and this crawl.

        The run is 0 where there is none.
        """
        own, latest = self.crawl.own, self._latest_rows()
        earlier = [row.sighting.run for row in latest if self._is_earlier(row)]
        if len(latest) < _FEW:
            return max(earlier, default=0), latest
        if len(earlier) == len(set(earlier)) == _FEW and max(earlier) < min(own):
            return earlier[0], latest[:1]
        query = self._of_it(not_runs=own, before_run=self.sighting.run, order=Order.LAST_RUN, limit=1)
        if not (newest := first(self.store.rows(query))):
            return 0, latest
        last = newest.sighting.run
        return last, list(self.store.rows(self._of_it(runs=own | {last})))

    def _is_earlier(self, row: Row) -> bool:
        return row.sighting.run < self.sighting.run and row.sighting.run not in self.crawl.own

    def _latest_rows(self) -> list[Row]:
        """Return the latest rows of the same identity, as many as are mostly enough."""
        if self._latest is None:
            self._latest = list(self.store.rows(self._of_it(order=Order.LAST_RUN, limit=_FEW)))
        return self._latest

    def _of_it(self, **conditions: Any) -> Query:
        """Return a query for the rows of the same identity that count and were not taken back."""
        return self._same(outcomes=NOT_UNDONE, **conditions)

    def _same(self, **conditions: Any) -> Query:
        seen = self.sighting
        column, value = seen.identity
        conditions[column] = value
        return Query(group=(seen.kind, seen.scope), dry_runs=self.dry_runs, **conditions)

    def _version(self, row: Row) -> Version:
        canonical = row.verdict.canonical
        if canonical is None:
            return row.as_version(row)
        known = (one for one in self._latest_rows() if one.id == canonical)
        return row.as_version(next(known, None) or the_row(self.store, canonical))

    def _still_shown(self, met_again: Collection[int | None]) -> list[Version]:
        """Return own canonicals of any earlier crawl that show the same and were not met again."""
        seen, page = self.sighting, self.sighting.fingerprint
        conditions: dict[str, Any] = {"before_run": seen.run, "not_runs": self.crawl.own}
        if page.tokens:
            conditions["token_digest"] = page.token_digest
        else:
            conditions["body_digest"] = page.body_digest
        if not seen.is_named:
            conditions |= {"url_key": "", "item_key": ""}
        rows = self.store.rows(self._same(listed=True, outcomes=(Outcome.CONFIRMED,), **conditions))
        versions = [row.as_version(row) for row in rows]
        return [
            version
            for version in versions
            if version.shows(page)
            and version.origin not in met_again
            and (seen.is_named or not self.met(version.origin, self.crawl.own))
        ]

    # Other pages

    def pool(self) -> Pool:
        """Return what the page is compared with: of own versions only those its crawl has met again."""
        seen = self.sighting
        group = (seen.kind, seen.scope)
        if not (seen.is_named and self._latest_rows()):
            return Pool(group, dry_runs=self.dry_runs)
        own = self.store.rows(self._same(listed=True, not_runs=self.crawl.own))
        without = {row.id for row in own}
        if without:
            met = self.store.rows(self._same(met_again=True, runs=self.crawl.own))
            without -= {row.verdict.canonical for row in met}
        return Pool(group, frozenset(without), self.dry_runs)

    def candidates(self, config: DedupConfig) -> Iterable[Candidates]:
        """Return what the page may repeat, in the order of `nearness`; with a key, all of that key."""
        seen, pool = self.sighting, self.pool()
        if not seen.item_key:
            return self.store.candidates(seen.fingerprint, pool, config)
        rows = self.store.rows(self._same(listed=True))
        canonicals = [row.as_canonical() for row in rows if pool.has(row)]
        canonicals.sort(key=lambda canonical: nearness(seen.fingerprint, canonical))
        return [Candidates(canonicals, len(canonicals))]

    def rivals(self, canonical: Canonical) -> list[Canonical]:
        """Return the others in the cluster of *canonical* that the page is compared with."""
        if not self.facts.has_substitutes():
            return []
        members = list(self.store.rows(Query(cluster=canonical.cluster)))
        if canonical.cluster != canonical.id:
            members.append(the_row(self.store, canonical.cluster))
        if not members:  # as for nearly every page: nothing has ever stood in its place
            return []
        pool, key = self.pool(), self.sighting.item_key
        others = [row for row in members if pool.has(row) and row.sighting.item_key == key]
        return [row.as_canonical() for row in others if row.id != canonical.id]

    def _declared(self) -> Canonical | None:
        """Return the canonical that the page's declared URL (``rel=canonical``) leads to, if to any."""
        seen = self.sighting
        if seen.canonical_key in ("", seen.url_key):
            return None
        group = (seen.kind, seen.scope)
        rows = self.store.rows(Query(group=group, url_key=seen.canonical_key, dry_runs=_NO_RUNS))
        for row in reversed(list(rows)):
            number = row.verdict.canonical
            canonical = row if number is None else the_row(self.store, number)
            is_own = canonical.sighting.url_key == seen.url_key
            if canonical.listed and not is_own and canonical.sighting.item_key == seen.item_key:
                return canonical.as_canonical()
        return None

    # What somebody said of pairs

    def originals(self, exceptions: Exceptions) -> list[Canonical]:
        """Return the canonicals that were kept at the URLs that the page is said to be a copy of."""
        seen = self.sighting
        group = (seen.kind, seen.scope)
        found: list[Canonical] = []
        for key in exceptions.originals(seen.url_key) if exceptions.copies else ():
            query = Query(group=group, url_key=key, listed=True, dry_runs=self.dry_runs)
            rows = [row for row in self.store.rows(query) if row.sighting.item_key == seen.item_key]
            found += [row.as_canonical() for row in reversed(rows)]
        return found

    def _strangers(self, exceptions: Exceptions) -> Callable[[Canonical], bool]:
        """Return what tells whether a canonical is a page that this one is said to differ from.

        This also holds for a canonical that such a page was dropped for: it stands in that page's place.
        """
        seen = self.sighting
        if not exceptions.different or not (keys := exceptions.strangers(seen.url_key)):
            return lambda _: False
        rows: set[int] = set()
        for key in keys:
            for row in self.store.rows(Query(group=(seen.kind, seen.scope), url_key=key)):
                rows |= {row.id, row.verdict.canonical or row.id}
        return lambda canonical: (
            url_key(canonical.url) in keys or not rows.isdisjoint((canonical.id, canonical.cluster))
        )

    # How another page stands

    def standing(self, canonical: Canonical) -> Standing | None:
        """Return how *canonical* stands in the crawl, None where it does not.

        It stands if the crawl has kept it or met it again, or if it is on a host that the crawl has not
        visited, unless a later crawl that visited it came to its end without meeting the page.  For a
        crawl that visits no hosts, such as `dedup add`, everything stands.
        """
        alive, scope = self.crawl.alive, self.sighting.scope
        by_itself = Standing(canonical.id, canonical.run, canonical.is_pending)
        if canonical.run in alive:
            return by_itself
        if met := self.met(canonical.id, alive):
            is_pending = met.outcome is Outcome.PENDING
            return Standing(met.id, met.sighting.run, is_pending, is_kept=met.verdict.kept)
        if not self.facts.has_visited(alive):
            return by_itself
        if self.facts.is_visited(scope, canonical.host, alive) or self._was_missed(canonical):
            return None
        return Standing(canonical.id, canonical.run, canonical.is_pending, is_elsewhere=True)

    def met(self, canonical: int, runs: frozenset[int]) -> Row | None:
        """Return a row of one of *runs* that met *canonical* again, preferably kept and confirmed."""
        dry_runs = runs if self.sighting.is_dry else _NO_RUNS
        found = self.store.rows(Query(canonical=canonical, met_again=True, runs=runs, dry_runs=dry_runs))
        return min(
            found,
            key=lambda row: (not row.verdict.kept, row.outcome is Outcome.PENDING, row.id),
            default=None,
        )

    def _was_missed(self, canonical: Canonical) -> bool:
        """Whether a later run was on its host, came to its end, and did not meet *canonical*.

        A later run is one that began after the end of the last run that met it.
        """
        runs = {run.id: run for run in self.store.select(Run)}
        met = self.store.rows(
            Query(canonical=canonical.id, met_again=True, order=Order.LAST_RUN, limit=1)
        )
        last = runs[max([canonical.run, *(row.sighting.run for row in met)])]
        later = [
            run.id
            for run in runs.values()
            if run.ending == "finished" and run.action != DRY_RUN and run.began > last.over
        ]
        return bool(last.over and later) and self.facts.is_visited(
            self.sighting.scope, canonical.host, later
        )

    # What somebody wants back

    def _is_restored(self, versions: Sequence[Version]) -> bool:
        """Whether somebody wants back what it shows, or what was there before it changed."""
        wanted = self.restored()
        if not wanted:
            return False
        page = self.sighting.fingerprint
        if any(row.as_version(row).shows(page) for row in wanted):
            return True
        return not any(version.shows(page) for version in versions)

    def restored(self) -> list[Row]:
        """Return the rows of the same identity that somebody wants back."""
        if not self.facts.has_restored():
            return []
        seen = self.sighting
        rows = self.store.rows(Query(group=(seen.kind, seen.scope), outcomes=(Outcome.RESTORED,)))
        return [row for row in rows if row.sighting.identity == seen.identity]
