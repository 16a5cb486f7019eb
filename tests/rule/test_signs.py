"""Texts that differ in something that a reader sees are not told equal, nor that nothing is lost."""

from __future__ import annotations

import re
from random import Random
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Page, compare, fingerprint
from dedup.reading import tokens as reading
from dedup.reading.tokens import _FORMS, PARTING, tokens
from dedup.rule.loss import has_equal_text

RNG = Random(5)
WORDS = [f"word{RNG.randrange(5000)}" for _ in range(300)]

SIGNS = [
    *[("★", "☆"), ("★★★☆☆", "★★★★☆"), ("✓", "✗"), ("☑", "☐"), ("○", "×"), ("→", "←"), ("▲ 5", "▼ 5")],
    *[("-5 °C", "5 °C"), ("−5", "5"), ("–5", "5"), ("(-5)", "(5)"), ("温度-5", "温度5"), (".5", "5")],
    *[("≥ 3", "≤ 3"), ("∀x", "∃x"), ("x⃗", "x"), ("10⁶", "106"), ("x²", "x2"), ("x²", "x₂")],
    *[("½", "12"), ("½", "1 2"), ("①", "1"), ("5①", "51"), ("5°", "5"), ("5‰", "5"), ("5′", "5″")],
    *[("€5", "£5"), ("₿", "¥"), ("§5", "5"), ("†", "‡"), ("⠁⠃", "⠃⠁"), ("\ue001", "\ue002")],
    *[("a\ufffdb", "ab"), ("𝄞", "𝄢"), ("C♯", "C♭"), ("♠", "♥"), ("🔴", "🟢"), ("👍🏻", "👍🏿")],
    *[("👨‍👩‍👧", "👨👩👧"), ("🇩🇪", "🇫🇷"), ("1⃣", "1"), ("1⃣", "2⃣"), ("𒀀", "𒀁"), ("ꦲꦶ", "ꦲꦸ")],
    *[("A", "a"), ("10,5", "10.5"), ("+5", "-5"), ("٥٪", "٥"), ("١٫٥", "١٥")],
    (
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    ),
]
FOLDED = [
    *[("Cat", "cat"), ("ｆｕｌｌ", "full"), ("№", "No"), ("㎡", "m2"), ("Ⅷ", "VIII"), ("𝐱", "x")],
    *[("»", "•"), ("a?", "a!"), ("2010–2015", "2010 2015"), ("。", "、"), ("❤\ufe0f", "❤")],
    *[("\u202eabc", "abc"), ("כתב", "כָּתַב"), ("كتب", "كُتِب"), ("5'", "5")],
]


def with_signs(sign: str, every: int) -> Page:
    words = list(WORDS)
    for place in range(5, len(words), every):
        words[place] += f" {sign}"
    return Page.from_text(" ".join(words))


@pytest.mark.parametrize(("one", "other"), SIGNS)
def test_signs_are_judged(one: str, other: str) -> None:
    for every in (10, 1000):
        kept, page = fingerprint(with_signs(one, every)), fingerprint(with_signs(other, every))
        found = compare(kept, page)
        assert kept.token_digest != page.token_digest
        assert not has_equal_text(kept, page)
        assert found.lost, "nothing is lost"
    assert tokens(f"a {one} b") != tokens(f"a {other} b")
    assert not compare(with_signs(one, 10), with_signs(other, 10)).is_duplicate


@pytest.mark.parametrize(("one", "other"), FOLDED)
def test_what_is_folded_is_a_copy_but_not_the_same_text(one: str, other: str) -> None:
    kept, page = (fingerprint(with_signs(sign, 10)) for sign in (one, other))
    assert not has_equal_text(kept, page)
    assert compare(kept, page).is_duplicate
    assert compare(kept, page).lost


@given(st.text(), st.text())
@settings(max_examples=200)
def test_texts_have_one_digest_only_if_all_but_white_space_is_the_same(one: str, other: str) -> None:
    first, second = (fingerprint(Page.from_text(f"some words here {text}")) for text in (one, other))
    assert (first.token_digest == second.token_digest) == (one.split() == other.split())


VISIBLE = st.characters(exclude_categories=["P", "Z", "Cc", "Cf", "Cs", "M"])


@given(VISIBLE)
@settings(max_examples=500)
def test_every_sign_is_in_a_token(sign: str) -> None:
    if sign not in "`\u0640":  # a quotation mark of programs, and the tatweel, which is left out
        assert tokens(f"a {sign} b") != ["a", "b"]


def test_what_parts_words_is_no_sign() -> None:
    parting = re.findall(f"[{PARTING}]", "".join(map(chr, range(0x80, 0x110000))))
    assert {category(sign)[0] for sign in parting} == {"P", "Z", "C", "M"}
    assert not [sign for sign in parting if category(sign) in ("Co", "Mc")]


def test_forms_that_normalization_would_lose_stay() -> None:
    for sign in "ª²₂①½ⓐ™":
        assert _FORMS.match(sign)
        assert reading.normalized(f"ﬁ{sign}Ａ") == f"fi{sign}a".lower()
