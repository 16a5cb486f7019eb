"""What was judged, judged once more: the pages of an index as of today, and as their crawl knew them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product

from dedup.index import Index, Row, Run
from dedup.index.notes import all_noise
from dedup.model.errors import printable
from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import FATE_OF, Match, Reason, Verdict
from dedup.prints import fingerprinter as prints
from dedup.prints.fingerprinter import DedupConfig, fingerprint, other_pairs, sampled
from dedup.reading.fields import held
from dedup.reading.noise import Gaps, Line, MarkedPlaces, left_out_of, places_shown
from dedup.reading.page import Page, UnreadablePage
from dedup.rule import match as rule
from dedup.rule.decide import SAID
from dedup.rule.match import SiteContext

MOST_NAMED = 3  # words, or pairs of them
_MOST_READ = 2_000  # pages that are held
# The finding of a copy, or else it was dropped as it is still what was a copy at its last visit.
_OF_COPIES = (*rule.OUTRIGHT, rule.FEW, rule.OWN, *rule.BY_SITE, SAID)
_FAR = 24  # bits: what differs in more is near by chance
_TITLED = "p.listed AND p.title = ? AND p.title != ''"
# What a view for print has behind the address of its page.
_VIEW = re.compile(r"\?.*|/[a-z]+/?", re.IGNORECASE)


class Replay:
    """Reads and judges the pages of *index* once more, by today's *config*.

    What changes at each load, as is known by now, is left out; of their site counts what was known then.
    """

    def __init__(self, index: Index, config: DedupConfig) -> None:
        self.index, self.config = index, config
        self.noise, self.marked = all_noise(index.store), MarkedPlaces(config.exceptions)
        acting = ((one[:2], [gap for gap, it in one.gaps.items() if it.acts(gap)]) for one in self.noise)
        self._gaps = {site: Gaps(gaps) for site, gaps in acting if gaps}
        self.hosts = {host for _, host in self._gaps}  # where something is known to change at each load
        self._read: dict[tuple[int, bool], Page | None] = {}  # the last pages

    @cached_property
    def runs(self) -> dict[int, Run]:
        """The runs of the index, by their numbers."""
        return {run.id: run for run in self.index.runs.all()}

    def action(self, row: Row) -> str:
        """Return what its run did with duplicates (see `dedup.index.Run`)."""
        run = self.runs.get(row.sighting.run)
        return run.action if run else "drop"

    def fate(self, row: Row) -> str:
        """Return what became of the page of *row*: `kept`, `dropped`, `marked` or `would_drop`."""
        return "kept" if row.verdict.kept else FATE_OF.get(self.action(row), "dropped")

    def updates(self, row: Row) -> Row | None:
        """Return what the page of *row*, kept as another version of it, said when it was last met."""
        number = row.verdict.previous if row.verdict.reason is Reason.UPDATED else None
        before = self.index.row(number) if number else None
        return before if before and before.is_own else None

    def page_of(self, number: int, *, is_whole: bool = False) -> Page | None:
        """Return the stored page of a row, or of that where it was the same; None for none to read.

        Unless it *is_whole*, what is known by now to change at each load is left out, and marks on
        places are obeyed, as when pages are judged.
        """
        if (number, is_whole) not in self._read:
            if len(self._read) >= _MOST_READ:
                self._read.clear()
            self._read[number, is_whole] = self._page_of(number, is_whole=is_whole)
        return self._read[number, is_whole]

    def _page_of(self, number: int, *, is_whole: bool) -> Page | None:
        row = self.index.row(number)
        try:
            page = self.index.page_of(row) or self.index.page_of(self.index.row(row.origin))
        except UnreadablePage:
            return None
        if page is None or is_whole:
            return page
        scope, host = row.sighting.scope, row.sighting.host
        gaps = self._gaps.get((scope, host)) or self._gaps.get(("", host))
        return self.marked.obeyed(gaps.masked(page)[0] if gaps else page)

    def whole(self, *rows: Row) -> list[str]:
        """Return the whole texts of the pages of *rows*, each with its title and all addresses."""
        names = [row.sighting.url for row in rows]
        pages = (self.page_of(row.id, is_whole=True) for row in rows)
        return ["\n".join((page.title, *names, page.text)) for page in pages if page]

    def print_of(self, row: Row) -> Fingerprint:
        """Return the fingerprint of the page of *row*, made anew where its text is stored."""
        host, stored = row.sighting.host, row.sighting.fingerprint
        page = self.page_of(row.id) if host in self.hosts or host in self.marked else None
        if not page:
            return replace(stored, left_out=host in self.hosts)
        whole = self.page_of(row.id, is_whole=True)
        return replace(fingerprint(page, self.config), left_out=not whole or page.text != whole.text)

    def _prints(self, row: Row) -> list[Fingerprint]:
        """Return what may have been judged of *row*: what is stored, its page as of today, and whole."""
        stored, whole = row.sighting.fingerprint, self.page_of(row.id, is_whole=True)
        found = [stored, replace(stored, left_out=True), self.print_of(row)]
        if whole:
            found.append(replace(fingerprint(whole, self.config), traits=stored.traits))
            found.append(fingerprint(whole, self.config))
        return found

    def site(self, row: Row) -> SiteContext:
        """Return what was known of the site of *row* before it, by the settings of its crawl."""
        # Sentences are stored where what is unchanged is dropped.
        unchanged = "drop" if row.sighting.fingerprint.sentences else "keep"
        config = replace(self.config, unchanged=unchanged)
        return self.index.ledger.known(row.sighting, config).site(row.id)

    def beside(self, row: Row) -> Callable[[Row], Match]:
        """Return what judges the page of *row* today beside that of another row, kept before."""
        page, site = self.print_of(row), self.site(row)

        def judged(kept: Row) -> Match:
            with self.index.store.transaction(writing=False):
                beside = site.beside(kept.sighting.host)
                return rule.match(self.print_of(kept), page, self.config, beside)

        return judged

    def replayed(self, row: Row, kept: Row) -> Match | None:
        """Return how the page of *row* was judged beside that *kept*, None where that is not known.

        What is stored of either may have been made since, and settings may have been others.
        """
        verdict, site = row.verdict, self.site(row).beside(kept.sighting.host)
        is_copy, finding = not verdict.kept or bool(verdict.represents), verdict.finding
        is_of_it = kept.id in (verdict.nearest, repeated(row))
        best: tuple[tuple[bool, ...], Match] | None = None
        with self.index.store.transaction(writing=False):
            for config in dict.fromkeys((self.config, DedupConfig())):
                for one, page in product(self._prints(kept), self._prints(row)):
                    found = rule.match(one, page, config, site)
                    if found.is_duplicate is not is_copy:
                        continue
                    rank = is_of_it and found.finding == finding, found.similarity == verdict.similarity
                    if best is None or rank > best[0]:
                        best = rank, found
                    if all(rank):
                        return found
        return best[1] if best else None

    def left_out(self, host: str, lines: Sequence[Line]) -> list[str]:
        """Return what is left out of the *lines* of a page of *host*, with examples."""
        known = dict(chain(*(site.gaps.items() for site in self.noise if site.host == host)))
        return places_shown(left_out_of(lines, known))

    def named_pairs(self, row: Row, kept: Row, count: int) -> str:
        """Return some of the *count* pairs of words that tell the page of *row* from that *kept*."""
        if (page := self.page_of(row.id)) is None:
            return ""
        others = other_pairs(self.print_of(kept).traits, fingerprint(page, self.config).traits)
        new, parts = sampled(others)[self.site(row).unknown(others)], prints.words_and_numbers(others)
        sets = [{*one.tolist()} for one in (new, *map(sampled, parts), sampled(others))]
        left, names = next((one for one in sets if len(one) == count), sets[-1]), list[str]()
        for said, pairs in prints.pairs_of(page.text):
            names += [f"“{said}”"] * bool(pairs & left)
            left -= pairs
        shown = printable(", ".join(names[: min(count, MOST_NAMED)]))
        return f": {shown}{' and more' * (count > MOST_NAMED)}" * bool(names)

    def near(self, page: Fingerprint, own: Row | None) -> list[tuple[bool, Row]]:
        """Return pages kept near *page*, or with the title or an address like that of its *own* row.

        Those that lack fewest of its pairs of words come first, then the nearest, each after whether its
        address tells that *page* is no view of it.
        """
        rows = self.index.near(page, max_distance=_FAR, limit=rule.MAX_CANDIDATES)
        url = own.sighting.url if own else ""
        if own:
            titled = self.index.store.rows(_TITLED, own.sighting.title, limit=rule.MAX_CANDIDATES)
            known = self.index.ledger.known(own.sighting, self.config)
            beside = (one.id for some in known.neighbours(known.pool()) for one in some.canonicals)
            found = [*rows, *titled, *map(self.index.row, beside)]
            group, name = own.sighting.group, own.sighting.identity
            # None of its versions.
            of_group = (row for row in found if row.sighting.group == group)
            rows = [row for row in of_group if row.sighting.identity != name]

        def nearness(row: Row) -> tuple[float, ...]:
            lacks = other_pairs(row.sighting.fingerprint.traits, page.traits)
            return (len(lacks), *rule.nearness(page, row.as_canonical()))

        ranked = sorted({row.id: row for row in rows}.values(), key=nearness)
        return [(not _VIEW.fullmatch(url.removeprefix(row.sighting.url)), row) for row in ranked]


def still_repeats(verdict: Verdict) -> bool:
    """Return whether a page was dropped as its last visit was."""
    return verdict.reason is Reason.NEAR_DUPLICATE and verdict.finding not in ("", *_OF_COPIES)


def repeated(row: Row) -> int | None:
    """Return the number of the other page that *row* repeats, None if it repeats none."""
    return row.verdict.represents if row.is_own else row.verdict.canonical


def differing(kept: Row, row: Row) -> list[tuple[str, str, str]]:
    """Return the fields that were not judged and differ: name, value, value of the page *kept*.

    What is the title of a page was judged with it.
    """
    ours, theirs = (json.loads(one.sighting.unjudged or "{}") for one in (row, kept))
    titles = tuple(held(one.sighting.title) for one in (row, kept))
    found = ((name, ours.get(name, "none"), theirs.get(name, "none")) for name in sorted(ours | theirs))
    return [(name, str(a), str(b)) for name, a, b in found if a != b and (str(a), str(b)) != titles]
