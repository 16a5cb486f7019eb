"""The verdict on one page, for each thing that an index may know about it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dedup import DedupConfig, Fingerprint, Reason, Verdict, compare
from dedup.model.verdict import Candidates, Canonical, Match, Standing, Version
from dedup.rule.decide import decide
from dedup.rule.match import NO_SITE, nearness
from tests.rule.pairs import BASE, near

KEEP, DROP = DedupConfig(), DedupConfig(unchanged="drop")
# The page, one that repeats it, one that repeats it less, and one that does not.
PAGE = near(BASE, content=1)
ALIKE = replace(near(BASE, content=2, equal=250), body_digest=b"d" * 16, token_digest=b"v" * 16)
LESS = replace(near(BASE, content=9, equal=235), body_digest=b"e" * 16, token_digest=b"w" * 16)
OTHER = replace(near(BASE, content=30, equal=0), body_digest=b"f" * 16, token_digest=b"x" * 16)


def canonical(row: int, page: Fingerprint = ALIKE, **about: Any) -> Canonical:
    return Canonical(row, f"http://a/{row}", run=row + 100, is_pending=False, fingerprint=page, **about)


def version(row: int, page: Fingerprint = PAGE, *, of: Canonical | None, is_own: bool = True) -> Version:
    return Version(row, page, of, is_own)


def standing(row: int, **about: Any) -> Standing:
    return Standing(row + 50, row + 100, **about)


def past_of(**known: Any) -> Any:
    """Return a past of which only that is *known*."""
    plain = {"versions": (), "again": None, "is_restored": False, "site": lambda: NO_SITE}
    asked = "rivals dropped originals is_own_address is_stranger has_left is_back flip".split()
    return SimpleNamespace(**dict.fromkeys(asked, lambda *_: ()) | plain | known)


def judged(
    *,
    config: DedupConfig = KEEP,
    page: Fingerprint = PAGE,
    batches: Sequence[Sequence[Canonical]] = (),
    stands: Sequence[int] = (),
    standings: dict[int, Standing] | None = None,
    **about: Any,
) -> Verdict:
    """Return the verdict where the canonicals of the rows *stands* may be counted on."""
    known = {row: standing(row) for row in stands} | (standings or {})
    past = past_of(
        candidates=lambda: [Candidates(batch, len(batch) + 1) for batch in batches],
        standing=lambda kept: known.get(kept.id),
        **about,
    )
    return decide(page, past, config)


@pytest.mark.parametrize("config", [KEEP, DROP])
def test_what_repeats_a_page_is_dropped_with_all_that_is_known_of_it(config: DedupConfig) -> None:
    matched, verdict = compare(ALIKE, PAGE), judged(config=config, batches=[[canonical(7)]], stands=[7])
    names = ("content_distance", "structure_distance", "similarity", "lost", "finding")
    told: dict[str, Any] = {name: getattr(matched, name) for name in names}
    told |= {
        "canonical": 7,
        "canonical_url": "http://a/7",
        "canonical_run": 107,
        "standing": standing(7),
    }
    assert verdict == Verdict(Reason.NEAR_DUPLICATE, kept=False, **told)
    assert (verdict.sentence, verdict.candidates) == (matched.sentence, 2)


def test_the_first_that_matches_and_stands_is_named() -> None:
    batches = [[canonical(1, OTHER), canonical(2), canonical(3, LESS), canonical(4)]]
    assert judged(batches=batches, stands=[1, 3, 4]).canonical == 3
    assert judged(batches=batches, stands=[1, 2, 3, 4]).canonical == 2


def test_who_holds_its_words_is_named_before_who_leaves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {1: ("elsewhere", 30), 2: ("elsewhere", 20), 3: ("few_words", 9), 4: ("elsewhere", 20)}
    # Each with a fingerprint of its own.
    near_ones = {number: canonical(number, replace(ALIKE)) for number in said}
    found = compare(ALIKE, PAGE)

    def match(kept: Fingerprint, *_: Any) -> Match:
        finding, lost = next(said[row] for row, one in near_ones.items() if one.fingerprint is kept)
        return found._replace(reason=Reason.NEAR_DUPLICATE, finding=finding, lost=lost)

    monkeypatch.setattr("dedup.rule.match.match", match)
    batches = [[near_ones[1], near_ones[4]], [near_ones[2], near_ones[3]]]
    for stands, named in (([1, 2, 3, 4], 3), ([1, 2, 4], 2), ([1, 4], 4), ([1], 1)):
        assert judged(batches=batches, stands=stands).canonical == named


def test_no_batch_is_asked_for_that_is_not_needed() -> None:
    asked: list[int] = []

    def batches() -> Iterator[Candidates]:
        for number, pages in enumerate(([canonical(1, OTHER)], [canonical(2)], [canonical(3)])):
            asked.append(number)
            yield Candidates(pages, 10)

    past = past_of(candidates=batches, standing=lambda kept: standing(kept.id))
    assert (decide(PAGE, past, KEEP).canonical, asked) == (2, [0, 1])
    assert decide(PAGE, past, KEEP).candidates == 20


@pytest.mark.parametrize(
    ("config", "how", "told"),
    [
        (KEEP, {"is_elsewhere": True}, True),
        (DROP, {"is_elsewhere": True}, False),
        (KEEP, {"is_kept": False}, None),
        (DROP, {"is_kept": False}, True),
        (KEEP, {"is_pending": True}, True),
        (DROP, {"is_pending": True}, True),
    ],
)
def test_how_a_canonical_stands(config: DedupConfig, how: dict[str, bool], told: bool | None) -> None:
    """*told* is whether the verdict says how it stands; None where the page is kept for that."""
    verdict = judged(config=config, batches=[[canonical(1)]], standings={1: standing(1, **how)})
    assert verdict.kept is (told is None)
    assert verdict.standing == (standing(1, **how) if told else None)
    assert verdict.represents == (1 if told is None else None)


OWN = canonical(3, PAGE)


def test_who_drops_what_is_unchanged_has_it_back_only_on_request() -> None:
    versions = [version(2, of=OWN)]
    assert not judged(config=DROP, versions=versions).kept
    verdict = judged(config=DROP, versions=versions, is_restored=True)
    assert (verdict.reason, verdict.kept) == (Reason.UNCHANGED, True)
    assert verdict.sentence == "An earlier run saw the same text at this URL."


def test_of_equal_versions_the_own_one_counts_then_the_oldest() -> None:
    copy = version(1, of=canonical(9), is_own=False)
    own, newer = (version(row, of=canonical(row, PAGE)) for row in (5, 6))
    gone, changed = version(0, of=None), version(0, OTHER, of=canonical(8, OTHER))
    for versions in ([copy, newer, own], [own, newer, copy, gone, changed]):
        assert judged(versions=versions, stands=[9]).previous == 5


def test_what_was_kept_in_its_place_is_repeated_the_nearest_first() -> None:
    rivals = [canonical(8, LESS), canonical(9), canonical(7, OTHER)]
    verdict = judged(versions=[version(2, of=OWN)], rivals=lambda _: rivals, stands=[7, 8, 9])
    assert (verdict.reason, verdict.kept, verdict.canonical) == (Reason.NEAR_DUPLICATE, False, 9)
    assert (verdict.previous, verdict.standing) == (2, standing(9))


@pytest.mark.parametrize(
    ("rival", "how", "about"),
    [
        (OTHER, {}, {}),
        (ALIKE, {"is_elsewhere": True}, {}),
        (ALIKE, {"is_kept": False}, {}),
        (ALIKE, None, {}),
        (ALIKE, {}, {"config": DROP}),
        (ALIKE, {}, {"is_restored": True}),
    ],
)
def test_no_rivals(rival: Fingerprint, how: dict[str, bool] | None, about: dict[str, Any]) -> None:
    standings = {} if how is None else {9: standing(9, **how)}
    about |= {
        "rivals": lambda kept: [canonical(9, rival)] if kept.id == 3 else [],
        "standings": standings,
    }
    verdict = judged(versions=[version(2, of=OWN)], **about)
    assert (verdict.reason, verdict.canonical) == (Reason.UNCHANGED, 3)


def in_order(page: Fingerprint, *canonicals: Canonical) -> list[int]:
    return [one.id for one in sorted(canonicals, key=lambda kept: nearness(page, kept))]


def test_candidates_come_equal_first_then_nearest_then_oldest() -> None:
    far, none = near(BASE, content=30), replace(near(BASE), content_simhash=0)
    canonicals = [
        canonical(99, replace(far, body_digest=BASE.body_digest)),
        canonical(98, replace(far, token_digest=BASE.token_digest)),
        canonical(50, near(BASE)),
        canonical(60, near(BASE)),
        canonical(40, near(BASE, structure=1)),
        canonical(30, near(BASE, content=1)),
        canonical(20, near(BASE, content=1, structure=9)),
        canonical(10, near(BASE, content=2)),
        canonical(5, far),
        canonical(2, replace(far, structure_simhash=0)),
        canonical(4, none),
        canonical(1, replace(none, structure_simhash=0)),
    ]
    rows = [one.id for one in canonicals]
    assert in_order(BASE, *canonicals) == in_order(BASE, *canonicals[::-1]) == rows


@pytest.mark.parametrize(("tokens", "rows"), [(3, [2, 1]), (4, [1, 2])])
def test_few_equal_tokens_bring_nothing_forward(tokens: int, rows: list[int]) -> None:
    equal = canonical(1, replace(near(BASE, content=5), token_digest=BASE.token_digest))
    assert in_order(replace(BASE, tokens=tokens), equal, canonical(2, near(BASE, content=4))) == rows
