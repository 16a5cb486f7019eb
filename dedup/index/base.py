"""What every index does, whatever it is stored in: ask and record in one step, then settle."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from difflib import get_close_matches
from typing import Self

from dedup.reading.page import Page
from dedup.reading.stored import UnreadablePage, unpack
from dedup.recipes.bands import Banding
from dedup.recipes.config import DedupConfig
from dedup.rule.decide import Past, decide
from dedup.rule.verifier import banding_of
from dedup.values.errors import ConfigError, IndexMismatch
from dedup.values.fingerprint import SIMHASH_FIELDS, Fingerprint
from dedup.values.row import (
    ClusterSize,
    Glance,
    Neighbour,
    Row,
    Statistics,
    Tally,
    Visit,
    Withheld,
    glance_of,
    is_canonical,
)
from dedup.values.run import Crawl, Run
from dedup.values.sighting import Sighting
from dedup.values.simhashes import SIMHASH_BITS
from dedup.values.urls import url_key, variants
from dedup.values.verdict import Candidates, Canonical, Outcome, Reason, Standing, Verdict, Version

logger = logging.getLogger(__name__)

_LONGEST_URL = 500
# The number of a run after all others.
_LATER = 2**62


class Index(ABC):
    """A persistent set of pages that answers "new, or a copy of which?" and records the answer.

    All public methods are atomic.  A row is a canonical, and listed, if its page was kept and is
    no mere repetition (`new`, `updated`); duplicates are compared with canonicals only, so there
    are no chains.
    """

    # Asking

    def judge(self, sighting: Sighting, config: DedupConfig) -> Verdict:
        """Return the verdict on *sighting* without recording it."""
        with self._reading():
            return self._decide(sighting.kept(), config)

    def find_or_add(
        self,
        sighting: Sighting,
        config: DedupConfig,
        *,
        confirmed: bool = True,
        is_wanted: bool = False,
        wait_for: Collection[int] = (),
        page: bytes = b"",
    ) -> Verdict:
        """Judge *sighting* and record it, in one transaction; two callers never both hear `new`.

        `Detector.sighting` makes one whose fingerprint has a check sketch, which strangers cannot
        forge.  Pages of different kinds and scopes are never compared, nor are items with different
        keys.  The row is confirmed at once, or else pending until `confirm` or `release`.  A page that
        repeats one whose fate in a run of *wait_for* is open is not recorded: its verdict has no row,
        and it can be asked about again when the row that its standing names is settled.  What is seen
        by a dry run drops nothing in other runs; what *is_wanted* is kept, whatever it repeats.  *page*
        is stored with the row, for `page_of`: what `dedup.reading.stored.pack` returns, b"" for nothing.
        """
        sighting = sighting.kept()
        with self._writing():
            verdict = self._decide(sighting, config, is_wanted=is_wanted)
            standing = verdict.standing
            if standing and standing.is_pending and standing.run in wait_for:
                return verdict
            outcome = Outcome.CONFIRMED if confirmed or not verdict.kept else Outcome.PENDING
            row = self._add(sighting, verdict, outcome)
            if page:
                self._store_page(row.id, page)
            if confirmed:
                self._complete(row)
            return replace(verdict, row=row.id)

    def record_copy(self, row: Row, config: DedupConfig) -> Verdict:
        """Judge the page of *row*, which another index took for a copy, and record it.

        Its item is nowhere, so it becomes nobody's canonical: where it repeats nothing here, it is
        recorded with the verdict of *row*, as an orphan.
        """
        with self._writing():
            verdict, outcome = self._decide(row.sighting, config), Outcome.CONFIRMED
            if is_canonical(verdict):
                verdict, outcome = row.verdict, Outcome.ORPHANED
            added = self._add(row.sighting, replace(verdict, kept=False), outcome)
            return replace(added.verdict, row=added.id)

    def restore(self, row: Row) -> int:
        """Store *row* with its verdict and outcome, unjudged; return its number here, the next one."""
        with self._writing():
            added = self._add(row.sighting, row.verdict, row.outcome)
            if added.listed and not row.listed:
                self._delist(added)
            return added.id

    def _decide(self, sighting: Sighting, config: DedupConfig, *, is_wanted: bool = False) -> Verdict:
        crawl = self._crawl(sighting.run)
        versions = self._versions(sighting, crawl)
        past = Past(
            versions=versions,
            candidates=lambda: self._candidates(sighting, crawl, config),
            declared=self._declared(sighting) if config.canonical_link == "decide" else None,
            standing=lambda canonical: self._standing(canonical, sighting, crawl),
            rivals=lambda canonical: self._rivals(canonical, sighting, crawl),
            is_restored=is_wanted or self._is_wanted(sighting, versions),
        )
        return decide(sighting.fingerprint, past, config)

    def _standing(self, canonical: Canonical, sighting: Sighting, crawl: Crawl) -> Standing | None:
        """Return how *canonical* stands in the crawl of *sighting*, None where it does not.

        It stands if the crawl has kept it or met it again, or if it is on a host that the crawl has
        not visited, unless a crawl that did, and came to its end, has missed it since.  For who visits
        no hosts, as `dedup add`, everything stands.
        """
        if canonical.run in crawl.alive:
            return Standing(canonical.id, canonical.run, canonical.is_pending)
        if met := self._met(canonical.id, crawl.alive, sighting):
            is_pending = met.outcome is Outcome.PENDING
            return Standing(met.id, met.sighting.run, is_pending, is_kept=met.verdict.kept)
        if not self._has_visited(crawl.alive):
            return Standing(canonical.id, canonical.run, canonical.is_pending)
        if self._is_visited(sighting.scope, canonical.host, crawl.alive):
            return None
        if self._was_missed(canonical, sighting.scope):
            return None
        return Standing(canonical.id, canonical.run, canonical.is_pending, is_elsewhere=True)

    def _declared(self, sighting: Sighting) -> Canonical | None:
        """Return the canonical that the URL leads to which the page declares as its own, if one does."""
        key = sighting.canonical_key
        if key in ("", sighting.url_key):
            return None
        for row in reversed(self._rows_at(sighting, key)):
            canonical = row if row.verdict.canonical is None else self.row(row.verdict.canonical)
            is_own = canonical.sighting.url_key == sighting.url_key
            if canonical.listed and not is_own and canonical.sighting.item_key == sighting.item_key:
                return canonical.as_canonical()
        return None

    def _version(self, row: Row) -> Version:
        canonical = row.verdict.canonical
        return row.as_version(row if canonical is None else self.row(canonical))

    def batch(self) -> AbstractContextManager[None]:
        """Make one transaction of all that is recorded inside: all of it or nothing.

        Other processes wait until it ends, so it should be short while a crawl uses the index; a
        run that begins inside is part of it.
        """
        return self._writing()

    # Settling

    def confirm(self, row: int) -> None:
        """Record that the page of a pending *row* was kept to the end; others lean on it from now on."""
        with self._writing():
            if self._confirm_plain(row):
                return
            found = self.row(row)
            if found.outcome is Outcome.PENDING:
                self._settle(row, Outcome.CONFIRMED)
                self._complete(found)

    def release(self, row: int) -> None:
        """Record that the page of a pending *row* was lost after all: it is nobody's canonical."""
        with self._writing():
            found = self.row(row)
            if found.outcome is Outcome.PENDING:
                self._withdraw(found, Outcome.RELEASED)

    def forget_run(self, run: int) -> int:
        """Undo *run*: forget all its rows, and which hosts it was on; return how many rows."""
        with self._writing():
            self.end_journal(run)
            self._delete_visits(run)
            return self._forget(lambda: self._rows_of_run(run))

    def forget_url(self, url: str) -> int:
        """Forget all rows of *url* in canonical form; return how many."""
        return self._forget(lambda: self._rows_of_url(url_key(url)))

    def forget_unseen_since(self, moment: float) -> int:
        """Forget the rows before *moment* (seconds since 1970) that no later page repeats."""
        return self._forget(lambda: self._rows_last_seen_before(moment))

    def _forget(self, find: Callable[[], list[Row]]) -> int:
        """Mark rows as forgotten; they stay, but nothing is compared with them any more.

        What they replaced stands again, and duplicates that leaned on them become orphans.  Their
        stored pages are deleted.
        """
        with self._writing():
            rows = [row for row in find() if row.outcome is not Outcome.FORGOTTEN]
            for row in rows:
                self._withdraw(row, Outcome.FORGOTTEN)
            for row in rows:
                self._reinstate(row)
            self._delete_pages([row.id for row in rows])
            return len(rows)

    def restore_run_copies(self, run: int) -> list[Row]:
        """Let the next crawl keep what *run* has dropped; return the rows, in their order."""
        with self._writing():
            return self._want_back(self._rows_of_run(run))

    def restore_url_copies(self, url: str) -> list[Row]:
        """Let the next crawl keep what was dropped at *url*; return the rows, in their order."""
        with self._writing():
            return self._want_back(self._rows_of_url(url_key(url)))

    def _want_back(self, rows: Iterable[Row]) -> list[Row]:
        dropped = [row for row in rows if not row.verdict.kept and row.outcome.stands]
        for row in dropped:
            self._settle(row.id, Outcome.RESTORED)
        return dropped

    @abstractmethod
    def wanted(self) -> list[Row]:
        """Return the rows of copies that somebody wants back and that no crawl has kept since."""

    def visit(self, run: Run, scope: str, host: str) -> None:
        """Record that *run* is on *host*: what it keeps of it is a whole copy, on its own.

        A page on a host that was visited is a reason to drop others only when the crawl of *run* has
        met it.  A run that visits nothing leans on all pages that the index holds.
        """
        with self._writing():
            self._add_visit(scope, host, run.id)

    def restore_visit(self, visit: Visit) -> None:
        """Record *visit* as it is, but for its place: it comes after the rows that are here."""
        with self._writing():
            self._add_visit(visit.scope, visit.host, visit.run)

    @abstractmethod
    def visits(self) -> list[Visit]:
        """Return which hosts all runs were on, in the order of their rows."""

    def withhold(self, run: Run, requests: Iterable[Withheld]) -> None:
        """Record what *run* did not request because of a copy; each URL once."""
        with self._writing():
            self._add_withheld(run.id, requests)

    @abstractmethod
    def withheld(self, run: int | None = None) -> list[Withheld]:
        """Return what was withheld by *run*, or by all, in order."""

    def never_met(self, run: int | None = None) -> list[Withheld]:
        """Return the links that were withheld, by *run* or by all, and that no run has met since."""
        return [
            link
            for link in self.withheld(run)
            if link.what == "link"
            and not any(row.sighting.run >= link.run for row in self._rows_of_url(url_key(link.url)))
        ]

    def history(self, url: str) -> list[Row]:
        """Return all rows of *url* in canonical form, in all scopes, the oldest first."""
        return self._rows_of_url(url_key(url))

    def _withdraw(self, row: Row, outcome: Outcome) -> None:
        self._settle(row.id, outcome)
        if row.listed:
            self._delist(row)
        for duplicate in self._leaning_on(row):
            if duplicate.outcome is Outcome.CONFIRMED and not duplicate.sighting.is_dry:
                self._settle(duplicate.id, Outcome.ORPHANED)

    def _leaning_on(self, row: Row) -> list[Row]:
        """Return what was dropped for *row*, or in its crawl for what it showed to stand there still."""
        if not row.is_met_again:
            return self._duplicates(row.id)
        assert row.verdict.canonical is not None
        crawl, canonical = self._crawl(row.sighting.run), self.row(row.verdict.canonical).as_canonical()
        if canonical.run in crawl.alive or self._met(canonical.id, crawl.alive, row.sighting):
            return []
        copies = self._duplicates(canonical.id)
        return [copy for copy in copies if copy.sighting.run in crawl.alive]

    def _complete(self, row: Row) -> None:
        """Do what follows from the confirmation of *row*, unless it is of a dry run."""
        if row.sighting.is_dry:
            return
        self._supersede(row)
        if row.verdict.kept and self._is_restored(row.sighting):
            for restored in self._answered(row):
                self._settle(restored.id, Outcome.FORGOTTEN)

    def _is_wanted(self, sighting: Sighting, versions: Sequence[Version]) -> bool:
        """Whether somebody wants back what *sighting* shows, or what was there before it changed."""
        if not self._is_restored(sighting):
            return False
        page = sighting.fingerprint
        if any(row.as_version(row).shows(page) for row in self._restored_rows(sighting)):
            return True
        return not any(version.shows(page) for version in versions)

    def _answered(self, row: Row) -> list[Row]:
        """Return the rows that were wanted back and that *row*, which was kept, gives."""
        wanted = self._restored_rows(row.sighting)
        shown = [one for one in wanted if one.as_version(one).shows(row.sighting.fingerprint)]
        return shown or (wanted[:1] if row.verdict.reason is not Reason.UNCHANGED else [])

    def _supersede(self, row: Row) -> None:
        """Take the old version of a confirmed `updated` page out, unless this crawl met it again."""
        if row.verdict.replaces is None:
            return
        old = self.row(row.verdict.replaces)
        own = self._crawl(row.sighting.run).own
        if old.listed and not self._met(old.id, own, row.sighting):
            self._delist(old)

    def _miss(self, run: Run) -> None:
        """Make orphans of what *run* dropped for pages that its crawl was to meet later, and did not.

        So too for the runs of its crawl that have ended before: they could not know which hosts this
        one would visit.  What was met after all, when a run has gone on, is no orphan any more.
        """
        over = {other.id for other in self.runs() if other.over} & self._crawl(run.id).alive
        for number in sorted(over | {run.id}):
            crawl = self._crawl(number)
            for row in self._rows_elsewhere(number, crawl.alive):
                assert row.verdict.canonical is not None
                canonical = self.row(row.verdict.canonical)
                standing = self._standing(canonical.as_canonical(), row.sighting, crawl)
                stands = standing is not None and standing.is_kept and canonical.listed
                outcome = Outcome.CONFIRMED if stands else Outcome.ORPHANED
                if outcome is not row.outcome:
                    self._settle(row.id, outcome)

    def _reinstate(self, row: Row) -> None:
        if row.verdict.replaces is None:
            return
        old = self.row(row.verdict.replaces)
        if old.outcome is Outcome.CONFIRMED and not old.listed:
            self._enlist(old)

    def _duplicates(self, canonical: int) -> list[Row]:
        return [row for row in self._repeats(canonical) if not row.verdict.kept]

    # Runs

    @abstractmethod
    def begin_run(
        self,
        spider: str = "",
        *,
        job: str = "",
        settings: str = "",
        action: str = "drop",
        crawl: str = "",
    ) -> Run:
        """Return a new run, or the unfinished one of the same *job* and spider, which goes on.

        Runs with the same *crawl* are workers of one crawl.
        """

    @abstractmethod
    def restore_run(self, run: Run) -> Run:
        """Store *run* as it is, but for its number, which is the next one; nobody goes on with it."""

    @abstractmethod
    def end_run(self, run: Run, ending: str) -> None:
        """Record that *run* is over; its pending rows are released."""

    @abstractmethod
    def runs(self) -> list[Run]:
        """Return all runs, the oldest first."""

    def journal(self, run: int) -> list[str]:
        """Return what `extend_journal` has written for *run*, in order."""
        return self._notes_under(_journal_name(run))

    def extend_journal(self, run: int, number: int, entry: str) -> None:
        """Write the entry of that *number*: how far a long work is that is done in batches.

        Inside of `batch` it stands or falls with what is recorded there, so that a work that is
        interrupted can go on where its last batch ended.
        """
        self._note(f"{_journal_name(run)}{number:012}", entry)

    def end_journal(self, run: int) -> None:
        """Remove the entries of *run*: it needs not go on."""
        self._erase_notes(_journal_name(run))

    # Reading

    @abstractmethod
    def rows(self, run: int | None = None) -> Iterator[Row]:
        """Yield every row, or those of one *run*, in the order in which the pages were seen."""

    def glances(self, after: int = 0, outcome: Outcome | None = None) -> Iterator[Glance]:
        """Yield `glance_of` every row behind number *after*, in the order of `rows`.

        With *outcome* only the rows that have it.
        """
        rows = (row for row in self.rows() if row.id > after and outcome in (None, row.outcome))
        return map(glance_of, rows)

    def rows_of(self, rows: Iterable[int]) -> Iterator[Row]:
        """Yield the rows of those numbers, as they are asked for; raises `NoSuchRow`."""
        return map(self.row, rows)

    def candidates_of(self, row: Row, config: DedupConfig) -> list[Canonical]:
        """Return what *row* would be compared with if it came now, in the order of `nearness`.

        These are the listed canonicals within the thresholds of *config*, less itself, the versions
        of its URL and those that its sketch rules out.
        """
        newest = replace(row.sighting, run=_LATER)
        with self._reading():
            batches = self._candidates(newest, self._crawl(_LATER), config)
            found = [near for batch in batches for near in batch.canonicals]
        return [canonical for canonical in found if canonical.id != row.id]

    @abstractmethod
    def newest(
        self,
        limit: int,
        *,
        before: int | None = None,
        copies: bool = False,
        run: int = 0,
        part: str = "",
    ) -> list[Row]:
        """Return the *limit* rows seen last, the newest first, and of them those *before* a row.

        With *copies* only what repeats another page, with *run* only that run's, with *part* only
        those with that text somewhere in their URL or title, upper and lower case alike (ASCII).
        """

    @abstractmethod
    def copies_of(self, canonical: int, limit: int) -> list[Row]:
        """Return the rows that repeat the row *canonical*, at most *limit*, the newest first."""

    @abstractmethod
    def with_body(self, body_digest: bytes, limit: int) -> list[Row]:
        """Return the listed canonicals of that *body_digest*, at most *limit*, the oldest first.

        Of all kinds and scopes; b"" is the digest of none.
        """

    @abstractmethod
    def orphans(self) -> list[Row]:
        """Return the rows of pages that were dropped for a canonical which is gone."""

    @abstractmethod
    def row(self, row: int) -> Row:
        """Return the row of that number; raises `NoSuchRow`."""

    def text_of(self, row: Row) -> str | None:
        """Return the text of `page_of`, None also where it is unreadable: `dedup check` counts those."""
        try:
            page = self.page_of(row)
        except UnreadablePage:
            return None
        return page.text if page else None

    def page_of(self, row: Row) -> Page | None:
        """Return the page that *row* was judged by, without links and source, None if none is stored.

        Raises `dedup.reading.stored.UnreadablePage`, with the number of the row.
        """
        stored = self._stored_page(row.id)
        if not stored:
            return None
        seen = row.sighting
        try:
            return unpack(
                stored,
                url=seen.url,
                body_digest=seen.fingerprint.body_digest,
                canonical_link=seen.canonical_link,
            )
        except UnreadablePage as error:
            raise UnreadablePage(f"{self.name}: the page of row {row.id}: {error}") from error

    @abstractmethod
    def largest_clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        """Return the canonicals with most copies dropped in *run*, and how many, the largest first."""

    @abstractmethod
    def statistics(self) -> Statistics:
        """Return how much there is, without reading it all."""

    @abstractmethod
    def clusters(self, limit: int, *, min_copies: int = 1) -> list[ClusterSize]:
        """Return the canonicals with *min_copies* or more copies, at most *limit*, the largest first.

        A copy is a row that was judged a copy and is not forgotten; of equally large ones, the
        oldest is first.
        """

    @abstractmethod
    def tallies(self) -> list[Tally]:
        """Count all rows by run, site, reason, whether they were kept, and outcome, in that order."""

    def similar_urls(self, url: str, limit: int = 3) -> list[str]:
        """Return URLs of the index that *url* may be a mistake for, the likeliest first."""
        key = url_key(url)[:_LONGEST_URL]
        around = {near for variant in variants(key) for near in self._keys_around(variant)}
        short = [near for near in sorted(around) if len(near) <= _LONGEST_URL]
        return get_close_matches(key, short, limit, cutoff=0.6)

    @abstractmethod
    def verify(self) -> list[str]:
        """Return what is wrong with the stored data, a line for each; nothing is repaired."""

    @abstractmethod
    def recipe(self) -> Mapping[str, str]:
        """Return the recipe of the stored fingerprints, empty while there are none."""

    def nearest(
        self,
        fingerprint: Fingerprint,
        *,
        kind: str | None = None,
        scope: str | None = None,
        max_distance: int = SIMHASH_BITS,
    ) -> Neighbour | None:
        """Return the listed canonical whose content simhash is nearest, of equally near ones the oldest.

        Within *max_distance* bits (inclusive, 0 to 64), of all kinds and scopes unless one is
        named; None where there is none, or where the page has no token.  Exact, whatever it takes;
        own versions count like any other page.
        """
        if not 0 <= max_distance <= SIMHASH_BITS:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {SIMHASH_BITS}")
        if not fingerprint.content_simhash:
            return None
        with self._reading():
            return self._nearest(fingerprint.content_simhash, kind, scope, max_distance)

    def near(
        self,
        fingerprint: Fingerprint,
        *,
        field: str = "content",
        max_distance: int,
        limit: int = 10,
        kind: str | None = None,
        scope: str | None = None,
    ) -> list[Neighbour]:
        """Return the listed canonicals near *fingerprint*, the nearest first, then the oldest.

        By the simhash *field*, `content` or `structure`, within *max_distance* bits (inclusive, 0 to
        64), at most *limit*; the rest as for `nearest`.  Exact.
        """
        if not 0 <= max_distance <= SIMHASH_BITS:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {SIMHASH_BITS}")
        if field not in SIMHASH_FIELDS:
            raise ConfigError(f"field ({field!r}) must be one of {', '.join(SIMHASH_FIELDS)}")
        if not (simhash := fingerprint.simhash(field)):
            return []
        with self._reading():
            return self._near(field, simhash, kind, scope, max_distance=max_distance, limit=limit)

    @property
    def parser(self) -> str:
        """Which HTML parser read the newest pages, "" while there are none."""
        return self._noted("parser")

    def prepare(self, config: DedupConfig) -> None:
        """Make the index ready for pages of *config*: its recipe, and bands if they find candidates.

        Raises `IndexMismatch` for another recipe, and `IndexUnavailable` where bands are to be made
        while a crawl is using the index.
        """
        self.require_recipe(config.recipe())
        self.require_bands(config)

    def expect(self, config: DedupConfig) -> None:
        """Raise `IndexMismatch` if pages of *config* cannot be compared with those that are here."""
        if stored := self.recipe():
            self._compare_recipes(stored, config.recipe())

    def require_bands(self, config: DedupConfig) -> None:
        """Make lists of bands if *config* finds candidates by them and there are none."""
        if wanted := banding_of(config):
            self._require_bands(wanted)

    def require_recipe(self, recipe: Mapping[str, str]) -> None:
        """Store *recipe* if there is none yet; raise `IndexMismatch` if there is another one."""
        if not self.recipe():
            self._store_recipe(recipe)
        self._compare_recipes(self.recipe(), recipe)

    def _compare_recipes(self, stored: Mapping[str, str], recipe: Mapping[str, str]) -> None:
        if (version := stored["recipe"]) != recipe["recipe"]:
            raise IndexMismatch(
                f"{self.name} was built by a release with recipe={version}, this one has "
                f"recipe={recipe['recipe']}; use that release again or another DEDUP_INDEX"
            )
        for field in sorted(stored.keys() | recipe.keys()):
            was, now = stored.get(field, "nothing"), recipe.get(field, "nothing")
            if was != now:
                raise IndexMismatch(
                    f"{self.name} was built with {field}={was}, now {field}={now}; "
                    f"set {field}={was} again or use another DEDUP_INDEX"
                )

    def note_parser(self, parser: str) -> None:
        """Record which HTML parser reads the pages; warn once if another one has read earlier ones.

        Another parser may see other tags in broken pages: their copies could be missed, so it is
        worth a simhash, but most pages come out alike, so nothing is refused.
        """
        recorded = self.parser
        if recorded and recorded != parser:
            logger.warning(
                "The pages in %s were parsed with %s, now it is %s: broken pages among them may not "
                "be recognised",
                self.name,
                recorded,
                parser,
            )
        if recorded != parser:
            self._note("parser", parser)

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the index is, for messages."""

    @property
    @abstractmethod
    def secret(self) -> bytes:
        """What the check sketches of this index are keyed with, `dedup.values.hashes.SECRET_SIZE` bytes.

        It was drawn when the index was made and is for nobody to see.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the index; runs that were not ended stay open and are found dead at the next opening."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # What a storage provides

    @abstractmethod
    def _store_recipe(self, recipe: Mapping[str, str]) -> None: ...

    @abstractmethod
    def _noted(self, name: str) -> str:
        """What was noted under *name*, "" for nothing."""

    @abstractmethod
    def _note(self, name: str, value: str) -> None: ...

    @abstractmethod
    def _notes_under(self, prefix: str) -> list[str]:
        """Return the values of all names that begin with *prefix*, in the order of the names."""

    @abstractmethod
    def _erase_notes(self, prefix: str) -> None:
        """Remove all names that begin with *prefix*."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _require_bands(self, banding: Banding) -> None: ...

    @abstractmethod
    def _nearest(
        self, simhash: int, kind: str | None, scope: str | None, max_distance: int
    ) -> Neighbour | None:
        """See `nearest`; *simhash* is not 0."""

    @abstractmethod
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
        """See `near`; *simhash* is not 0."""

    @abstractmethod
    def _keys_around(self, url_key: str) -> list[str]:
        """Return the keys of URLs that stand next to *url_key* in the order of the alphabet."""

    @abstractmethod
    def _crawl(self, run: int) -> Crawl:
        """Return the crawl of *run*, as it is at this moment."""

    @abstractmethod
    def _versions(self, sighting: Sighting, crawl: Crawl) -> Sequence[Version]:
        """Rows of the same identity in its last earlier run that this crawl has not met again.

        With them its own canonicals that show the same, of whatever earlier run.
        """

    @abstractmethod
    def _rows_at(self, sighting: Sighting, url_key: str) -> list[Row]:
        """Return the rows of a URL in the kind and scope of *sighting*, the oldest first."""

    @abstractmethod
    def _candidates(self, sighting: Sighting, crawl: Crawl, config: DedupConfig) -> Iterable[Candidates]:
        """Listed canonicals of kind and scope that may match, in order, without own versions."""

    @abstractmethod
    def _met(self, canonical: int, runs: Collection[int], sighting: Sighting) -> Row | None:
        """Return the row of one of the *runs* that met *canonical* again, a confirmed one if it can."""

    @abstractmethod
    def _rivals(self, canonical: Canonical, sighting: Sighting, crawl: Crawl) -> list[Canonical]:
        """Return the listed canonicals of its cluster that are no own versions of *sighting*."""

    @abstractmethod
    def _is_restored(self, sighting: Sighting) -> bool:
        """Whether a row of the same identity is wanted back."""

    @abstractmethod
    def _restored_rows(self, sighting: Sighting) -> list[Row]: ...

    @abstractmethod
    def _add_visit(self, scope: str, host: str, run: int) -> None: ...

    @abstractmethod
    def _add_withheld(self, run: int, requests: Iterable[Withheld]) -> None: ...

    @abstractmethod
    def _delete_visits(self, run: int) -> None: ...

    @abstractmethod
    def _is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        """Whether one of the *runs* was on *host*, under that scope or the one of all."""

    @abstractmethod
    def _has_visited(self, runs: Collection[int]) -> bool:
        """Whether one of the *runs* has visited any host."""

    @abstractmethod
    def _was_missed(self, canonical: Canonical, scope: str) -> bool:
        """Whether a later run was on its host, came to its end, and did not meet *canonical*.

        Later is what began after the end of the last run that met it.
        """

    @abstractmethod
    def _rows_elsewhere(self, run: int, runs: Collection[int]) -> Iterable[Row]:
        """Return the copies of *run* that lean on a host which one of *runs* visited only later."""

    @abstractmethod
    def _add(self, sighting: Sighting, verdict: Verdict, outcome: Outcome) -> Row:
        """Store a row, listed if it `is_canonical`."""

    @abstractmethod
    def _store_page(self, row: int, page: bytes) -> None: ...

    @abstractmethod
    def _stored_page(self, row: int) -> bytes:
        """What was stored with *row*, b"" for nothing."""

    @abstractmethod
    def _delete_pages(self, rows: Sequence[int]) -> None: ...

    @abstractmethod
    def _settle(self, row: int, outcome: Outcome) -> None: ...

    def _confirm_plain(self, row: int) -> bool:  # noqa: ARG002
        """Confirm a pending row that replaces nothing, if the storage has a fast way; else False."""
        return False

    @abstractmethod
    def _enlist(self, row: Row) -> None: ...

    @abstractmethod
    def _delist(self, row: Row) -> None: ...

    @abstractmethod
    def _rows_of_run(self, run: int) -> list[Row]: ...

    @abstractmethod
    def _rows_of_url(self, url_key: str) -> list[Row]: ...

    @abstractmethod
    def _rows_last_seen_before(self, moment: float) -> list[Row]: ...

    @abstractmethod
    def _repeats(self, canonical: int) -> list[Row]:
        """All rows whose verdict names *canonical*."""


def _journal_name(run: int) -> str:
    return f"journal.{run}."
