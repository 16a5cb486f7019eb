"""Why one page repeats another one, or does not: what was measured, against which limits, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dedup.index import Row, Run
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import content_weights
from dedup.recipes.sketch import agrees, similarity
from dedup.recipes.structure import structure_features
from dedup.rule.keys import banding_of, has_equal_tokens, shared_bands, uses_content, uses_structure
from dedup.rule.match import match
from dedup.values.fingerprint import Fingerprint
from dedup.values.match import Match
from dedup.values.simhashes import SIMHASH_BITS, simhash_distance
from dedup.values.verdict import Reason

# What became of copies, by the action of their run.
_FATES = {"drop": "dropped", "mark": "marked", "dry run": "let through"}


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two words are from each other, and how far they may be (*limit*, inclusive).

    *bits* is None where one of the pages has no such word.  *is_used* says that words of this
    *field* (`content` or `structure`) find candidates.
    """

    field: str
    canonical: int
    page: int
    bits: int | None
    limit: int
    is_used: bool

    @property
    def is_within(self) -> bool:
        """Whether it makes the page a candidate."""
        return self.is_used and self.bits is not None and self.bits <= self.limit


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a page stands to a canonical by the thresholds of today; *reasons* are whole sentences.

    *min_similarity* is None where candidates are not verified.
    """

    match: Match
    content: Distance
    structure: Distance
    min_similarity: float | None
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


def explain(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> Explanation:
    """Return how *page* stands to *canonical*, as `dedup.rule.match.match` has it, and why."""
    found = match(canonical, page, config)
    content, structure = (
        Distance(
            field,
            one := canonical.simhash(field),
            other := page.simhash(field),
            simhash_distance(one, other),
            limit,
            is_used,
        )
        for field, limit, is_used in (
            ("content", config.max_distance, uses_content(config)),
            ("structure", config.structure_max_distance, uses_structure(config)),
        )
    )
    return Explanation(
        found,
        content,
        structure,
        config.min_similarity if config.verify else None,
        tuple(_reasons(found, (content, structure), canonical, page, config)),
    )


def is_refused(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> bool:
    """Return whether it is the check sketches alone that make *page* no copy of *canonical*."""
    public = replace(canonical, check_sketch=b"")
    return match(public, page, config).is_duplicate > match(canonical, page, config).is_duplicate


def compare_terms(canonical: Page, page: Page, config: DedupConfig) -> Features:
    """Return what the content simhashes of two pages are folded from."""
    return features_of(content_weights(canonical, config), content_weights(page, config))


def compare_tags(canonical: Page, page: Page, config: DedupConfig) -> Features:
    """Return what the structure simhashes of two pages are folded from."""
    return features_of(structure_features(canonical, config), structure_features(page, config))


def features_of(canonical: Mapping[str, float], page: Mapping[str, float]) -> Features:
    """Return what two maps of feature to weight share.

    >>> found = features_of({"tide": 3, "sea": 1}, {"tide": 2, "moon": 2})
    >>> [feature.name for feature in found.shared], [feature.name for feature in found.alone]
    (['tide'], ['moon', 'sea'])
    >>> round(found.agreement, 2)
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
    found = row.verdict
    copy = f"It was {_FATES.get(run.action if run else '', 'dropped')}"
    if found.represents:
        return "It was kept in place of a page that it repeats and that its crawl had not met."
    return {
        Reason.NEW: "It was kept: no page that had been kept before was near enough to it.",
        Reason.UPDATED: "It was kept: the words of this URL were others in its last run.",
        Reason.UNCHANGED: f"{'It was kept' if found.kept else copy}: its words are those that this URL "
        "had in its last run.",
        Reason.NOT_JUDGED: "It was kept: there was nothing in it to judge.",
        Reason.EXACT_DUPLICATE: f"{copy}: all its bytes are those of a page that was kept.",
        Reason.NEAR_DUPLICATE: f"{copy}: it says nearly the same as a page that was kept.",
        Reason.CANONICAL_LINK: f"{copy}: it names as its rel=canonical a page that was kept.",
    }[found.reason]


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(map(abs, weights.values()))
    return {name: abs(weight) / total for name, weight in weights.items() if weight}


def _reasons(
    found: Match,
    distances: tuple[Distance, Distance],
    canonical: Fingerprint,
    page: Fingerprint,
    config: DedupConfig,
) -> Iterator[str]:
    if found.reason is Reason.NOT_JUDGED:
        yield "There is nothing in the page to judge."
    elif found.reason is Reason.EXACT_DUPLICATE:
        yield "All bytes are equal."
    elif has_equal_tokens(canonical, page):
        yield f"The {page.tokens:,} words are the same, in the same order."
    else:
        yield from map(_of_distance, distances)
        yield from _of_bands(canonical, page, config)
        yield _of_similarity(found, config)
        yield from _of_check(found, canonical, page, config)
        yield "So it repeats the page." if found.is_duplicate else "So these are two pages."


def _of_distance(distance: Distance) -> str:
    subject = f"The {distance.field} simhashes"
    if distance.bits is None:
        return f"Not both pages have a {distance.field} simhash."
    differ = f"{subject} differ in {distance.bits} of {SIMHASH_BITS} bits"
    setting = "max_distance" if distance.field == "content" else "structure_max_distance"
    if not distance.is_used:
        return f"{differ}; they find no candidates with these settings."
    if distance.is_within:
        return f"{differ}, {setting} is {distance.limit}: that makes a candidate."
    return f"{differ}, {setting} is {distance.limit}: that makes no candidate."


def _of_bands(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> Iterator[str]:
    if cut := banding_of(config):
        shared = shared_bands(canonical.sketch, page.sketch, config)
        makes = "that makes a candidate" if shared else "that makes no candidate"
        yield f"The sketches have {shared} of {cut.bands} bands in common: {makes}."


def _of_similarity(found: Match, config: DedupConfig) -> str:
    share = f"The sketches share an estimated {found.similarity:.1%} of their word runs"
    if not config.verify:
        return f"{share}; with verify off that decides nothing."
    relation = "no less" if found.similarity >= config.min_similarity else "less"
    confirms = "confirms a candidate" if relation == "no less" else "confirms none"
    return f"{share}, {relation} than min_similarity ({config.min_similarity:g}): that {confirms}."


def _of_check(
    found: Match, canonical: Fingerprint, page: Fingerprint, config: DedupConfig
) -> Iterator[str]:
    is_asked = config.verify and found.similarity >= config.min_similarity
    if not (is_asked and canonical.check_sketch and page.check_sketch):
        return
    keyed = similarity(canonical.check_sketch, page.check_sketch)
    share = f"The check sketches, keyed with the secret of the index, share {keyed:.1%}"
    if agrees(found.similarity, canonical.check_sketch, page.check_sketch):
        yield f"{share}: that agrees."
    else:
        yield f"{share}: too few, so that confirms none. Pages made to suppress others look like this."
