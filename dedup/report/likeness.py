"""How alike the pages of a cluster are to each other, not only to the page that was kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dedup.recipes.sketch import BINS, pair_similarities
from dedup.report.columns import Integers
from dedup.rule.keys import text_digest
from dedup.values.fingerprint import Fingerprint

# Of a larger cluster this many members are compared, the canonical and the first seen.
MAX_COMPARED = 64
# Pairs that are compared at once: 2 MB of sketches on either side.
_PAIRS = 8192


@dataclass(frozen=True, slots=True)
class LeastAlike:
    """The *similarity* (0 to 1) of the two members, by place, that are least alike."""

    similarity: float
    first: int
    second: int


def least_alike(clusters: Sequence[Sequence[Fingerprint]]) -> list[LeastAlike]:
    """Return for each cluster of two or more pages the two that are least alike, by their sketches.

    Of each only the first `MAX_COMPARED` are compared.  What is equal outright has similarity 1,
    whatever the sketches are, as in `dedup.rule.match`.
    """
    return [least for batch in _batches(clusters) for least in _compared(batch)]


def _batches(clusters: Sequence[Sequence[Fingerprint]]) -> Iterator[list[Sequence[Fingerprint]]]:
    batch: list[Sequence[Fingerprint]] = []
    pairs = 0
    for cluster in clusters:
        batch.append(cluster[:MAX_COMPARED])
        pairs += len(batch[-1]) * (len(batch[-1]) - 1) // 2
        if pairs >= _PAIRS:
            yield batch
            batch, pairs = [], 0
    if batch:
        yield batch


def _compared(batch: Sequence[Sequence[Fingerprint]]) -> Iterator[LeastAlike]:
    pages = [page for cluster in batch for page in cluster]
    sketches = np.frombuffer(b"".join(page.sketch for page in pages), np.uint8).reshape(-1, BINS)
    starts = np.cumsum([0, *(len(cluster) for cluster in batch)])
    pairs = [_pairs(len(cluster)) for cluster in batch]
    first = np.concatenate([start + one for start, (one, _) in zip(starts, pairs, strict=False)])
    second = np.concatenate([start + two for start, (_, two) in zip(starts, pairs, strict=False)])
    alike = pair_similarities(sketches[first], sketches[second])
    for equal in (_numbered(page.body_digest for page in pages), _numbered(map(text_digest, pages))):
        alike[equal[first] == equal[second]] = 1.0
    ends = np.cumsum([len(one) for one, _ in pairs])
    for (one, two), end in zip(pairs, ends.tolist(), strict=True):
        own = alike[end - len(one) : end]
        place = int(own.argmin())
        yield LeastAlike(float(own[place]), int(one[place]), int(two[place]))


def _numbered(digests: Iterable[bytes]) -> Integers:
    """Return a number for each digest, the same for equal ones; b"" equals none."""
    numbers: dict[bytes | int, int] = {}
    return np.array(
        [numbers.setdefault(digest or place, len(numbers)) for place, digest in enumerate(digests)]
    )


@cache
def _pairs(size: int) -> tuple[Integers, Integers]:
    one, two = np.triu_indices(size, 1)
    return one, two
