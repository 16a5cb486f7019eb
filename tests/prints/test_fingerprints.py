from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.example import PAGES
from dedup import Page, fingerprint, simhash
from dedup.algorithms import structure, terms, weights
from dedup.algorithms.hashers import fnv1, fnv1a
from dedup.algorithms.terms import Terms
from dedup.algorithms.weights import whole_weights
from dedup.model.hashes import Murmur3, digest, murmur3, simhash_hex
from dedup.prints.fingerprinter import tokens_of
from dedup.reading.tokens import tokens

EXAMPLES = sorted(PAGES.rglob("*.html"))


def content_features(words: list[str]) -> dict[str, float]:
    found = Terms.from_tokens(words)
    return dict(zip(found.names, whole_weights(found).tolist(), strict=True))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_are_simhashes_of_the_features(path: Path) -> None:
    page = Page.from_html(path.read_bytes())
    found = fingerprint(page)
    words = tokens(page.text)
    assert found.content_simhash == simhash(content_features(words))
    assert found.token_digest == digest(" ".join(page.text.split()).encode())
    assert found.tokens == len(words)


@given(st.text(max_size=100))
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = fingerprint(Page.from_text(text))
    assert 0 <= found.content_simhash < 2**64
    assert (found.structure_simhash, len(found.sketch)) == (0, 256)
    assert bool(found.content_simhash) is bool(found.tokens)


def test_an_empty_page_has_no_words() -> None:
    found = fingerprint(Page.from_html(b""))
    assert (found.content_simhash, found.structure_simhash, found.body_digest, found.token_digest) == (
        0,
        0,
        b"",
        b"",
    )
    assert found.is_empty


def test_few_tags_are_one_feature() -> None:
    page = Page.from_tree(None, body=b"x")
    assert structure.decayed_ngrams(page) == {}
    page = Page.from_html("<p>")
    assert list(structure.decayed_ngrams(page)) == ["html body p"]
    assert list(structure.tag_ngrams(page)) == ["html body p"]


# What an index holds must mean the same tomorrow: if one of these changes, so must `recipe()`.
PINNED = {
    "history": ("7edcf78598cb7425", "a20f12def50a353e", "2426236c"),
    "zh/history": ("900043659d6e1f8c", "a20f12def50a353e", "5f06f4e4"),
    "shop/oil-lamp": ("61257484a8c93efd", "6a1f32defd3a373d", "30793603"),
}


@pytest.mark.parametrize("name", PINNED)
def test_fingerprints_are_pinned(name: str) -> None:
    found = fingerprint(Page.from_html((PAGES / f"{name}.html").read_bytes()))
    sketched = digest(found.sketch).hex()[:8]
    assert (
        simhash_hex(found.content_simhash),
        simhash_hex(found.structure_simhash),
        sketched,
    ) == PINNED[name]


def structured(features: Callable[[Page], dict[str, float]]) -> Callable[[Page], int]:
    return lambda page: simhash(features(page))


def termed(terms: Callable[[str], list[str]]) -> Callable[[Page], int]:
    return lambda page: simhash(content_features(terms(page.text)))


def weighed(weights: Callable[[list[str]], dict[str, float]]) -> Callable[[Page], int]:
    return lambda page: simhash(weights(tokens_of(page.text)))


def hashed(hasher: Callable[[str], int]) -> Callable[[Page], int]:
    return lambda page: simhash(content_features(tokens_of(page.text)), hasher=hasher)


# Every algorithm on the page zh/history.
PINNED_ALGORITHMS: dict[str, tuple[Callable[[Page], int], str]] = {
    "words": (termed(tokens_of), "900043659d6e1f8c"),
    "word_shingles": (termed(terms.word_shingles), "d3751bf66f9cbec5"),
    "character_ngrams": (termed(terms.character_ngrams), "c15eb5b1f6e4192b"),
    "two_characters": (termed(partial(terms.character_ngrams, size=2)), "e1bf32d117808c78"),
    "jieba_words": (termed(terms.jieba_words), "900043659d6e1f8c"),
    "keywords_tfidf": (termed(terms.keywords_tfidf), "da880a0199b31f19"),
    "keywords_textrank": (termed(terms.keywords_textrank), "f0842b239baf0f10"),
    "uniform": (weighed(weights.uniform), "912043e49d6c1d8c"),
    "tf": (weighed(weights.tf), "9400407f9f5e0a8e"),
    "sublinear_tf": (weighed(weights.sublinear_tf), "900043659d4e0b8e"),
    "tf_idf": (weighed(weights.tf_idf), "900043659d4e1f9c"),
    "textrank_weights": (weighed(weights.textrank_weights), "9400407f9f5e0a8e"),
    "levels": (weighed(weights.levels), "940043749d4e1994"),
    "tag_ngrams": (structured(structure.tag_ngrams), "7312eca3bd8c77c4"),
    "tag_decay": (structured(structure.tag_decay), "cb55b5e3d4d3aeca"),
    "murmur3": (hashed(murmur3), "900043659d6e1f8c"),
    "seeded": (hashed(Murmur3(1)), "c22b04d261c73fd1"),
    "fnv1": (hashed(fnv1), "d71731186a22eba8"),
    "fnv1a": (hashed(fnv1a), "1b74b51b66410796"),
}


@pytest.mark.parametrize("name", PINNED_ALGORITHMS)
def test_algorithms_are_pinned(name: str) -> None:
    folded, pinned = PINNED_ALGORITHMS[name]
    page = Page.from_html((PAGES / "zh/history.html").read_bytes())
    assert simhash_hex(folded(page)) == pinned
