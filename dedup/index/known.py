"""What an index knows of a page that is to be judged, which `decide` asks about, and of its site.

All is read from the rows, in the transaction that decides, and only if a verdict asks for it.  Of a site
only the latest rows count (`SPAN`), by their numbers, so that the same rows give the same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, takewhile
from secrets import token_hex
from sys import maxsize
from typing import Any, NamedTuple

import numpy as np

from dedup.index import rows as sql
from dedup.index.notes import OF_RULES, REMOVED, UrlRules, answers
from dedup.index.rows import IN_FORCE, LAST_RUN, MET_AGAIN, Note, Pool, numbers, of_dry_runs
from dedup.index.store import IN_RANGE, Store
from dedup.model.fingerprint import Fingerprint, PageToRecord
from dedup.model.hashes import signed
from dedup.model.urls import begin_alike, url_key, with_or_without_www
from dedup.model.verdict import DRY_RUN, Candidates, Canonical, Outcome, Row, Standing, Version
from dedup.prints.fingerprinter import DedupConfig, Sampled, Shingles, pairs_in, positions, sampled
from dedup.rule.decide import Past
from dedup.rule.match import COMMON_PAGES, Counted, Flags, SiteContext, is_common, nearness, told_by
from dedup.urls.rule import is_one_address

_AT = "p.url_key = ? AND p.url_key != ''"
_FEW, _RECENT = 2, 50  # rows of one URL: mostly enough, and to tell what a crawl has kept of it
MOST_OF_KEY = 50  # with so many things of one key, a page is compared with the newest and near ones
_VISITS = 5  # what one of so many last visits showed is no news

# What is known goes back between SPAN and twice SPAN rows.  It takes 6 bytes for each different shingle
# that was sampled on a site, each pair of words, number and title: in a blog of pages of 450 words some
# 280 a page are new, so 34 MB at most; and at most 13 KB for a page of any size.
SPAN = 10_000


class _Pages(NamedTuple):
    run: int
    is_dry: bool
    is_new: bool
    is_kept: bool


class Sites:
    """What is known of all sites of one *store*, by its rows *before* one: while none is forgotten."""

    def __init__(self, store: Store, before: int = maxsize) -> None:
        self._store, self.before = store, before
        self._last = 0
        self.spans: dict[int, dict[tuple[sql.Group, str], dict[_Pages, Shingles]]] = {}
        self._pending: set[int] = set()

    def renew(self) -> None:
        """Read the pages of the time since, and those that were pending then and are no more."""
        last, before = self._store.last(), self.before
        oldest = _oldest(min(last, before))
        self.spans = {number: span for number, span in self.spans.items() if number >= oldest}
        asked = f"SELECT p.id FROM pages p WHERE {sql.IS_PENDING} AND p.id < ?"
        pending = {row for (row,) in self._store.fetch(asked, (before,))}
        again = [row for row in self._pending - pending if _span(row) >= oldest]
        after, self._last = max(self._last, oldest * SPAN - 1), min(last, before - 1)
        self._pending = pending
        for text in takewhile(lambda one: one.id < before, self._store.kept_texts(after, again)):
            span = self.spans.setdefault(_span(text.id), {})
            host = span.setdefault((text.group, text.host), {})
            pages = _Pages(text.run, text.is_dry, text.is_new, text.is_kept)
            host.setdefault(pages, Shingles()).add(text.told)


@dataclass(slots=True)
class Site(SiteContext):
    """The site of the first of *hosts*, beside the others, by pages of *runs* and *dry_runs*.

    Without *runs* the first page of each URL counts, but for what *own* ones tell, of the page that is
    judged.  What is new is read once, with the first question.
    """

    sites: Sites
    group: sql.Group
    hosts: tuple[str, ...]
    runs: frozenset[int] | None
    dry_runs: frozenset[int]
    own: Sequence[Sampled]  # each in order
    _renew: Callable[[], None]
    _layout: Callable[[int], Sequence[bytes]]
    _answers: dict[tuple[bytes, str, bool], tuple[Counted, int]] = field(default_factory=dict)
    is_beside: bool = False

    is_known = True

    @property
    def pages(self) -> int:
        return sum(one.pages for of, one in self._counting(self.hosts[0]) if of.is_kept)

    def common(self, sample: bytes) -> Flags:
        flags: Flags = np.any([is_common(*self._counted(sample, host)) for host in self.hosts], axis=0)
        return flags

    def on(self, sample: bytes) -> Counted:
        return self._counted(sample, self.hosts[0])[0]

    def seen(self, told: bytes) -> Counted:
        return self._counted(told, self.hosts[0], dropped=True)[0]

    def layout(self, page: Fingerprint) -> Sequence[bytes]:
        return self._layout(page.structure_simhash or 0)

    def beside(self, host: str) -> Site:
        if host in self.hosts:
            return self
        return replace(self, hosts=(*self.hosts[:1], host), is_beside=True)

    def _counting(self, host: str) -> Iterator[tuple[_Pages, Shingles]]:
        self._renew()
        for span in self.sites.spans.values():
            yield from (one for one in span.get((self.group, host), {}).items() if self._counts(one[0]))

    def _counts(self, of: _Pages) -> bool:
        if of.is_dry and of.run not in self.dry_runs:
            return False
        # Over all runs each URL counts once.
        return of.is_new if self.runs is None else of.run in self.runs

    def _counted(self, sample: bytes, host: str, *, dropped: bool = False) -> tuple[Counted, int]:
        """Return on how many pages, also *dropped* ones, each of *sample* is, and how many were kept."""
        if (asked := (sample, host, dropped)) not in self._answers:
            hashes = sampled(sample)
            counts, pages = np.zeros(len(hashes), np.int64), 0
            for of, shingles in self._counting(host):
                if of.is_kept or dropped:
                    counts += shingles.counts(hashes)
                    pages += shingles.pages if of.is_kept else 0
            for told in self.own if host == self.hosts[0] else ():
                counts -= (positions(hashes, told) >= 0) & (counts > 0)
            self._answers[asked] = counts, pages
        return self._answers[asked]


def _span(row: int) -> int:
    return row % IN_RANGE // SPAN


def _oldest(last: int) -> int:
    """Return the number of the oldest span that counts where *last* is the last row."""
    return max(0, _span(last) - 1)


FORGETTING = "forgetting"  # the note whose value changes whenever rows are forgotten


class Facts:
    """What *store* says of runs and sites."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sites, self._then = Sites(store), Sites(store, 0)
        self._sites_of: object = None  # what tells when to read them anew
        self._rules: tuple[list[Note], frozenset[str]] = [], frozenset()

    def crawl(self, run: int) -> frozenset[int]:
        """Return the runs that are one crawl with *run*; of one that is still to begin, only it."""
        text = "SELECT r.id FROM runs o JOIN runs r USING (crawl) WHERE o.id = ? AND o.crawl != ''"
        return frozenset({run, *(other for (other,) in self._store.fetch(text, (run,)))})

    def harmless(self) -> frozenset[str]:
        """See `UrlRules.harmless`."""
        notes = self._store.select(Note, prefix=OF_RULES)
        if notes != self._rules[0]:
            self._rules = notes, UrlRules(self._store).harmless()
        return self._rules[1]

    def has_restored(self) -> bool:
        """Return whether somebody wants any page back that was dropped."""
        return bool(self._store.fetch(f"SELECT 1 FROM pages p WHERE {sql.IS_WANTED_BACK} LIMIT 1"))

    def has_visited(self, runs: Collection[int]) -> bool:
        """Return whether one of *runs* has visited any host."""
        return bool(self._store.fetch(f"SELECT 1 FROM visits WHERE run IN {numbers(runs)} LIMIT 1"))

    def is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        """Return whether one of *runs* was on *host* (``www.`` or not), for all pages or *scope*."""
        where = f"scope IN (?, '') AND host IN (?, ?) AND run IN {numbers(runs)} LIMIT 1"
        given = scope, *with_or_without_www(host)
        return bool(self._store.fetch(f"SELECT 1 FROM visits WHERE {where}", given))

    def sites(self, before: int | None) -> Sites:
        """Return what is known of all sites, by the rows *before* one only until it is asked again."""
        state = self._store.select(Note, name=FORGETTING), self._store.undone
        if state != self._sites_of:  # what was read then may be forgotten, or was undone
            self._sites, self._then, self._sites_of = Sites(self._store), Sites(self._store, 0), state
        if before is None:
            return self._sites
        if before < self._then.before:  # of rows that ascend each is read once
            self._then = Sites(self._store, before)
        self._then.before = before
        return self._then

    def note_forgetting(self) -> None:
        """Note that rows were forgotten: what was on their pages is no longer known."""
        self._store.put(Note(FORGETTING, token_hex()))


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
        layout, renew = cache(partial(self._layout, before or maxsize)), cache(sites.renew)
        return Site(sites, seen.group, (seen.host,), runs, self.dry_runs, own, renew, layout)

    def _layout(self, before: int, structure: int) -> Sequence[bytes]:
        """Return what `SiteContext.layout` does for this simhash of a *structure*."""
        there = "p.listed" if before == maxsize else sql.WAS_LISTED
        alike = f"{there} AND p.scope = ? AND p.structure_simhash = ? AND p.id < ?"
        text = f"SELECT p.traits FROM pages p WHERE {alike} ORDER BY p.id DESC LIMIT {MOST_OF_KEY}"
        found = self.store.fetch(text, (self._scope, signed(structure), before))
        return [pairs_in(traits) for (traits,) in found]

    def _rows(self, more: str, *values: Any, **how: Any) -> Iterator[Row]:
        return self.store.rows(f"{self._same} AND {more}", self._scope, self._name, *values, **how)

    @cached_property
    def _latest(self) -> list[Row]:
        """The latest rows of the same identity, as many as are mostly enough."""
        # Mostly there is none, and to ask for whole rows takes longer.
        of_it = f"SELECT 1 FROM pages p WHERE {self._same} LIMIT 1"
        is_any = self.store.fetch(of_it, (self._scope, self._name))
        return list(self._rows(IN_FORCE, order=LAST_RUN, limit=_FEW)) if is_any else []

    # Own versions

    @cached_property
    def versions(self) -> list[Version]:
        seen = self.sighting
        if not seen.is_named:
            return self._still_shown(()) if seen.seen_on is not None else []
        last, rows = self._last_met()
        met_again = {row.verdict.previous for row in rows if row.sighting.run in self.crawl}
        left = [row for row in rows if row.sighting.run == last and row.origin not in met_again]
        known = {row.id: row for row in (*self._latest, *rows)}
        roots = ((row, row.verdict.canonical or row.id) for row in sorted(left, key=lambda row: row.id))
        versions = [row.as_version(known.get(root) or self.store.row(root)) for row, root in roots]
        standing = (version for version in versions if version.is_own and version.canonical)
        if versions and not any(version.shows(seen.fingerprint) for version in standing):
            versions += self._still_shown(met_again)
        return versions

    def _last_met(self) -> tuple[int, list[Row]]:
        """Return the last earlier run of another crawl that met it, or 0, and its rows and own ones."""
        own, run, rows = self.crawl, self.sighting.run, self._latest
        if len(rows) == _FEW:  # there may be more
            last = f"SELECT max(p.run) FROM pages p WHERE {self._same} AND {IN_FORCE} AND {self._others}"
            met = f"{IN_FORCE} AND p.run IN ({','.join(map(str, own))}, ({last} AND p.run < ?))"
            given = self._scope, self._name, run
            rows = list(self._rows(met, *given, order="p.id DESC", limit=MOST_OF_KEY))
            if len(rows) == MOST_OF_KEY:  # of so many of one name only what shows the same matters
                column, value = self._same_text()
                rows = list(self._rows(f"{met} AND {column}", *given, value, order="p.id DESC"))
        runs = {row.sighting.run for row in rows} - own
        return max((one for one in runs if one < run), default=0), rows

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
        rows = list(self._rows(f"{IN_FORCE} AND {self._others}", order=LAST_RUN, limit=_VISITS))
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

    def has_left(self, canonical: Canonical) -> bool:
        key, seen = url_key(canonical.url), f"{self._of_group} AND {_AT} AND {IN_FORCE}"
        answered = max(answers(self.store, key).get(key, ()), default=0)
        last = [*self.store.rows(seen, self._scope, key, order=LAST_RUN, limit=2)]
        runs = [row.sighting.run for row in last]  # one run, where several items were made of a page
        has_moved = any(row.origin != canonical.id for row in last[:1]) and len({*runs}) == len(runs)
        return has_moved or answered > max(runs, default=0)

    def is_back(self) -> bool:
        key, latest = self.sighting.url_key, self._latest
        runs = [row.sighting.run for row in latest]
        if not runs or runs[0] in self.crawl:
            return False
        if not latest[0].is_own and len(set(runs)) == len(runs):
            return True
        found = answers(self.store, key).get(key, {})
        if max(found, default=0) <= runs[0] or max(found) in self.crawl:
            return False
        moved = self.store.rows("represents = ? AND kept AND NOT is_dry", latest[0].origin, limit=1)
        return found[max(found)] in REMOVED or next(moved, None) is not None

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
            pool = self.pool()
            return chain(store.candidates(seen.fingerprint, pool, config), self.neighbours(pool))
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

    def neighbours(self, pool: Pool) -> Iterator[Candidates]:
        """Yield what was kept of addresses next to that of the page, if one begins with the other."""
        own = self.sighting.url_key
        at = "SELECT coalesce(p.canonical, p.id), p.url_key FROM pages p WHERE p.scope = ?1 AND "
        at += f"{_AT.replace('= ?', '{} ?2')} ORDER BY p.url_key {{}} LIMIT {COMMON_PAGES}"
        both = " UNION ALL ".join(
            f"SELECT * FROM ({at.format(*side)})" for side in (("<", "DESC"), (">", ""))
        )
        found = self.store.fetch(both, (self._scope, own)) if own else ()
        near = {row for row, key in found if begin_alike(own, key)}
        rows = [row for row in map(self.store.row, sorted(near)) if pool.has(row)]
        yield Candidates([row.as_canonical() for row in rows], len(rows))

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
            last = f"{self._of_group} AND {_AT} AND {IN_FORCE} AND {self._others}"
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
        rows = self.store.rows(f"p.scope = ? AND {sql.IS_WANTED_BACK}", self._scope)
        return [row for row in rows if row.sighting.identity == self.sighting.identity]
