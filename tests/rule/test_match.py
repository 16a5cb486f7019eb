"""The rule for two pages is the one that is told, on every edge; `compare` says what would happen."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, Fingerprint, MemoryIndex, Page, Reason, compare, fingerprint
from dedup.native._pages import similarity
from dedup.reading.tokens import tokens
from dedup.rule import match
from dedup.rule.match import MIN_SIMILARITY, NO_SITE, OWN, are_alike, check, has_equal_text
from tests.rule.pairs import BASE, bases, configs, expected, near, others
from tests.support.budget import examples
from tests.support.crawling import bounds
from tests.support.pages import edited, page, text


@given(bases(), others(), configs())
@settings(max_examples=examples(400))
def test_two_are_judged_as_it_is_told(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> None:
    found = compare(kept, page, config)
    reason, content, structure, alike = expected(kept, page, config)
    assert found.reason is reason
    assert (found.content_distance, found.structure_distance) == (content, structure)
    assert found.similarity == pytest.approx(alike)
    assert found.is_duplicate is (reason not in {Reason.NEW, Reason.NOT_JUDGED})
    # A similarity is said on the right side of its bound.
    said = re.match(
        r"The pages share (\S+) of their runs of four words, at least (\S+) is asked", found.sentence
    )
    if said:
        assert float(said[2]) == pytest.approx(MIN_SIMILARITY, abs=1e-6)
        assert (float(said[1]) >= MIN_SIMILARITY) is (found.similarity >= MIN_SIMILARITY)


@given(others(), st.lists(bases() | others(), max_size=5), configs())
def test_who_is_ruled_out_by_a_sketch_would_not_pass(
    page: Fingerprint, many: list[Fingerprint], config: DedupConfig
) -> None:
    for kept, may in zip(many, are_alike(page, [kept.sketch for kept in many]), strict=True):
        assert may or not check(kept, page, config, NO_SITE).is_duplicate
        assert may is (similarity(kept.sketch, page.sketch) >= MIN_SIMILARITY)


UNLIKE = "The pages share 0.23 of their runs of four words, at least 0.62 is asked for."
SAME_TEXT = replace(BASE, body_digest=b"c" * 16, tokens=1234)
NO_CANDIDATE = (
    "The page is no candidate: content differs in {} bits, at most 10 are allowed, structure in {}, at most "
    "8."
)


@pytest.mark.parametrize(
    ("page", "finding", "sentence"),
    [
        (replace(BASE, body_digest=b""), "empty", "There is nothing in the page to judge."),
        (BASE, "equal_bytes", "All bytes are equal."),
        (SAME_TEXT, "equal_tokens", "The texts are the same, with 1,234 tokens."),
        (near(BASE, equal=60), "not_alike", UNLIKE),
        (near(BASE, content=11, structure=9), "no_candidate", NO_CANDIDATE.format(11, 9)),
        (
            replace(near(BASE, structure=64), content_simhash=0),
            "no_candidate",
            NO_CANDIDATE.format("-", 64),
        ),
    ],
)
def test_what_decided_is_said(page: Fingerprint, finding: str, sentence: str) -> None:
    found = compare(BASE, page)
    assert (found.finding, found.sentence) == (finding, sentence)
    assert (finding in match.OUTRIGHT) is (finding in {"empty", "equal_bytes", "equal_tokens"})


OPTIONS: list[dict[str, Any]] = [{}, {"max_distance": 0}, {"max_distance": 12, "max_lost_words": 300}]
contents = st.sampled_from([text(1), edited(1), edited(1, 40), text(2), "a b c", "", " ", "a b c d e"])


@given(contents, contents, st.sampled_from(OPTIONS))
def test_compare_says_what_would_happen(a: str, b: str, options: dict[str, Any]) -> None:
    config = DedupConfig(**options)
    with Detector(MemoryIndex(), config) as detector:
        detector.check(page(a, "http://a/"))
        verdict = detector.check(page(b, "http://b/"))
    found = compare(page(a), page(b), config)
    assert found == compare(fingerprint(page(a)), fingerprint(page(b)), config)
    if found.finding == OWN:  # on a site of which so little is known it is not enough
        assert verdict.kept
    else:
        assert (verdict.kept, verdict.reason) == (not found.is_duplicate, found.reason)


def test_thresholds_are_inclusive() -> None:
    a, b = Page.from_text(text(1)), Page.from_text(edited(1, 3))  # no tags lead to them
    found = compare(a, b)
    assert found.structure_distance is None
    assert compare(page("<img>"), page(text(1))).content_distance is None
    assert found.content_distance is not None
    for distance, is_duplicate in [(found.content_distance, True), (found.content_distance - 1, False)]:
        assert compare(a, b, DedupConfig(max_distance=distance)).is_duplicate is is_duplicate
    for similar, is_duplicate in [(found.similarity, True), (found.similarity + 1e-9, False)]:
        with bounds(MIN_SIMILARITY=similar):
            assert compare(a, b).is_duplicate is is_duplicate


@pytest.mark.parametrize("seed", range(5))
def test_lines_in_another_order_are_the_same_but_values_below_other_labels_are_not(seed: int) -> None:
    def is_reordered(*pages: Iterable[Iterable[str]]) -> bool:
        kept, page = (Page.from_html("<p>".join(chain(*rows))) for rows in pages)
        return compare(kept, page).finding == match.REORDERED

    rng, labels, values = Random(seed), text(seed + 10, 15).split(), text(seed + 20, 15).split()
    rows = [[text(rng.randrange(1 << 30), size) for size in (5, 3, 4)] for _ in range(20)]
    assert is_reordered(rows, rng.sample(rows, 20))
    assert not is_reordered(rows, [*rng.sample(rows[1:], 19), [*rows[0][:2], text(1, 4)]])
    records = [[*zip(labels, rng.sample(values, 15), strict=True)] for _ in range(2)]
    assert not is_reordered(*records)
    with bounds(MOST_SHARE=1.0):
        assert is_reordered(*records)


def regional(language: str, price: str, *, itself: bool = True, alternates: str = "en-US en-GB") -> Page:
    places = ((each, each if itself else f"at-{each}") for each in alternates.split())
    links = "".join(f"<link rel=alternate hreflang={each} href=http://a/{at}>" for each, at in places)
    html = f"<html lang={language[:2] if itself else language}>{links}<p>{text(1)} costs {price} today"
    return Page.from_html(html, url=f"http://a/{language}")


@pytest.mark.parametrize("itself", [True, False])
def test_pages_for_different_regions_are_no_copies_unless_they_say_the_same(*, itself: bool) -> None:
    american, british = regional("en-US", "$25", itself=itself), regional("en-GB", "£19", itself=itself)
    assert (american.variant, british.variant) == ("en-us", "en-gb")
    assert compare(american, british).finding == "other_variant"
    assert compare(american, regional("en-GB", "$25", itself=itself)).is_duplicate
    assert compare(american, regional("en-US", "$26", itself=itself)).is_duplicate
    assert compare(american, regional("en-GB", "£19", alternates="")).is_duplicate
    assert regional("en-GB", "£19", alternates="").variant == ""


def told(record: str, language: str = "", end: str = "") -> Page:
    link = f"<link rel=alternate hreflang={language} href=http://a/1>" if language else ""
    html = f'<html lang="{language}">{link}<meta itemprop="sku" content="{record}"><p>{text(1)} {end}'
    return Page.from_html(html if record else html.replace("itemprop", "name"), url="http://a/1")


@pytest.mark.parametrize(
    ("kept", "page", "finding"),
    [
        (("1",), ("2",), "other_record"),  # whatever the texts say
        (("1", "en"), ("2", "en", "now"), "other_record"),
        (("1", "en"), ("1", "", "now"), ""),
        (("1",), ("1", "en", "now"), ""),
        (("", "en"), ("1", "en"), ""),
        (("", "en"), ("1", "en", "now"), "other_record"),
        (("1", "en"), ("", "en", "now"), ""),
        (("1", "en"), ("1", "de", "now"), "other_variant"),
    ],
)
def test_ids_and_languages_count(kept: tuple[str, ...], page: tuple[str, ...], finding: str) -> None:
    found = compare(told(*kept), told(*page))
    assert (found.is_duplicate, found.finding if finding else "") == (not finding, finding)


# Signs: texts that differ in something that a reader sees are not told equal, nor that nothing is lost
WORDS = [f"word{number}" for number in Random(5).choices(range(5000), k=300)]
ENGLAND, SCOTLAND = (
    f"🏴{''.join(chr(0xE0000 + ord(letter)) for letter in name)}\U000e007f"
    for name in ("gbeng", "gbsct")
)
SIGNS = [
    *[("★", "☆"), ("★★★☆☆", "★★★★☆"), ("✓", "✗"), ("☑", "☐"), ("○", "×"), ("→", "←"), ("▲ 5", "▼ 5")],
    *[("-5 °C", "5 °C"), ("−5", "5"), ("–5", "5"), ("(-5)", "(5)"), ("温度-5", "温度5"), (".5", "5")],
    *[("≥ 3", "≤ 3"), ("∀x", "∃x"), ("x⃗", "x"), ("10⁶", "106"), ("x²", "x2"), ("x²", "x₂")],
    *[("½", "12"), ("½", "1 2"), ("①", "1"), ("5①", "51"), ("5°", "5"), ("5‰", "5"), ("5′", "5″")],
    *[("€5", "£5"), ("₿", "¥"), ("§5", "5"), ("†", "‡"), ("⠁⠃", "⠃⠁"), ("\ue001", "\ue002")],
    *[("a\ufffdb", "ab"), ("𝄞", "𝄢"), ("C♯", "C♭"), ("♠", "♥"), ("🔴", "🟢"), ("👍🏻", "👍🏿")],
    *[("👨‍👩‍👧", "👨👩👧"), ("🇩🇪", "🇫🇷"), ("1⃣", "1"), ("1⃣", "2⃣"), ("𒀀", "𒀁"), ("ꦲꦶ", "ꦲꦸ")],
    *[("A", "a"), ("10,5", "10.5"), ("+5", "-5"), ("٥٪", "٥"), ("١٫٥", "١٥"), (ENGLAND, SCOTLAND)],
    *[("1ª", "1a"), ("ⓐb", "ab"), ("ab™", "abtm")],
]
FOLDED = [
    *[("Cat", "cat"), ("ｆｕｌｌ", "full"), ("№", "No"), ("㎡", "m2"), ("Ⅷ", "VIII"), ("𝐱", "x")],
    *[("»", "•"), ("a?", "a!"), ("2010–2015", "2010 2015"), ("。", "、"), ("❤\ufe0f", "❤")],
    *[("\u202eabc", "abc"), ("כתב", "כָּתַב"), ("كتب", "كُتِب"), ("5'", "5")],
]


def with_signs(sign: str, every: int) -> Fingerprint:
    words = list(WORDS)
    for place in range(5, len(words), every):
        words[place] += f" {sign}"
    return fingerprint(Page.from_text(" ".join(words)))


@pytest.mark.parametrize(
    ("one", "other", "is_folded"),
    [*((*pair, False) for pair in SIGNS), *((*pair, True) for pair in FOLDED)],
)
def test_signs_are_judged_and_folded_ones_not_equal(one: str, other: str, *, is_folded: bool) -> None:
    for every in (10, 1000):
        kept, page = with_signs(one, every), with_signs(other, every)
        assert not has_equal_text(kept, page)
        assert compare(kept, page).lost, "nothing is lost"
        assert compare(kept, page).is_duplicate or (every == 10 and not is_folded)
    assert is_folded or tokens(f"a {one} b") != tokens(f"a {other} b")
    assert compare(with_signs(one, 10), with_signs(other, 10)).is_duplicate is is_folded


@given(st.text(), st.text())
@settings(max_examples=200)
def test_texts_are_equal_only_if_all_but_white_space_is_the_same(one: str, other: str) -> None:
    first, second = (fingerprint(Page.from_text(f"some words here {text}")) for text in (one, other))
    assert (first.token_digest == second.token_digest) == (one.split() == other.split())
