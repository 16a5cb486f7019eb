"""Why one page repeats another one, or does not: the numbers, and what the rule says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dedup.index import Row, Run
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import content_weights
from dedup.recipes.structure import structure_features
from dedup.report.losses import by_site, lost_sentence
from dedup.rule.keys import Keys
from dedup.rule.loss import words_of
from dedup.rule.match import OUTRIGHT, match
from dedup.rule.verifier import verifier_of
from dedup.values.fingerprint import Fingerprint
from dedup.values.match import CONTRADICTED, Match
from dedup.values.verdict import Reason

# What the crawl decided stands on record; what follows this may differ.
_AGAIN = "Judged again now, by these two pages alone and by today's settings:"
# What became of duplicates, by the action of their run.
FATES = {"drop": "dropped", "mark": "marked", "dry run": "let through"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a page stands to a canonical by the rule of today.

    *words* is how many words the page has, *keys* is what could make it a candidate, *bounds* are those
    of the verifier, by the number of a `Check` that they limit; *reasons* are whole sentences.
    """

    match: Match
    words: int
    keys: Keys
    bounds: Mapping[str, float]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """A term or a run of tags, and its share (0 to 1) of the weight of each of two pages."""

    name: str
    canonical: float
    page: float

    @property
    def order(self) -> tuple[float, str]:
        """The heaviest first."""
        return -max(self.canonical, self.page), self.name


@dataclass(frozen=True, slots=True)
class Features:
    """The features that two pages share, and those that one has alone, the heaviest first.

    *agreement* is the weighted Jaccard similarity (0 to 1): the weight that they have in common.
    """

    agreement: float
    shared: tuple[Feature, ...]
    alone: tuple[Feature, ...]


def explain(
    canonical: Fingerprint, page: Fingerprint, config: DedupConfig, row: Row | None = None
) -> Explanation:
    """Return how *page* stands to *canonical*, as `dedup.rule.match.match` has it, and why.

    The two alone are compared.  *row* is that of *page* where it repeats *canonical*: what its site
    made of it is said as well.
    """
    matched, keys = match(canonical, page, config), Keys(canonical, page, config)
    decided = by_site(row, matched.check, config) if row else ""
    again = _AGAIN if row and row.verdict.reason is Reason.NEAR_DUPLICATE else ""
    reasons = _reasons(matched, keys, decided, again)
    return Explanation(matched, words_of(page), keys, verifier_of(config).bounds, reasons)


def is_refused(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> bool:
    """Return whether it is the check sketches alone that make *page* no duplicate of *canonical*."""
    is_contradicted = match(canonical, page, config).check.finding == CONTRADICTED
    return is_contradicted and Keys(canonical, page, config).are_met


def compare_terms(canonical: Page, page: Page, config: DedupConfig) -> Features:
    """Return what the content simhashes of two pages are folded from."""
    return features_of(content_weights(canonical, config), content_weights(page, config))


def compare_tags(canonical: Page, page: Page, config: DedupConfig) -> Features:
    """Return what the structure simhashes of two pages are folded from."""
    return features_of(structure_features(canonical, config), structure_features(page, config))


def features_of(canonical: Mapping[str, float], page: Mapping[str, float]) -> Features:
    """Return what two maps of feature to weight share.

    >>> features = features_of({"tide": 3, "sea": 1}, {"tide": 2, "moon": 2})
    >>> [feature.name for feature in features.shared], [feature.name for feature in features.alone]
    (['tide'], ['moon', 'sea'])
    >>> round(features.agreement, 2)
    0.33
    """
    one, other = _shares(canonical), _shares(page)
    features = [
        Feature(name, one.get(name, 0.0), other.get(name, 0.0)) for name in one.keys() | other.keys()
    ]
    features.sort(key=lambda feature: feature.order)
    common = sum(min(feature.canonical, feature.page) for feature in features)
    whole = sum(max(feature.canonical, feature.page) for feature in features)
    return Features(
        common / whole if whole else 0.0,
        tuple(feature for feature in features if feature.name in one and feature.name in other),
        tuple(feature for feature in features if not (feature.name in one and feature.name in other)),
    )


def verdict_sentence(row: Row, run: Run | None) -> str:
    """Return what was decided about *row* when *run*, if it is known, saw it, as a sentence."""
    verdict = row.verdict
    fate = f"It was {FATES.get(run.action if run else '', 'dropped')}"
    if verdict.represents:
        return "It was kept in place of a page that it repeats and that its crawl had not met."
    return {
        Reason.NEW: "It was kept: no page that had been kept before was near enough to it.",
        Reason.UPDATED: "It was kept: in the last run this URL had another text.",
        Reason.UNCHANGED: f"{'It was kept' if verdict.kept else fate}: its text is the one that this "
        "URL had in the last run.",
        Reason.NOT_JUDGED: "It was kept: there was nothing in it to judge.",
        Reason.EXACT_DUPLICATE: f"{fate}: all its bytes are those of a page that was kept.",
        Reason.NEAR_DUPLICATE: f"{fate}: its text is nearly that of a page that was kept. "
        f"{lost_sentence(row)}",
        Reason.CANONICAL_LINK: f"{fate}: it names as its rel=canonical a page that was kept. "
        f"{lost_sentence(row)}",
    }[verdict.reason].rstrip()


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(map(abs, weights.values()))
    return {name: abs(weight) / total for name, weight in weights.items() if weight}


def _reasons(matched: Match, keys: Keys, decided: str, again: str) -> tuple[str, ...]:
    if matched.check.finding in OUTRIGHT:
        return (matched.sentence,)
    begin = (again,) if again else ()
    end = "So it is a copy." if matched.is_duplicate else decided or "So it is no copy."
    return (*begin, *keys.sentences, matched.sentence, end)
