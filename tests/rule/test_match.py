"""The rule for two pages is the one that is told, on every edge; what breaks it is seen."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Fingerprint, compare
from dedup.model.verdict import Match, Reason
from dedup.native._pages import similarity
from dedup.rule import match
from dedup.rule.loss import MIN_SIMILARITY, are_alike, check
from dedup.rule.site import NO_SITE
from tests.budget import examples
from tests.rule.pairs import BASE, bases, configs, expected, near, others

# Enough to find each of the faults below.


def law(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> None:
    matched = compare(kept, page, config)
    reason, content, structure, alike = expected(kept, page, config)
    assert matched.reason is reason
    assert (matched.content_distance, matched.structure_distance) == (content, structure)
    assert matched.similarity == pytest.approx(alike)
    assert matched.is_duplicate is (reason not in {Reason.NEW, Reason.NOT_JUDGED})
    assert says(matched)


def says(found: Match) -> bool:
    """Whether the sentence of a similarity has a value on the right side of its bound."""
    told = re.match(
        r"The pages share (\S+) of their shingles, at least (\S+) is asked for", found.sentence
    )
    if not told:
        return True
    value, bound = map(float, told.groups())
    is_enough = found.similarity >= MIN_SIMILARITY
    return bound == pytest.approx(MIN_SIMILARITY, abs=1e-6) and ((value >= MIN_SIMILARITY) is is_enough)


test_two_pages_are_judged_as_it_is_told = settings(max_examples=examples(400))(
    given(bases(), others(), configs())(law)
)


@given(others(), st.lists(bases() | others(), max_size=5), configs())
def test_who_is_ruled_out_by_a_sketch_would_not_pass(
    page: Fingerprint, many: list[Fingerprint], config: DedupConfig
) -> None:
    for kept, may in zip(many, are_alike(page, [kept.sketch for kept in many]), strict=True):
        assert may or not check(kept, page, config, NO_SITE).is_duplicate
        assert may is (similarity(kept.sketch, page.sketch) >= MIN_SIMILARITY)


@pytest.mark.parametrize(
    ("kept", "page", "config", "finding", "sentence"),
    [
        (BASE, replace(BASE, body_digest=b""), {}, "empty", "There is nothing in the page to judge."),
        (BASE, BASE, {}, "equal_bytes", "All bytes are equal."),
        (
            BASE,
            replace(BASE, body_digest=b"c" * 16, tokens=1234),
            {},
            "equal_tokens",
            "The texts are the same, with 1,234 tokens.",
        ),
        (
            BASE,
            near(BASE, equal=60),
            {},
            "not_alike",
            "The pages share 0.23 of their shingles, at least 0.62 is asked for.",
        ),
        (
            BASE,
            near(BASE, content=11, structure=9),
            {},
            "no_candidate",
            "The pages share 1.00 of their shingles, at least 0.62 is asked for. About 1 of 300 "
            "words would be lost; 15 are allowed. But the page is no candidate: content differs in 11 "
            "bits, at most 10 are allowed, structure in 9, at most 8.",
        ),
        (
            BASE,
            replace(near(BASE, structure=64), content_simhash=0),
            {},
            "no_candidate",
            "The pages share 1.00 of their shingles, at least 0.62 is asked for. About 1 of 300 "
            "words would be lost; 15 are allowed. But the page is no candidate: content differs in - "
            "bits, at most 10 are allowed, structure in 64, at most 8.",
        ),
    ],
)
def test_what_decided_is_said(
    kept: Fingerprint, page: Fingerprint, config: dict[str, object], finding: str, sentence: str
) -> None:
    found = compare(kept, page, DedupConfig(**config))  # type: ignore[arg-type]
    assert (found.finding, found.sentence) == (finding, sentence)
    assert (found.finding in match.OUTRIGHT) is (finding in ("empty", "equal_bytes", "equal_tokens"))
