"""The verdicts of a recipe on labelled pairs, and their scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.folding import missing_shingles
from benchmarks.accuracy.scoring import (
    Bools,
    Confusion,
    Floats,
    Interval,
    Ints,
    auc,
    auc_interval,
    band,
    confusion,
    intervals,
    shares,
)
from benchmarks.accuracy.sets import Pair, Part
from dedup import DedupConfig, Fingerprint, compare
from dedup.rule.loss import allowed_words, words_a_token
from dedup.values.hashes import SIMHASH_BITS, Hashes

GREY = -1
# A page without a word is as far from any other as can be, and farther.
_NO_WORD = SIMHASH_BITS + 1

MEASURES = ("content", "structure", "similarity")
# Pages whose structure simhashes differ in at most so many bits have one template.
SAME_TEMPLATE = 13


@dataclass(frozen=True, slots=True)
class Judged:
    """Parallel arrays over the pairs of a part: labels (GREY included), verdicts, measures.

    *lost* is how many words of the second page stand in shingles that the first one does not have,
    exactly, and *allowed* how many it may lose.
    """

    part: Part
    labels: Ints
    dropped: Bools
    content: Floats
    structure: Floats
    similarity: Floats
    lost: Floats
    allowed: Floats
    seconds: float

    @property
    def scored(self) -> Bools:
        """Which pairs have a label."""
        return np.asarray(self.labels != GREY)

    def alikeness(self, measure: str) -> Floats:
        """Return *measure*, one of MEASURES, of the pairs with a label, such that higher is more alike."""
        values: Floats = getattr(self, measure)[self.scored]
        return values if measure == "similarity" else -values


@dataclass(frozen=True, slots=True)
class Score:
    """All figures of one recipe, seed and part.

    *pages_seconds* is what folding the pages took on one core, *pairs_seconds* comparing the pairs.
    *template* is the rule "structure within `SAME_TEMPLATE` bits" on the same labels.  *within*
    and *beyond* count, of the pairs of label 1 that lose as many words as are allowed or more, those
    that were dropped, and all.
    """

    part: str
    rule: Confusion
    rule_intervals: Mapping[str, Interval]
    template: Confusion
    template_intervals: Mapping[str, Interval]
    areas: Mapping[str, float]
    area_intervals: Mapping[str, Interval]
    grey_dropped: int
    grey: int
    groups: Mapping[str, tuple[int, int]]
    bands: Mapping[str, tuple[int, int]]
    within: tuple[int, int]
    beyond: tuple[int, int]
    wrong: tuple[tuple[str, str], ...]
    pages_seconds: float
    pairs_seconds: float

    @property
    def grey_rate(self) -> float:
        return self.grey_dropped / self.grey if self.grey else float("nan")

    @property
    def seconds(self) -> float:
        return self.pages_seconds + self.pairs_seconds


def judged(
    part: Part,
    pages: Mapping[str, Fingerprint],
    shingles: Mapping[str, Hashes],
    config: DedupConfig,
) -> Judged:
    """Return what *config* says about the pairs of *part*.

    Fingerprints are in *pages*, what `benchmarks.accuracy.folding.shingles` returns in *shingles*.
    """
    begin = time.perf_counter()
    matches = [compare(pages[pair.a], pages[pair.b], config) for pair in part.pairs]
    seconds = time.perf_counter() - begin
    return Judged(
        part=part,
        labels=labels(part.pairs),
        dropped=np.array([match.is_duplicate for match in matches], bool),
        content=np.array([_known(match.content_distance) for match in matches], float),
        structure=np.array([_known(match.structure_distance) for match in matches], float),
        similarity=np.array([match.similarity for match in matches], float),
        lost=np.array(
            [
                missing_shingles(shingles[pair.a], shingles[pair.b]) * words_a_token(pages[pair.b])
                for pair in part.pairs
            ],
            float,
        ),
        allowed=np.array([allowed_words(pages[pair.b], config) for pair in part.pairs], float),
        seconds=seconds,
    )


def labels(pairs: Sequence[Pair]) -> Ints:
    """Return the labels of *pairs*, GREY where there is none."""
    return np.array([GREY if pair.label is None else pair.label for pair in pairs], np.int8)


def scored(found: Judged, config: DedupConfig, pages_seconds: float) -> Score:
    """Return the figures of a part."""
    known, dropped = found.labels[found.scored], found.dropped[found.scored]
    same_template = found.structure[found.scored] <= SAME_TEMPLATE
    grey = found.dropped[~found.scored]
    copies, fits = found.labels == 1, found.lost <= found.allowed
    alike = {measure: found.alikeness(measure) for measure in MEASURES}
    return Score(
        part=found.part.name,
        rule=confusion(known, dropped),
        rule_intervals=intervals(known, dropped),
        template=confusion(known, same_template),
        template_intervals=intervals(known, same_template),
        areas={measure: auc(known, values) for measure, values in alike.items()},
        area_intervals={measure: auc_interval(known, values) for measure, values in alike.items()},
        grey_dropped=int(grey.sum()),
        grey=len(grey),
        groups=_groups(found),
        bands=_bands(found),
        within=_dropped_of(found.dropped, copies & fits),
        beyond=_dropped_of(found.dropped, copies & ~fits),
        wrong=tuple(
            (pair.a, pair.b)
            for pair, is_dropped in zip(found.part.pairs, found.dropped, strict=True)
            if is_dropped and pair.label == 0
        ),
        pages_seconds=pages_seconds,
        pairs_seconds=found.seconds,
    )


def _dropped_of(dropped: Bools, chosen: Bools) -> tuple[int, int]:
    return int((dropped & chosen).sum()), int(chosen.sum())


def _groups(found: Judged) -> dict[str, tuple[int, int]]:
    """Return of each group how many pairs were dropped, and how many it has, by label."""
    names = [f"{pair.group or 'all'}, label {_shown(pair.label)}" for pair in found.part.pairs]
    return _sorted(shares(found.dropped, names))


def _bands(found: Judged) -> dict[str, tuple[int, int]]:
    """Return of each band of similarity how many pairs were dropped, and how many it has."""
    known = [pair.jaccard is not None for pair in found.part.pairs]
    names = [band(pair.jaccard) for pair in found.part.pairs if pair.jaccard is not None]
    return _sorted(shares(found.dropped[known], names))


def _sorted(counts: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return dict(sorted(counts.items()))


def _shown(label: int | None) -> str:
    return "grey" if label is None else str(label)


def _known(distance: int | None) -> int:
    return _NO_WORD if distance is None else distance
