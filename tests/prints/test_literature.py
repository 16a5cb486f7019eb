"""Algorithms of the literature: their published values, and their definitions in plain words."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page
from dedup.model.errors import ConfigError
from dedup.model.hashes import murmur3
from dedup.prints import literature
from dedup.prints.literature import Banding, band_keys, estimated_jaccard, fnv1, fnv1a, minhash
from dedup.reading.tokens import tokens

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


@pytest.mark.parametrize(
    ("text", "of_fnv1", "of_fnv1a"),
    [
        ("", 0xCBF29CE484222325, 0xCBF29CE484222325),
        ("a", 0xAF63BD4C8601B7BE, 0xAF63DC4C8601EC8C),
        ("foobar", 0x340D8765A4DDA9C2, 0x85944171F73967E8),
    ],
)
def test_hashes_have_the_published_values(text: str, of_fnv1: int, of_fnv1a: int) -> None:
    assert (fnv1(text), fnv1a(text)) == (of_fnv1, of_fnv1a)


def slow_mixed(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & MASK
    return word ^ word >> 33


features = st.lists(st.text("abcdefgh", max_size=3) | st.text(max_size=3), max_size=40)


def slow_minhash(members: list[str], length: int, seed: int) -> list[int]:
    drawn = [slow_mixed(slow_mixed(n * STEP & MASK) ^ seed) for n in range(1, 2 * length + 1)]
    orders = [(drawn[2 * place] | 1, drawn[2 * place + 1]) for place in range(length)]
    return [min([murmur3(x) * a + b & MASK for x in members], default=MASK) for a, b in orders]


@given(features, st.integers(1, 40), st.integers(0, MASK))
def test_a_signature_equals_the_definition(members: list[str], length: int, seed: int) -> None:
    assert minhash(members, length, seed=seed).tolist() == slow_minhash(members, length, seed)


bandings = st.builds(Banding, bands=st.integers(1, 40), rows=st.integers(1, 12))


def slow_band_keys(signature: list[int], banding: Banding) -> list[int]:
    places = [slow_mixed(word + (n + 1) * STEP & MASK) for n, word in enumerate(signature)]
    starts = range(0, banding.length, banding.rows)
    return [slow_mixed(sum(places[start : start + banding.rows]) & MASK) for start in starts]


@pytest.mark.parametrize(
    ("similarity", "probability"),
    [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975), (0.8, 0.9996)],
)
def test_the_s_curve_of_the_textbook(similarity: float, probability: float) -> None:
    assert Banding(20, 5).s_curve(similarity) == pytest.approx(probability, abs=0.0006)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: minhash(["a"], 0), r"length \(0\) must be 1 or more"),
        (lambda: estimated_jaccard(minhash("a", 8), minhash("a", 7)), r"length \(7\) must be 8"),
        (lambda: Banding(0, 3), r"bands \(0\) must be 1 or more"),
        (lambda: Banding(3, -1), r"rows \(-1\) must be 1 or more"),
        (lambda: band_keys(minhash("a", 8), Banding(3, 3)), r"bands \(3\) times rows must be at most 8"),
    ],
)
def test_bad_values_name_value_and_rule(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        make()  # type: ignore[operator]


@given(st.lists(st.integers(0, 300), min_size=60, max_size=80), bandings)
def test_keys_equal_the_definition(places: list[int], banding: Banding) -> None:
    assert not len(band_keys(minhash([], banding.length), banding))
    if banding.length <= len(places):
        signature = np.array(places, np.uint64)
        assert band_keys(signature, banding).tolist() == slow_band_keys(places, banding)


# Written for these tests.
ZH = (
    "渔村的老灯塔今年重新点亮。灯塔由村民自己修缮，资金来自渔业合作社。守塔人说，修缮以后，"
    "渔船在夜里又能看见灯塔的光。合作社还打算在灯塔旁边建一座小型博物馆，展示渔村的历史和渔业工具。"
    "博物馆由退休教师管理，村民可以免费参观博物馆。"
)


@pytest.mark.slow
def test_keywords_are_those_of_jieba() -> None:
    import jieba.analyse  # takes a second

    ranking = jieba.analyse.TFIDF()
    ranking.tokenizer = SimpleNamespace(cut=tokens)
    assert set(literature.keywords_tfidf(ZH, 10)) == set(ranking.extract_tags(ZH, topK=10))


def slow_textrank(words: list[str]) -> dict[str, float]:
    edges: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for at, one in enumerate(words):
        for other in words[at + 1 : at + 5]:
            edges[one][other] += 1
            edges[other][one] += 1
    ranks = dict.fromkeys(edges, 1.0)
    for _ in range(10):
        ranks = {
            word: 0.15
            + 0.85 * sum(ranks[n] * edges[n][word] / sum(edges[n].values()) for n in edges[word])
            for word in edges
        }
    return ranks


@given(st.lists(st.sampled_from("abcdef"), max_size=20, unique=True))
def test_textrank_equals_the_plain_definition(words: list[str]) -> None:
    assert literature.textrank(words) == pytest.approx(slow_textrank(words))


def test_keywords_are_occurrences_and_levels_the_fifths_by_weight() -> None:
    assert literature.keywords_tfidf("aa bb aa c c c", 1) == ["aa", "aa"]
    assert literature.levels(["a", "b", "a", "a", "c"]) == {"a": 1 + 5 * 2 // 3, "b": 1, "c": 1}
    assert literature.levels([]) == {}


PAGE = Page.from_html("<div class='b a'><p class=a>x<p>y</div><div class='a b'></div>")


def test_the_decay_of_tags_sums_over_the_tree() -> None:
    assert literature.tag_decay(PAGE, 0.5) == {"html": 1, "body": 1 / 2, "div": 1 / 2, "p": 1 / 4}
