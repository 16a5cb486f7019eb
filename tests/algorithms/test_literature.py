"""Algorithms of the literature: their published values, and their definitions in plain words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.algorithms.literature import (
    estimated_jaccard,
    fnv1,
    fnv1a,
    keywords_textrank,
    keywords_tfidf,
    levels,
    minhash,
    textrank,
)
from dedup.model.errors import ConfigError
from dedup.model.hashes import murmur3
from dedup.prints.fingerprinter import tokens_of
from tests.algorithms.test_sketch import MASK, STEP, slow_mixed

# Hashes


@pytest.mark.parametrize(
    ("hasher", "text", "word"),
    [
        (fnv1, "", 0xCBF29CE484222325),
        (fnv1, "a", 0xAF63BD4C8601B7BE),
        (fnv1, "foobar", 0x340D8765A4DDA9C2),
        (fnv1a, "", 0xCBF29CE484222325),
        (fnv1a, "a", 0xAF63DC4C8601EC8C),
        (fnv1a, "foobar", 0x85944171F73967E8),
    ],
)
def test_hashes_have_the_published_values(hasher: Callable[[str], int], text: str, word: int) -> None:
    assert hasher(text) == word


# MinHash

features = st.lists(st.text("abcdefgh", max_size=3) | st.text(max_size=3), max_size=40)


def slow_minhash(members: list[str], length: int, seed: int) -> list[int]:
    drawn = [slow_mixed(slow_mixed(n * STEP & MASK) ^ seed) for n in range(1, 2 * length + 1)]
    orders = [(drawn[2 * place] | 1, drawn[2 * place + 1]) for place in range(length)]
    return [min([murmur3(x) * a + b & MASK for x in members], default=MASK) for a, b in orders]


@given(features, st.integers(1, 40), st.integers(0, MASK))
def test_a_signature_equals_the_definition(members: list[str], length: int, seed: int) -> None:
    assert minhash(members, length, seed=seed).tolist() == slow_minhash(members, length, seed)


def test_many_members_are_taken_in_blocks() -> None:
    members = [str(number) for number in range(5000)]
    parts = [minhash(members[start : start + 65]) for start in range(0, 5000, 65)]
    assert minhash(members).tolist() == np.min(parts, axis=0).tolist()


def test_a_pinned_signature() -> None:
    assert minhash(["the", "tide", "turns", "\ud800"], 2).tolist() == PINNED


PINNED = [4383494345863062960, 2326278510180446069]


@pytest.mark.parametrize("length", [0, -1])
def test_a_signature_has_a_place_at_least(length: int) -> None:
    with pytest.raises(ConfigError, match=rf"length \({length}\) must be 1 or more"):
        minhash(["a"], length)


@pytest.mark.parametrize("shared", [0, 150, 1000])
def test_signatures_estimate_the_similarity(shared: int) -> None:
    exact, errors = shared / (2000 - shared), []
    for seed in range(60):
        a, b = (
            minhash([str(n) for n in range(start, start + 1000)], 256, seed=seed)
            for start in (0, 1000 - shared)
        )
        errors.append(estimated_jaccard(a, b) - exact)
    deviation = (exact * (1 - exact) / 256) ** 0.5
    assert abs(np.mean(errors)) <= 4 * deviation / 60**0.5
    assert np.sqrt(np.mean(np.square(errors))) <= 1.4 * deviation


def test_signatures_of_other_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"length \(7\) must be 8"):
        estimated_jaccard(minhash("a", 8), minhash("a", 7))


# Keywords

# Written for these tests.
ZH = (
    "渔村的老灯塔今年重新点亮。灯塔由村民自己修缮，资金来自渔业合作社。守塔人说，修缮以后，"
    "渔船在夜里又能看见灯塔的光。合作社还打算在灯塔旁边建一座小型博物馆，展示渔村的历史和渔业工具。"
    "博物馆由退休教师管理，村民可以免费参观博物馆。"
)


@pytest.mark.parametrize("keywords", [keywords_tfidf, keywords_textrank])
@given(text=st.text(max_size=60))
def test_any_text_has_keywords(keywords: Callable[[str], list[str]], text: str) -> None:
    assert set(keywords(text)) <= set(tokens_of(text))


def test_keywords_are_occurrences() -> None:
    assert keywords_tfidf("aa bb aa c c c", 1) == ["aa", "aa"]


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
    assert set(keywords_tfidf(ZH, 10)) == theirs


@pytest.mark.slow
def test_textrank_finds_what_jieba_finds() -> None:
    import jieba.analyse

    ours = set(keywords_textrank(ZH, 5))
    theirs = set(jieba.analyse.textrank(ZH, topK=5))
    assert len(ours & theirs) >= 3
    assert "灯塔" in ours & theirs


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


# Weights


def test_levels_are_the_fifths_by_weight() -> None:
    assert levels(["a", "b", "a", "a", "c"]) == {"a": 1 + 5 * 2 // 3, "b": 1, "c": 1}
    assert levels([]) == {}
