"""All pages of all sets mixed: does the rule find copies among pages that have nothing in common?

Labelled pairs cannot show this, because a crawl compares every page with every other one.  So all pairs
are checked.  numpy finds those that could be copies, and `compare` judges them.  The exact Jaccard
similarity of their pairs of neighbouring words shows which of the copies are unrelated pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.folding import jaccard
from benchmarks.accuracy.scoring import Bools
from dedup import DedupConfig, Fingerprint, compare
from dedup.algorithms.sketch import BINS, similarities
from dedup.rule.keys import STRUCTURE_MAX_DISTANCE
from dedup.rule.similarity import MIN_SIMILARITY
from dedup.values.hashes import Hashes

UNRELATED_BELOW = 0.1


@dataclass(frozen=True, slots=True)
class Mix:
    """How many of *pairs* pairs are called copies, and which of those are unrelated, as page numbers."""

    pairs: int
    copies: int
    unrelated: tuple[tuple[int, int], ...]


def mix(copies: Sequence[tuple[int, int]], word_pairs: Sequence[Hashes]) -> Mix:
    """Return which of *copies* are unrelated; *word_pairs* has those of every page."""
    return Mix(
        pairs=len(word_pairs) * (len(word_pairs) - 1) // 2,
        copies=len(copies),
        unrelated=tuple(
            (a, b) for a, b in copies if jaccard(word_pairs[a], word_pairs[b]) < UNRELATED_BELOW
        ),
    )


def copies_in(task: tuple[Sequence[Fingerprint], DedupConfig]) -> list[tuple[int, int]]:
    """Return `copies_among` as a list, for another process."""
    return list(copies_among(*task))


def copies_among(pages: Sequence[Fingerprint], config: DedupConfig) -> Iterator[tuple[int, int]]:
    """Return all pairs of *pages* (the earlier first) that *config* calls copies."""
    content, structure = (
        np.array([page.simhash(field) for page in pages], np.uint64)
        for field in ("content", "structure")
    )
    sketches = np.frombuffer(b"".join(page.sketch for page in pages), np.uint8).reshape(-1, BINS)
    bodies, texts = ([getattr(page, f"{of}_digest") for page in pages] for of in ("body", "token"))
    equal = (_numbers(bodies), _numbers(texts))
    for first, page in enumerate(pages):
        later = slice(first + 1, None)
        # Which sketches have an equal band is not asked here: verification leaves few of them.
        may = np.full(len(pages) - first - 1, config.by_bands)
        if not config.by_bands:
            may |= _near(content, first, later, config.max_distance)
            may |= _near(structure, first, later, STRUCTURE_MAX_DISTANCE)
        places = np.flatnonzero(may)
        if len(places):
            similar = similarities(page.sketch, sketches[later][places]) >= MIN_SIMILARITY
            places = places[similar]
        same = np.flatnonzero(
            (equal[0][later] == equal[0][first]) | (equal[1][later] == equal[1][first])
        )
        for place in np.union1d(places, same).tolist():
            second = first + 1 + place
            if compare(page, pages[second], config).is_duplicate:
                yield first, second


def _near(simhashes: Hashes, first: int, later: slice, distance: int) -> Bools:
    others = simhashes[later]
    near: Bools = np.bitwise_count(others ^ simhashes[first]) <= distance
    both: Bools = near & (others != 0) & (simhashes[first] != 0)
    return both


def _numbers(digests: Sequence[bytes]) -> NDArray[np.intp]:
    """Return the same number for the same digest; pages without one share none."""
    numbers: dict[bytes, int] = {}
    return np.array(
        [
            numbers.setdefault(digest, len(numbers)) if digest else -1 - n
            for n, digest in enumerate(digests)
        ]
    )
