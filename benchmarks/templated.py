"""Pages that look like those of crawls: sites of unequal sizes, each with a frame, and some copies.

The size of a site follows a power law: the largest of 200 has one page in six.  The pages of a site
share a header and a footer; their own words are drawn by Zipf's law from the language of the site.  One
page in five repeats an earlier one of its site, with two words of its own changed.  The same seed
gives the same pages, in any order and in any process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, product
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from dedup import Page, fingerprint
from dedup.index import Row, Sighting
from dedup.model.fingerprint import Fingerprint
from dedup.model.urls import url_key
from dedup.model.verdict import Outcome, Reason, Verdict

WORDS = 320
COPIES = 0.2
SITES = 200
# The share of the words that are those of the frame.
FRAME = 0.25
SEED = 5
_VOCABULARY = 20_000
_ONE_IN = 100
# Consonants and vowels of which the words of a language are made.
_ALPHABETS = (
    ("bcdfghklmnprstvw", "aeiou"),
    ("bdfgjklmnprstvöä", "aeiuüøå"),
    ("бвгджзклмнпрстфхч", "аеиоуя"),
    ("βγδζθκλμνπρστφχ", "αεηιου"),
)

Numbers = NDArray[np.int64]


@cache
def _vocabulary(language: int) -> list[str]:
    consonants, vowels = _ALPHABETS[language]
    syllables = ["".join(pair) for pair in product(consonants, vowels)]
    words = ["".join(three) for three in islice(product(syllables, repeat=3), 10 * _VOCABULARY)]
    order = np.random.default_rng(language).permutation(len(words))[:_VOCABULARY]
    return [words[place] for place in order]


@cache
def _zipf(count: int) -> NDArray[np.float64]:
    """Return the shares of the first, the first two, ... of *count* things of which one is 1/rank."""
    sums = np.cumsum(1 / np.arange(1, count + 1))
    shares: NDArray[np.float64] = sums / sums[-1]
    return shares


@dataclass(slots=True)
class Crawl:
    """*count* pages.

    The page *n* is on the site `site_of[n]`, and repeats the page `origins[n]`, or is that itself.
    """

    count: int
    site_of: Numbers = field(init=False)
    origins: Numbers = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(SEED)
        # The rank of a site says nothing about its language.
        self.site_of = _zipf(SITES).searchsorted(rng.random(self.count))
        self.origins = np.arange(self.count)
        originals: list[list[int]] = [[] for _ in range(SITES)]
        repeats = rng.random(self.count) < COPIES
        for number, (site, draw) in enumerate(zip(self.site_of, rng.random(self.count), strict=True)):
            if repeats[number] and originals[site]:
                self.origins[number] = originals[site][int(draw * len(originals[site]))]
            else:
                originals[site].append(number)

    def is_copy(self, number: int) -> bool:
        """Return whether the page repeats another one."""
        return bool(self.origins[number] != number)

    def url(self, number: int) -> str:
        """Return the URL of a page."""
        return f"http://site{self.site_of[number]}.example/{number}"

    def text(self, number: int) -> str:
        """Return the text of a page."""
        site = int(self.site_of[number])
        vocabulary = _vocabulary(site * 7 % len(_ALPHABETS))
        around = round(WORDS * FRAME)
        frame = self._drawn(around, -1, site)
        own = self._drawn(WORDS - around, 0, int(self.origins[number]))
        if self.is_copy(number):
            rng = np.random.default_rng((SEED, 2, number))
            changed = rng.integers(0, len(own), max(1, len(own) // _ONE_IN))
            own[changed] = rng.integers(0, _VOCABULARY, len(changed))
        sequence = np.concatenate((frame[: around // 2], own, frame[around // 2 :]))
        return " ".join([vocabulary[place] for place in sequence.tolist()])

    def html(self, number: int) -> str:
        """Return the page as HTML."""
        title = f"<title>Site {self.site_of[number]}</title>"
        return f"<html><head>{title}</head><body><p>{self.text(number)}</p></body></html>"

    def _drawn(self, count: int, *key: int) -> Numbers:
        rng = np.random.default_rng((SEED, *(part + 1 for part in key)))
        drawn: Numbers = _zipf(_VOCABULARY).searchsorted(rng.random(count))
        return drawn

    def fingerprint(self, number: int) -> Fingerprint:
        """Return the fingerprint of a page by the default recipe."""
        return fingerprint(Page.from_text(self.text(number)))

    def prints(self, numbers: range) -> Iterator[Fingerprint]:
        """Yield the fingerprints of pages."""
        with get_context("fork").Pool() as pool:
            made = pool.imap(self.fingerprint, numbers, chunksize=500)
            yield from track(made, "making pages", len(numbers))

    def rows(self, prints: Iterable[Fingerprint], run: int) -> Iterator[Row]:
        """Yield what an empty index has after *run* has seen the first pages, whose *prints* are given."""
        for number, page in enumerate(prints):
            url = self.url(number)
            seen = Sighting(page, url, url_key(url), "page", "", run, 0.0)
            verdict = Verdict(Reason.NEW, kept=True)
            if self.is_copy(number):
                original = int(self.origins[number]) + 1
                verdict = Verdict(Reason.NEAR_DUPLICATE, kept=False, similarity=0.9, canonical=original)
            yield Row(0, seen, verdict, Outcome.CONFIRMED, listed=verdict.kept)
