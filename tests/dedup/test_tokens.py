from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.dictionary import RJIEBA_DICTIONARY, dictionary_digest, jieba_segmenter
from dedup.tokens import _HAN, is_han, tokens

SCRIPTS = "aZ9_ '.,\n-éßÅжЩأبกขаの中国武汉会战灯塔カ한국①ﬁ£€\u3000𠀀々〇ｱ"
texts = st.text(st.sampled_from(SCRIPTS), max_size=60) | st.text(max_size=40)


def slow_tokens(text: str) -> list[str]:
    segment = jieba_segmenter()
    found: list[str] = []
    for run in re.findall(rf"[{_HAN}]+|[^\W{_HAN}]+", normalize("NFKC", text).lower()):
        found += segment(run) if is_han(run) else [run]
    return found


@given(texts)
def test_equals_the_plain_definition(text: str) -> None:
    assert tokens(text) == slow_tokens(text)


@given(texts)
def test_jieba_and_rjieba_cut_alike(text: str) -> None:
    assert tokens(text) == tokens(text, segment=jieba_segmenter())


def test_rjieba_is_trusted_for_the_dictionary_that_is_installed() -> None:
    assert dictionary_digest() == RJIEBA_DICTIONARY


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=80))
def test_rjieba_cuts_any_han_text_as_jieba_does(text: str) -> None:
    rjieba = pytest.importorskip("rjieba")
    assert rjieba.cut(text, hmm=False) == list(jieba_segmenter()(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The QUICK fox's 2nd_try!", ["the", "quick", "fox", "s", "2nd_try"]),
        ("Crème brûlée", ["crème", "brûlée"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("武汉会战在1938年", ["武汉", "会战", "在", "1938", "年"]),
        ("使用Python语言", ["使用", "python", "语言"]),
        ("Москва, Россия", ["москва", "россия"]),
        ("서울 날씨", ["서울", "날씨"]),
        ("\u0000a\u0000b", ["a", "b"]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_the_users_own_jieba_is_left_alone() -> None:
    import jieba

    before = tokens("克林顿灯塔路博物馆")
    jieba.add_word("灯塔路博物馆")
    assert tokens("克林顿灯塔路博物馆") == before
    assert tokens("克林顿灯塔路博物馆", segment=jieba_segmenter()) == before
