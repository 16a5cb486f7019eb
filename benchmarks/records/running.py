"""Pages through an index by the default rule, or through a peer, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from benchmarks.records.articles import edit_loads, noise_loads, series_loads
from benchmarks.records.kinds import record_loads
from benchmarks.records.writing import Load
from dedup import DedupConfig, Detector, MemoryIndex, Page, fingerprint
from dedup.prints.fingerprinter import tokens_of
from dedup.reading.page import sighting_of

T = TypeVar("T")

CONFIG, SPIDER = DedupConfig(), "records"
JACCARD, DISTANCE, SHINGLE = 0.8, 3, 4
RECORDS, COUNTERS, NOISE, EDITS, SERIES = PARTS = ("records", "counters", "noise", "edits", "series")


@dataclass(frozen=True, slots=True)
class Case:
    """One crawl of one site: *count* records or articles of a *kind*; *words* are those of the frame."""

    part: str
    kind: str
    count: int
    seed: int
    titled: bool
    words: int = 0
    order: str = ""
    rule: str = "default"

    def loads(self) -> list[Load]:
        """Return the pages of the site in the order in which they are met."""
        # Articles are the same ones for all kinds of noise and edits.
        is_of_records = self.part in (RECORDS, COUNTERS)
        rng = Random(f"{self.seed} {self.kind if is_of_records else ''}")
        if is_of_records:
            shown = self.part == COUNTERS
            return record_loads(
                self.kind, self.count, rng, words=self.words, titled=self.titled, counters=shown
            )
        if self.part == NOISE:
            return noise_loads(self.kind, self.count, rng, titled=self.titled, order=self.order)
        make = edit_loads if self.part == EDITS else series_loads
        return make(self.kind, self.count, rng, titled=self.titled)


@dataclass(frozen=True, slots=True)
class Score:
    """Of *unique* contents so many were *kept*, of the *copies* met so many were *dropped*.

    One page is to be kept of each content, at whatever address.  Each more is a copy that was kept; a
    content of which nothing is kept is lost.  *turns* are the drops at the first, second, ... address.
    """

    unique: int
    kept: int
    copies: int
    dropped: int
    turns: tuple[int, ...]


def score_of(case: Case) -> Score:
    """Return what the rule of the case makes of its pages."""
    loads = case.loads()
    return scored(loads, RULES[case.rule](loads))


def scored(loads: Sequence[Load], kept: Sequence[bool]) -> Score:
    """Return the score of *loads*, which were *kept* or dropped.

    >>> one, two, three = Load("", "", 0), Load("", "", 1), Load("", "", 1, 1)
    >>> scored([one, two, three], [False, True, False])
    Score(unique=2, kept=1, copies=1, dropped=1, turns=(1, 1))
    """
    met = len({load.truth for load in loads})
    kept_of = Counter(load.truth for load, is_kept in zip(loads, kept, strict=True) if is_kept)
    turns = Counter(load.turn for load, is_kept in zip(loads, kept, strict=True) if not is_kept)
    copies = len(loads) - met
    return Score(
        unique=met,
        kept=len(kept_of),
        copies=copies,
        dropped=copies - sum(count - 1 for count in kept_of.values()),
        turns=tuple(turns[turn] for turn in range(max(load.turn for load in loads) + 1)),
    )


def _kept_by_default(loads: Iterable[Load]) -> list[bool]:
    """Return which pages a crawl with the defaults keeps, in a fresh index."""
    kept = []
    with MemoryIndex() as index, Detector(index, CONFIG, SPIDER) as detector:
        for load in loads:
            page = Page.from_html(load.html, url=load.url)
            prints = fingerprint(page, CONFIG)
            sighting = sighting_of(page, prints, scope=CONFIG.scope, spider=SPIDER)
            kept.append(detector.submit(sighting, confirmed=True).kept)
    return kept


def _unlike(
    sign: Callable[[Page], T], alike: Callable[[T, T], bool]
) -> Callable[[Iterable[Load]], list[bool]]:
    """Return what keeps a page unless it is *alike* one kept, by what *sign* gives of each."""

    def kept_of(loads: Iterable[Load]) -> list[bool]:
        known, kept = list[T](), list[bool]()
        for load in loads:
            own = sign(Page.from_html(load.html))
            kept.append(not any(alike(own, other) for other in known))
            known += [own] if kept[-1] else []
        return kept

    return kept_of


def _shingles(page: Page) -> set[tuple[str, ...]]:
    tokens = tokens_of(page.text, CONFIG)
    return set(zip(*(tokens[start:] for start in range(SHINGLE)), strict=False))


def _are_alike(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> bool:
    if min(len(one), len(other)) < JACCARD * max(len(one), len(other)):
        return False
    both = len(one & other)
    return both >= JACCARD * (len(one) + len(other) - both)


RULES = {
    "default": _kept_by_default,
    # What MinHash estimates, exactly.
    "MinHash .8": _unlike(_shingles, _are_alike),
    "SimHash 3": _unlike(
        lambda page: fingerprint(page).content_simhash,
        lambda one, other: (one ^ other).bit_count() <= DISTANCE,
    ),
}
