"""Terms of texts, and their weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import simhash
from dedup.algorithms import terms, weights
from dedup.algorithms.terms import Terms, character_ngrams, textrank
from dedup.algorithms.weights import whole_weights
from dedup.prints.fingerprinter import tokens_of

# Written for these tests.
ZH = (
    "渔村的老灯塔今年重新点亮。灯塔由村民自己修缮，资金来自渔业合作社。守塔人说，修缮以后，"
    "渔船在夜里又能看见灯塔的光。合作社还打算在灯塔旁边建一座小型博物馆，展示渔村的历史和渔业工具。"
    "博物馆由退休教师管理，村民可以免费参观博物馆。"
)


ALGORITHMS = (
    terms.word_shingles,
    terms.jieba_words,
    terms.keywords_tfidf,
    terms.keywords_textrank,
)
WEIGHTS = (
    weights.uniform,
    weights.tf,
    weights.sublinear_tf,
    weights.tf_idf,
    weights.textrank_weights,
    weights.levels,
)


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        (terms.word_shingles, ("a b c d",), ["a b c", "b c d"]),
        (terms.word_shingles, ("a b", 2), ["a b"]),
        (terms.word_shingles, ("a b",), ["a b"]),
        (character_ngrams, ("Ab, cde",), ["abcd", "bcde"]),
        (character_ngrams, ("武汉会战", 2), ["武汉", "汉会", "会战"]),
        (character_ngrams, ("ab",), ["ab"]),
        (terms.jieba_words, ("使用c++语言",), ["使用", "c++", "语言"]),
        (terms.keywords_tfidf, ("aa bb aa c c c", 1), ["aa", "aa"]),
    ],
)
def test_terms_of_a_text(
    made: Callable[..., list[str]], given: tuple[Any, ...], expected: list[str]
) -> None:
    assert made(*given) == expected


@pytest.mark.parametrize("algorithm", [character_ngrams, *ALGORITHMS])
@given(text=st.text(max_size=60))
def test_any_text_has_terms(algorithm: Callable[[str], list[str]], text: str) -> None:
    found = algorithm(text)
    assert all(isinstance(term, str) and term for term in found)
    assert 0 <= simhash(weights.uniform(found)) < 2**64


@pytest.mark.slow
def test_keywords_are_those_of_jieba() -> None:
    import jieba.analyse  # takes a second

    words = tokens_of(ZH)

    class Cut:
        def cut(self, _: str) -> list[str]:
            return words

    ranking = jieba.analyse.TFIDF()
    ranking.tokenizer = Cut()
    theirs = set(ranking.extract_tags(ZH, topK=10))
    assert set(terms.keywords_tfidf(ZH, 10)) == theirs


@pytest.mark.slow
def test_textrank_finds_what_jieba_finds() -> None:
    import jieba.analyse

    ours = set(terms.keywords_textrank(ZH, 5))
    theirs = set(jieba.analyse.textrank(ZH, topK=5))
    assert len(ours & theirs) >= 3
    assert "灯塔" in ours & theirs


@pytest.mark.parametrize(("words", "count"), [(0, 10), (400, 20), (9999, 200)])
def test_the_number_of_keywords_follows_the_length(words: int, count: int) -> None:
    assert terms.keyword_count(words) == count
    assert len(set(terms.keywords_tfidf(" ".join(f"word{n}" for n in range(words))))) in (words, count)


def slow_textrank(words: list[str]) -> dict[str, float]:
    edges: dict[str, dict[str, float]] = {}
    for at, one in enumerate(words):
        for other in words[at + 1 : at + 5]:
            edges.setdefault(one, {}).setdefault(other, 0.0)
            edges[one][other] += 1
            edges.setdefault(other, {}).setdefault(one, 0.0)
            edges[other][one] += 1
    ranks = dict.fromkeys(edges, 1.0)
    for _ in range(10):
        ranks = {
            word: 0.15
            + 0.85 * sum(ranks[n] * edges[n][word] / sum(edges[n].values()) for n in edges[word])
            for word in edges
        }
    return ranks


@given(
    st.lists(st.sampled_from("abcdef"), max_size=20).filter(lambda words: len(set(words)) == len(words))
)
def test_textrank_equals_the_plain_definition(words: list[str]) -> None:
    assert textrank(words) == pytest.approx(slow_textrank(words))


COUNTED = ["a", "b", "a", "a", "c"]
LN3 = 1 + math.log(3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (weights.uniform(COUNTED), [1, 1, 1]),
        (weights.tf(COUNTED), [3, 1, 1]),
        (weights.sublinear_tf(COUNTED), [LN3, 1, 1]),
        (weights.tf_idf(COUNTED), [3, 1, 1]),
        # of three lines, a is on all, b and c on one
        (weights.levels(COUNTED), [1 + math.floor(5 * 2 / 3), 1, 1]),
    ],
)
def test_weights_of_a_small_text(found: dict[str, float], expected: list[float]) -> None:
    rounded = [round(256 * weight) / 256 for weight in expected]
    assert found == dict(zip("abc", rounded, strict=True))


def test_the_default_weights_are_damped_twice() -> None:
    found = whole_weights(Terms.from_tokens(COUNTED))
    assert found.tolist() == [round(256 * LN3), 256, 256]
    (han,) = whole_weights(Terms.from_tokens(["灯塔"])).tolist()
    assert han == round(256 * math.sqrt(Terms.from_tokens(["灯塔"]).idf()[0])) > 256


@pytest.mark.parametrize("algorithm", WEIGHTS)
@given(words=st.lists(st.sampled_from(["the", "灯塔", "海", "x1"]), max_size=30))
def test_weights_are_whole_and_not_negative(
    algorithm: Callable[[list[str]], dict[str, float]], words: list[str]
) -> None:
    found = algorithm(words)
    assert set(found) == set(words)
    assert all(weight >= 0 and 256 * weight == int(256 * weight) for weight in found.values())
