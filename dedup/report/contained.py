"""What is near, but kept: pages that hold most of another kept page, by what the index stores of them.

A text in another frame, or with its sentences in another order, is kept: its user wants it, but may
want to know.  Bands of the sketches find such pairs, samples tell the share.  Only reports ask for it:
no crawl pays for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dedup.index import Row
from dedup.recipes.bands import Banding, sketch_keys
from dedup.recipes.config import DedupConfig
from dedup.recipes.sample import Sampled, different, places, sampled
from dedup.recipes.sketch import similarity
from dedup.rule.loss import allowed_words, lost_words, new_numbers
from dedup.rule.site import COMMON_PAGES, NO_SITE, is_common

# Pages that share .6 of their shingles have an equal band in 997 of 1,000 cases, .5 in 96 of 100.
BANDING = Banding(24, 3)
# A page is named if another one holds this share of what is not common on its site.
LEAST_SHARE = 0.65
# With fewer such shingles in its sample, some 60 words, a page says too little to be held by another.
LEAST_SAMPLED = 16
# More pages with one band are pages of one frame.
MOST_OF_BAND = 50


class Contained(NamedTuple):
    """The row *page* was kept, and so was *by*, which holds *share* (0 to 1) of its own words."""

    page: int
    by: int
    share: float


def contained(rows: Iterable[Row]) -> list[Contained]:
    """Return which of *rows* are held by which, the largest share first; each by what holds most of it.

    What is common on the site of a page counts for nothing.  Of two that hold each other, the later one
    is told.  Two records of one table, whose numbers are others and little else, are no such pair.
    """
    own, bands = _own({row.id: row for row in rows if row.listed}), defaultdict[int, list[int]](list)
    for number, (row, _) in own.items():
        for key in sketch_keys(row.sighting.fingerprint.sketch, BANDING).tolist():
            bands[key].append(number)
    pairs = {
        pair for held in bands.values() if len(held) <= MOST_OF_BAND for pair in combinations(held, 2)
    }
    best: dict[int, Contained] = {}
    for one, other in sorted(pairs):
        found = _between(one, own[one][1], other, own[other][1])
        if found is None or found.share <= best.get(found.page, found._replace(share=0.0)).share:
            continue
        if not _are_records(own[found.by][0], own[found.page][0]):
            best[found.page] = found
    return sorted(best.values(), key=lambda found: (-found.share, found.page))


def _between(one: int, of_one: Sampled, other: int, of_other: Sampled) -> Contained | None:
    both = int((places(of_other, of_one) >= 0).sum())
    shares = Contained(one, other, both / len(of_one)), Contained(other, one, both / len(of_other))
    found = max(shares, key=lambda found: (found.share, found.page))
    return found if found.share >= LEAST_SHARE else None


def _are_records(by: Row, page: Row) -> bool:
    kept, seen = by.sighting.fingerprint, page.sighting.fingerprint
    lost = lost_words(kept, seen, similarity(kept.sketch, seen.sketch))
    return new_numbers(kept, seen, NO_SITE) > 0 and lost <= allowed_words(seen, DedupConfig())


def _own(rows: Mapping[int, Row]) -> dict[int, tuple[Row, Sampled]]:
    """Return of each row the part of its sample that is not common on its site; none of short ones."""
    sites = defaultdict[str, list[Sampled]](list)
    for row in rows.values():
        sites[row.sighting.host].append(sampled(row.sighting.fingerprint.sample))
    frames = {host: _common(samples) for host, samples in sites.items()}
    found = {}
    for number, row in rows.items():
        sample = sampled(row.sighting.fingerprint.sample)
        sample = sample[places(sample, frames[row.sighting.host]) < 0]
        if len(sample) >= LEAST_SAMPLED:
            found[number] = row, sample
    return found


def _common(samples: list[Sampled]) -> Sampled:
    if len(samples) < COMMON_PAGES:
        return np.zeros(0, "<u4")
    every = np.sort(np.concatenate(samples))
    hashes = different(every)
    counts = np.diff(np.append(every.searchsorted(hashes), len(every)))
    found: Sampled = hashes[is_common(counts, len(samples))]
    return found
