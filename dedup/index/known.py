"""What an index knows about one page that is to be judged: the `Past` that `decide` asks about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from sys import maxsize
from typing import Any, NamedTuple

import numpy as np

from dedup.index.facts import Facts, Site
from dedup.index.notes import REMOVED, answers
from dedup.index.rows import IS_WANTED_BACK, LAST_RUN, MET_AGAIN, STANDS, Pool, numbers, of_dry_runs
from dedup.index.store import Store
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.urls import url_key
from dedup.model.verdict import DRY_RUN, Candidates, Canonical, Outcome, Row, Standing, Version
from dedup.prints.fingerprinter import DedupConfig, sampled
from dedup.rule.decide import Past
from dedup.rule.match import SiteContext, nearness, told_by
from dedup.urls.rule import is_one_address

_AT = "p.url_key = ? AND p.url_key != ''"
_FEW = 2
_RECENT = 50  # so many rows of one URL tell what a crawl has kept of it
MOST_OF_KEY = 50  # with so many things of one key, a page is compared with the newest and near ones
_VISITS = 5  # what one of so many last visits showed is no news


class PageToRecord(NamedTuple):
    """A page to be judged and recorded; *page* is stored with its row, for `Index.page_of`.

    A page that repeats one whose fate in a run of *wait_for* is open is not recorded: its verdict has no
    row, and it can be asked about again when the row that its standing names is settled.  What
    *is_restored* is kept, whatever it repeats.  *siblings* are the rows of the same response, where that
    was requested by the URL of the page: if another request of this run gave it before, it is `updated`,
    or else `unchanged` and dropped.
    """

    sighting: Sighting
    page: bytes = b""
    is_restored: bool = False
    siblings: Collection[int] | None = None
    wait_for: Collection[int] = ()


class Known(Past):
    """What *store* knows of the page *asked* about; its own versions are rows of other crawls."""

    def __init__(self, store: Store, facts: Facts, asked: PageToRecord, config: DedupConfig) -> None:
        self.store, self.facts, self.asked, self.config = store, facts, asked, config
        self.sighting = sighting = asked.sighting
        self.crawl = facts.crawl(sighting.run)
        self.dry_runs = self.crawl if sighting.is_dry else frozenset[int]()
        self.asks_site = False  # whether it was asked what is known of the site of the page
        self._scope = store.scope(sighting.group)
        # Conditions on rows: of the same group, of another crawl, of the same identity.
        self._of_group = f"p.scope = ? AND {of_dry_runs(self.dry_runs)}"
        self._others = f"p.run NOT IN {numbers(self.crawl)}"
        column, self._name = sighting.identity
        filled = f" AND p.{column} != ''" if sighting.is_named else ""
        self._same = f"{self._of_group} AND p.{column} = ?{filled}"

    def site(self, before: int | None = None) -> SiteContext:
        """Return what is on other pages of its site that this crawl, or with *unchanged* any, delivers.

        With *before* only rows before that one count.
        """
        self.asks_site = True
        seen, rows = self.sighting, iter(list[Row]())
        runs = self.crawl if self.config.unchanged == "keep" else None
        if runs is None and seen.is_named and self._latest:
            was = "p.kept AND p.reason = 'new' AND p.outcome = 'confirmed' AND p.id < ?"
            rows = self._rows(was, before or maxsize, order="p.id DESC", limit=MOST_OF_KEY)
        prints = (row.sighting.fingerprint for row in rows)
        own = [np.sort(sampled(told_by(one.sample, one.traits))) for one in prints]
        sites = self.facts.sites(before)
        return Site(sites, seen.group, (seen.host,), runs, self.dry_runs, own, cache(sites.renew))

    def _rows(self, more: str, *values: Any, **how: Any) -> Iterator[Row]:
        return self.store.rows(f"{self._same} AND {more}", self._scope, self._name, *values, **how)

    @cached_property
    def _latest(self) -> list[Row]:
        """The latest rows of the same identity, as many as are mostly enough."""
        return list(self._rows(STANDS, order=LAST_RUN, limit=_FEW))

    # Own versions

    @cached_property
    def versions(self) -> list[Version]:
        seen = self.sighting
        if not seen.is_named:
            return self._still_shown(()) if seen.seen_on is not None else []
        last, rows = self._last_met()
        met_again = {row.verdict.previous for row in rows if row.sighting.run in self.crawl}
        left = [row for row in rows if row.sighting.run == last and row.origin not in met_again]
        versions = [self._version(row) for row in sorted(left, key=lambda row: row.id)]
        standing = (version for version in versions if version.is_own and version.canonical)
        if versions and not any(version.shows(seen.fingerprint) for version in standing):
            versions += self._still_shown(met_again)
        return versions

    def _last_met(self) -> tuple[int, list[Row]]:
        """Return the last earlier run of another crawl that met it, or 0, and its rows and own ones."""
        own, run, latest = self.crawl, self.sighting.run, self._latest
        runs = [row.sighting.run for row in latest]
        earlier = [one for one in runs if one < run and one not in own]
        if len(latest) < _FEW:
            return max(earlier, default=0), latest
        if len(set(earlier)) == _FEW and max(earlier) < min(own):
            return earlier[0], latest[:1]
        before = f"{STANDS} AND {self._others} AND p.run < ?"
        newest = next(self._rows(before, run, order=LAST_RUN, limit=1), None)
        if not newest:
            return 0, latest
        last = newest.sighting.run
        met = f"{STANDS} AND p.run IN {numbers(own | {last})}"
        rows = list(self._rows(met, order="p.id DESC", limit=MOST_OF_KEY))
        if len(rows) == MOST_OF_KEY:  # of so many things of one name only what shows the same matters
            column, value = self._same_text()
            rows = list(self._rows(f"{met} AND {column}", value, order="p.id DESC"))
        return last, rows

    def _version(self, row: Row) -> Version:
        known = {one.id: one for one in (*self._latest, row)}
        root = row.verdict.canonical or row.id
        return row.as_version(known.get(root) or self.store.row(root))

    def _still_shown(self, met_again: Collection[int | None]) -> list[Version]:
        """Return own canonicals of any earlier crawl that show the same and were not met again."""
        seen = self.sighting
        same_text, text = self._same_text()
        shown = f"p.listed AND p.outcome = 'confirmed' AND p.run < ? AND {self._others} AND {same_text}"
        if not seen.is_named:
            shown += " AND p.url_key = '' AND p.item_key = ''"
        versions = [row.as_version(row) for row in self._rows(shown, seen.run, text)]
        found = [one for one in versions if one.shows(seen.fingerprint) and one.origin not in met_again]
        return [one for one in found if seen.is_named or not self.met(one.origin, self.crawl)]

    def _same_text(self) -> tuple[str, bytes]:
        """Return the condition that a row shows the same text, or without tokens the same bytes."""
        page = self.sighting.fingerprint
        if page.tokens:
            return "p.token_digest = ?", page.token_digest
        return "p.body_digest = ?", page.body_digest

    def flip(self) -> tuple[int, Canonical, bool] | None:
        rows = list(self._rows(f"{STANDS} AND {self._others}", order=LAST_RUN, limit=_VISITS))
        listed = list(self._rows(f"p.listed AND {self._others}", limit=2))
        if len(listed) != 1 or len({row.sighting.run for row in rows}) < len(rows):
            return None
        page = self.sighting.fingerprint
        shown = [row.is_own and row.as_version(row).shows(page) for row in rows]
        if True not in shown:
            return None
        return rows[shown.index(True)].origin, listed[0].as_canonical(), shown[0]

    @cached_property
    def again(self) -> Version | None:
        """The version of `Past`; where a response has several items, the one that shows the same."""
        if (siblings := self.asked.siblings) is None:
            return None
        # The latest come first: where they are of earlier runs, this crawl has none.
        if all(row.sighting.run < min(self.crawl) for row in self._latest):
            return None
        seen = f"p.run IN {numbers(self.crawl)} AND p.outcome IN ('confirmed', 'pending')"
        rows = [
            row
            for row in self._rows(seen, order="p.id DESC", limit=_RECENT)
            if row.id not in siblings
            # Things of one key may stand at others, and what a redirect led to was asked for elsewhere.
            and row.sighting.url_key == self.sighting.url_key
            and not row.sighting.redirects
        ]
        own, was_asked, is_one = {row.id for row in rows}, False, True
        kept: list[Row] = []  # of what shows the same only the latest
        for row in reversed(rows):
            kept = [one for one in kept if one.id != row.verdict.replaces]
            is_version = row.verdict.previous in own
            was_asked |= is_version
            # What was kept, or met again, as that row, and no copy of another one.
            if row.verdict.is_canonical:
                root = row
            elif (
                not row.is_met_again
                or row.verdict.canonical is None
                or (root := self.store.row(row.verdict.canonical)).outcome is not Outcome.CONFIRMED
            ):
                continue
            text = root.as_version(root)
            kept = [one for one in kept if not text.shows(one.sighting.fingerprint)]
            if kept and root is row and not is_version:
                # Either a response has several items, or it is the first one of another process.
                is_one = is_one and (was_asked or row.sighting.run != kept[-1].sighting.run)
            kept.append(root)
        found = [replace(row.as_version(row), canonical=row.as_canonical()) for row in kept]
        shown = [version for version in found if version.shows(self.sighting.fingerprint)]
        return next(iter(shown or (found[-1:] if is_one else ())), None)

    # What is gone

    def is_gone(self, canonical: Canonical) -> bool:
        key = url_key(canonical.url)
        if not (key and (found := answers(self.store, key))):
            return False
        seen = f"p.scope = ? AND {_AT} AND {STANDS}"
        last = self.store.rows(seen, self._scope, key, order=LAST_RUN, limit=1)
        return all(max(found) > row.sighting.run for row in last)

    def is_back(self) -> bool:
        key, latest = self.sighting.url_key, self._latest
        runs = [row.sighting.run for row in latest]
        if not runs or runs[0] in self.crawl:
            return False
        if not latest[0].is_own and len(set(runs)) == len(runs):
            return True
        found = answers(self.store, key)
        if max(found, default=0) <= runs[0] or max(found) in self.crawl:
            return False
        has_moved = self.store.rows("p.represents = ? AND p.kept", latest[0].origin, limit=1)
        return found[max(found)] in REMOVED or next(has_moved, None) is not None

    def pool(self) -> Pool:
        """Return what the page is compared with: of own versions only those its crawl has met again."""
        without: set[int] = set()
        if self.sighting.is_named and self._latest:
            without |= {row.id for row in self._rows(f"p.listed AND {self._others}")}
        if without:
            met = f"{MET_AGAIN} AND p.run IN {numbers(self.crawl)}"
            without -= {row.verdict.canonical for row in self._rows(met, order="+p.id")}
        return Pool(self.sighting.group, frozenset(without), self.dry_runs)

    def candidates(self) -> Iterable[Candidates]:
        """Return what the page may repeat, in the order of `nearness`; with a key, all of that key."""
        seen, store, config = self.sighting, self.store, self.config
        if not seen.item_key:
            return store.candidates(seen.fingerprint, self.pool(), config)
        rows = {row.id: row for row in self._rows("p.listed", order="p.id DESC", limit=MOST_OF_KEY)}
        if len(rows) == MOST_OF_KEY:  # of the others those that are near
            pool = Pool(seen.group, dry_runs=self.dry_runs)
            batches = store.candidates(seen.fingerprint, pool, config)
            near = (store.row(one.id) for batch in batches for one in batch.canonicals)
            rows |= {row.id: row for row in near if row.sighting.item_key == seen.item_key}
        # Those that this crawl has kept, or has met again.
        own = self.crawl
        met = (row for row in rows.values() if row.sighting.run in own or self.met(row.id, own))
        canonicals = [row.as_canonical() for row in met]
        canonicals.sort(key=lambda canonical: nearness(seen.fingerprint, canonical))
        return [Candidates(canonicals, len(canonicals))]

    def rivals(self, canonical: Canonical) -> list[Canonical]:
        members = list(self.store.rows("p.represents = ?", canonical.cluster))
        if canonical.cluster != canonical.id:
            members.append(self.store.row(canonical.cluster))
        if not members:  # as for nearly every page: nothing has ever stood in its place
            return []
        pool, key = self.pool(), self.sighting.item_key
        others = [row for row in members if pool.has(row) and row.sighting.item_key == key]
        return [row.as_canonical() for row in others if row.id != canonical.id]

    def is_own_address(self, url: str) -> bool:
        return bool(self._own_addresses([url]))

    def _own_addresses(self, urls: Iterable[str]) -> list[str]:
        own, harmless = self.sighting.url_key, self.facts.harmless()
        return [url for url in urls if is_one_address(own, url, harmless)]

    def dropped(self) -> Iterator[tuple[Fingerprint, Canonical]]:
        seen = self.sighting
        if not seen.url_key:
            return
        # Addresses of one page stand beside each other: they begin alike.
        around = self.store.urls_around(self._scope, seen.url_key) if "?" in seen.url_key else ()
        for key in {seen.url_key, *self._own_addresses(around)}:
            last = f"{self._of_group} AND {_AT} AND {STANDS} AND {self._others}"
            for row in self.store.rows(last, self._scope, key, order="p.id DESC", limit=1):
                if row.is_own or row.sighting.item_key != seen.item_key:
                    continue
                assert row.verdict.canonical is not None
                canonical = self.store.row(row.verdict.canonical)
                if canonical.listed:
                    yield row.sighting.fingerprint, canonical.as_canonical()

    def originals(self) -> list[Canonical]:
        seen, said = self.sighting, self.config.exceptions
        found: list[Canonical] = []
        for key in said.originals(seen.url_key) if said.copies else ():
            listed = self.store.rows(f"{self._of_group} AND {_AT} AND p.listed", self._scope, key)
            rows = [row for row in listed if row.sighting.item_key == seen.item_key]
            found += [row.as_canonical() for row in reversed(rows)]
        return found

    def is_stranger(self, canonical: Canonical) -> bool:
        keys, rows = self._strangers
        if not keys:
            return False
        return url_key(canonical.url) in keys or not rows.isdisjoint((canonical.id, canonical.cluster))

    @cached_property
    def _strangers(self) -> tuple[Collection[str], set[int]]:
        """The URLs of pages that this one is said to differ from, and the rows that stand for these."""
        said, rows = self.config.exceptions, set[int]()
        keys = said.strangers(self.sighting.url_key) if said.different else ()
        for key in keys:
            for row in self.store.rows(f"p.scope = ? AND {_AT}", self._scope, key):
                rows |= {row.id, row.verdict.canonical or row.id}
        return keys, rows

    # How another page stands

    def standing(self, canonical: Canonical) -> Standing | None:
        """Return how *canonical* stands in the crawl, None where it does not.

        It stands if the crawl has kept it or met it again.  On a host that the crawl has not visited it
        stands too if pages of all spiders are compared, or if no crawl but `dedup add` kept it, unless a
        later crawl has finished without it.  For one that visits nothing, everything stands.
        """
        facts = self.facts
        by_itself = Standing(canonical.id, canonical.run, canonical.is_pending)
        if canonical.run in self.crawl:
            return by_itself
        if met := self.met(canonical.id, self.crawl):
            is_pending = met.outcome is Outcome.PENDING
            return Standing(met.id, met.sighting.run, is_pending, is_kept=met.verdict.kept)
        if not facts.has_visited(self.crawl):
            return by_itself
        # The site may have moved: its user has nothing of it in what this crawl delivers.
        if self.config.scope == "spider" and facts.has_visited(frozenset((canonical.run,))):
            return None
        is_visited = facts.is_visited(self.sighting.scope, canonical.host, self.crawl)
        if is_visited or self._was_missed(canonical):
            return None
        return replace(by_itself, is_elsewhere=True)

    def met(self, canonical: int, runs: frozenset[int]) -> Row | None:
        """Return a row of one of *runs* that met *canonical* again, preferably kept and confirmed."""
        dry = of_dry_runs(runs if self.sighting.is_dry else ())
        met = f"p.canonical = ? AND {MET_AGAIN} AND p.run IN {numbers(runs)} AND {dry}"
        best = "p.kept DESC, p.outcome = 'pending', p.id"
        return next(self.store.rows(met, canonical, order=best, limit=1), None)

    def _was_missed(self, canonical: Canonical) -> bool:
        """Whether a run that began after the last that met *canonical* was on its host to its end."""
        met = self.store.rows(f"p.canonical = ? AND {MET_AGAIN}", canonical.id, order=LAST_RUN, limit=1)
        last = max([canonical.run, *(row.sighting.run for row in met)])
        later = self.store.fetch(
            "SELECT r.id FROM runs r JOIN runs l ON l.id = ? AND r.began > l.began AND l.began != 0 "
            "WHERE r.ending = 'finished' AND r.action != ?",
            (last, DRY_RUN),
        )
        return self.facts.is_visited(self.sighting.scope, canonical.host, [run for (run,) in later])

    @cached_property
    def is_restored(self) -> bool:
        """Whether somebody wants back what it shows, or what was there before it changed."""
        wanted, page = self.restored(), self.sighting.fingerprint
        if self.asked.is_restored or any(row.as_version(row).shows(page) for row in wanted):
            return True
        return bool(wanted) and not any(version.shows(page) for version in self.versions)

    def restored(self) -> list[Row]:
        """Return the rows of the same identity that somebody wants back."""
        if not self.facts.has_restored():
            return []
        rows = self.store.rows(f"p.scope = ? AND {IS_WANTED_BACK}", self._scope)
        return [row for row in rows if row.sighting.identity == self.sighting.identity]
