"""The pages to crawl.  They are made from numbers, so it is known which page repeats which.

A *place* is a URL, a *document* is a text.  Each crawl of a `Plan` is a series of visits.  A document, a
*variant* (0 is the original, each other number has its own edits) and a *revision* of the place determine
what a visit finds.  The seed determines everything.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.signedinteger]

# What part of all visits each crawl makes; those after the first visit known places again.
CRAWLS = (0.8, 0.15, 0.05)
RECRAWLED = 0.7
SITES = 20
VOCABULARY = 20_000


class Kind(IntEnum):
    """What a visit finds."""

    ORIGINAL = 0
    TEMPLATE = 1
    """A text of its own in the layout, under the title and on the site of another: to be kept."""
    EXACT = 2
    NEAR = 3
    UNCHANGED = 4
    UPDATED = 5
    """A known place with two words more edited than at the last visit."""
    REWRITTEN = 6
    """A known place with a text of its own that was never there before."""


# How often each kind is met at new places, and at known ones.
AT_NEW = {Kind.ORIGINAL: 0.35, Kind.TEMPLATE: 0.25, Kind.EXACT: 0.15, Kind.NEAR: 0.25}
AT_KNOWN = {Kind.UNCHANGED: 0.80, Kind.UPDATED: 0.15, Kind.REWRITTEN: 0.05}
MOST_EDITS = 5
EDITS_OF_A_REVISION = 2


@dataclass(frozen=True, slots=True)
class Visits:
    """One crawl, a number in each array for each visit, in order."""

    kind: Numbers
    place: Numbers
    document: Numbers
    variant: Numbers
    revision: Numbers

    def __len__(self) -> int:
        return len(self.kind)


class Plan:
    """All crawls of *pages* visits; memory is some hundred bytes a visit while it is made."""

    def __init__(self, pages: int, seed: int) -> None:
        self.seed = seed
        self._rng = np.random.default_rng(seed)
        self._sources: list[Numbers] = []
        self._documents = 0
        # What each place shows: document, variant, revision.
        self._shown = np.empty((3, 0), np.int64)
        self.crawls = [self._crawl(round(pages * share), first=not n) for n, share in enumerate(CRAWLS)]
        self.layouts = self._resolved(np.concatenate(self._sources))
        """For each document, the one whose layout, title and site it has: mostly itself."""
        self.sites = np.random.default_rng((seed, 1)).integers(0, SITES, len(self.layouts))
        self.hosts = np.random.default_rng((seed, 2)).integers(0, SITES, self._shown.shape[1])

    def _crawl(self, visits: int, *, first: bool) -> Visits:
        known = 0 if first else min(round(visits * RECRAWLED), self._shown.shape[1])
        again = self._rng.permutation(self._shown.shape[1])[:known]
        places = np.concatenate([again, self._shown.shape[1] + np.arange(visits - known)])
        kinds = np.concatenate([self._kinds(AT_KNOWN, known), self._kinds(AT_NEW, visits - known)])
        if first:
            kinds[0] = Kind.ORIGINAL
        order = self._rng.permutation(visits) if known else np.arange(visits)
        places, kinds = places[order], kinds[order]

        is_new = np.isin(kinds, (Kind.ORIGINAL, Kind.TEMPLATE, Kind.REWRITTEN))
        earlier = self._documents + np.cumsum(is_new) - is_new
        popular = self._popular(earlier)
        own = earlier
        self._sources.append(np.where(kinds == Kind.TEMPLATE, popular, own)[is_new])
        self._documents += int(is_new.sum())

        self._shown = np.concatenate([self._shown, np.zeros((3, visits - known), np.int64)], axis=1)
        document, variant, revision = self._shown[:, places]
        document = np.where(is_new, own, np.where(kinds >= Kind.UNCHANGED, document, popular))
        variant = np.where(kinds == Kind.NEAR, places + 1, np.where(is_new, 0, variant))
        revision = np.where(kinds == Kind.UPDATED, revision + 1, np.where(is_new, 0, revision))
        self._shown[:, places] = document, variant, revision
        found = (kinds, places, document, variant, revision)
        return Visits(*(numbers.astype(np.int32) for numbers in found))

    def _kinds(self, shares: dict[Kind, float], count: int) -> Numbers:
        return self._rng.choice([int(kind) for kind in shares], count, p=list(shares.values()))

    def _popular(self, earlier: Numbers) -> Numbers:
        """Draw for each visit one of the *earlier* documents, the nth in proportion to 1/n (Zipf)."""
        drawn = np.exp(self._rng.random(len(earlier)) * np.log(earlier + 1.0)).astype(np.int64)
        found: Numbers = np.minimum(drawn, np.maximum(earlier, 1)) - 1
        return found

    @staticmethod
    def _resolved(sources: Numbers) -> Numbers:
        while (sources[sources] != sources).any():
            sources = sources[sources]
        return sources

    def url(self, place: int) -> str:
        return f"https://site{self.hosts[place]}.example/{place}"

    def pages(self, crawl: int, visits: range) -> Iterator[dict[str, str]]:
        """Yield the pages of these visits, as items."""
        made = self.crawls[crawl]
        for visit in visits:
            place = int(made.place[visit])
            html = self._html(
                int(made.document[visit]), int(made.variant[visit]), place, int(made.revision[visit])
            )
            yield {"url": self.url(place), "html": html}

    def _html(self, document: int, variant: int, place: int, revision: int) -> str:
        layout = int(self.layouts[document])
        # Half of the near copies stand in the template of the site that took them over.
        site = self.hosts[place] if variant % 2 else self.sites[layout]
        words = self._words(document, variant, place, revision)
        return self._writer.html(words, layout, int(site))

    def _words(self, document: int, variant: int, place: int, revision: int) -> list[str]:
        rng = random.Random(f"{self.seed} {document}")
        words = rng.choices(self._writer.vocabulary, k=rng.randint(180, 320))
        if variant:
            rng = random.Random(f"{self.seed} {document} variant {variant}")
            self._edit(words, rng.randint(1, MOST_EDITS), rng)
        for number in range(revision):
            rng = random.Random(f"{self.seed} {document} {place} revision {number}")
            self._edit(words, EDITS_OF_A_REVISION, rng)
        return words

    def _edit(self, words: list[str], edits: int, rng: random.Random) -> None:
        for _ in range(edits):
            words[rng.randrange(len(words))] = rng.choice(self._writer.vocabulary)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.seed)


class Writer:
    """Puts words into the templates of sites."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        rng = random.Random(f"{seed} vocabulary")
        syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
        self.vocabulary = sorted(
            {"".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(VOCABULARY * 2)}
        )
        rng.shuffle(self.vocabulary)
        del self.vocabulary[VOCABULARY:]
        self._frames = [self._frame(random.Random(f"{seed} site {site}")) for site in range(SITES)]

    def _frame(self, rng: random.Random) -> tuple[str, str]:
        def some(count: int) -> list[str]:
            return rng.choices(self.vocabulary, k=count)

        links = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in some(rng.randint(8, 20)))
        depth = rng.randint(1, 4)
        start = (
            f"<body><header><p>{' '.join(some(5))}</p></header><nav><ul>{links}</ul></nav>"
            f"{'<div>' * depth}<main><p class=byline>{' '.join(some(6))}</p>"
        )
        end = f"</main>{'</div>' * depth}<footer><p>{' '.join(some(40))}</p></footer></body></html>"
        return start, end

    def html(self, words: list[str], layout: int, site: int) -> str:
        start, end = self._frames[site]
        rng = random.Random(f"{self._seed} layout {layout}")
        title = " ".join(rng.choices(self.vocabulary, k=6))
        parts = [f"<!DOCTYPE html><html><head><title>{title}</title></head>", start, f"<h1>{title}</h1>"]
        at = 0
        while at < len(words):
            size, block = rng.randint(15, 70), rng.choice(BLOCKS)
            parts.append(block(words[at : at + size]))
            at += size
        return "".join([*parts, end])


def _paragraph(words: list[str]) -> str:
    return f"<p>{' '.join(words)}.</p>"


def _quotation(words: list[str]) -> str:
    return f"<blockquote><p><em>{' '.join(words)}</em></p></blockquote>"


def _list(words: list[str]) -> str:
    items = (f"<li>{' '.join(words[at : at + 8])}</li>" for at in range(0, len(words), 8))
    return f"<ul>{''.join(items)}</ul>"


def _section(words: list[str]) -> str:
    return f"<section><h2>{' '.join(words[:4])}</h2><p>{' '.join(words[4:])}</p></section>"


BLOCKS = (_paragraph, _paragraph, _list, _section, _quotation)
