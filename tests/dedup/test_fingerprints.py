from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.example import PAGES
from dedup import DedupConfig, Page, fingerprint, simhash
from dedup.algorithms.structure import tag_decay, tag_ngrams
from dedup.algorithms.weights import line_tf_idf
from dedup.reading.tokens import tokens
from dedup.recipes.structure import structure_features
from dedup.recipes.terms import Terms, character_ngrams
from dedup.recipes.weights import weights_of
from dedup.values.hashes import digest
from dedup.values.simhashes import simhash_hex

TAG_DECAY = "dedup.algorithms.structure.tag_decay"
CONFIGS = [DedupConfig(), DedupConfig(structure=TAG_DECAY, shingle=2)]
EXAMPLES = sorted(PAGES.rglob("*.html"))


def content_features(words: list[str]) -> dict[str, float]:
    terms = Terms.from_tokens(words)
    return dict(zip(terms.names, weights_of(terms, DedupConfig()).tolist(), strict=True))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_are_simhashes_of_the_features(path: Path, config: DedupConfig) -> None:
    page = Page.from_html(path.read_bytes())
    found = fingerprint(page, config)
    words = tokens(page.text)
    assert found.content_simhash == simhash(content_features(words))
    if config.structure == TAG_DECAY:
        assert found.structure_simhash == simhash(structure_features(page, config))
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
    assert structure_features(page, DedupConfig()) == {}
    page = Page.from_html("<p>")
    assert list(structure_features(page, DedupConfig())) == ["html body p"]
    assert list(tag_ngrams(page)) == ["html body p"]


def test_plain_decay_sums_by_depth() -> None:
    page = Page.from_html("<html><body><p><p><b>x</b></p></body></html>")
    assert tag_decay(page, 0.5) == {"html": 1, "body": 0.5, "p": 0.5, "b": 0.125}


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


def two_characters(text: str) -> list[str]:
    return character_ngrams(text, 2)


# Every named choice, and every algorithm by its path, on the page zh/history: content and structure.
PINNED_RECIPES: dict[tuple[str, Any], tuple[str, str]] = {
    ("terms", "words"): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.unicode_words"): ("9061452fb99e93ba", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.word_shingles"): ("d3751bf66f9cbec5", "a20f12def50a353e"),
    ("terms", "character_ngrams"): ("c15eb5b1f6e4192b", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.jieba_words"): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.jieba_full"): ("e40c6767bf742f4e", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.jieba_search"): ("840ce7659d6c090c", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.keywords_tfidf"): ("da880a0199b31f19", "a20f12def50a353e"),
    ("terms", "dedup.algorithms.terms.keywords_textrank"): ("f0842b239baf0f10", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.uniform"): ("912043e49d6c1d8c", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.tf"): ("9400407f9f5e0a8e", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.sublinear_tf"): ("900043659d4e0b8e", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.tf_idf"): ("900043659d4e1f9c", "a20f12def50a353e"),
    ("weights", "sublinear_tf_idf"): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.textrank_weights"): ("9400407f9f5e0a8e", "a20f12def50a353e"),
    ("weights", "dedup.algorithms.weights.levels"): ("940043749d4e1994", "a20f12def50a353e"),
    ("structure", "decayed_ngrams"): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("structure", "dedup.algorithms.structure.tag_ngrams"): ("900043659d6e1f8c", "7312eca3bd8c77c4"),
    ("structure", "dedup.algorithms.structure.tag_decay"): ("900043659d6e1f8c", "cb55b5e3d4d3aeca"),
    ("structure", "dedup.algorithms.structure.tag_paths"): ("900043659d6e1f8c", "eb1c257154c7ee8a"),
    ("structure", "dedup.algorithms.structure.tag_classes"): ("900043659d6e1f8c", "8155e5dfe6d33893"),
    ("hasher", "murmur3"): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("hasher", "dedup.algorithms.hashers.fnv1"): ("d71731186a22eba8", "b6716d41b9b2b9ad"),
    ("hasher", "dedup.algorithms.hashers.fnv1a"): ("1b74b51b66410796", "791307f9db5d4b0f"),
    ("hash_seed", 1): ("c22b04d261c73fd1", "4225717a3a7716b9"),
    ("tie", True): ("900043659d6e1f8c", "a20f12def50a353e"),
    ("terms", f"{__name__}.two_characters"): ("e1bf32d117808c78", "a20f12def50a353e"),
}


@pytest.mark.parametrize("choice", PINNED_RECIPES, ids=str)
def test_named_recipes_are_pinned(choice: tuple[str, Any]) -> None:
    name, value = choice
    config = DedupConfig(**{name: value})
    found = fingerprint(Page.from_html((PAGES / "zh/history.html").read_bytes()), config)
    assert (simhash_hex(found.content_simhash), simhash_hex(found.structure_simhash)) == PINNED_RECIPES[
        choice
    ]


def test_weights_by_lines_are_pinned() -> None:
    page = Page.from_html((PAGES / "zh/history.html").read_bytes())
    assert simhash_hex(simhash(line_tf_idf(page.text))) == "9400436d9d4e0b8e"
