from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.example import PAGES
from dedup import DedupConfig, Page, fingerprint, simhash
from dedup.features import content_features, structure_features
from dedup.hashing import digest
from dedup.tokens import tokens
from dedup.words import word_hex

CONFIGS = [DedupConfig(), DedupConfig(structure="tag_decay", shingle=2)]
EXAMPLES = sorted(PAGES.rglob("*.html"))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_are_simhashes_of_the_features(path: Path, config: DedupConfig) -> None:
    page = Page.from_html(path.read_bytes())
    found = fingerprint(page, config)
    words = tokens(page.text)
    assert found.content == simhash(content_features(words))
    assert found.structure == simhash(structure_features(page, config))
    assert found.token_digest == digest(" ".join(words).encode())
    assert found.tokens == len(words)


@given(st.text(max_size=100))
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = fingerprint(Page.from_text(text))
    assert 0 <= found.content < 2**64
    assert (found.structure, len(found.sketch)) == (0, 256)
    assert bool(found.content) is bool(found.tokens)


def test_an_empty_page_has_no_words() -> None:
    found = fingerprint(Page.from_html(b""))
    assert (found.content, found.structure, found.body_digest, found.token_digest) == (0, 0, b"", b"")
    assert found.is_empty


def test_few_tags_are_one_feature() -> None:
    page = Page.from_tree(None, body=b"x")
    assert structure_features(page, DedupConfig()) == {}
    page = Page.from_html("<p>")
    assert list(structure_features(page, DedupConfig())) == ["html body p"]


def test_plain_decay_sums_by_depth() -> None:
    page = Page.from_html("<html><body><p><p><b>x</b></p></body></html>")
    features = structure_features(page, DedupConfig(structure="tag_decay", structure_decay=0.5))
    assert features == {"html": 256, "body": 128, "p": 128, "b": 32}


# What an index holds must mean the same tomorrow: if one of these changes, so must `recipe()`.
PINNED = {
    "history": ("7ed8f78418cb7425", "7312eca3bd8c77c4", "207265e0"),
    "zh/history": ("900043659d6e1f8c", "7312eca3bd8c77c4", "5f06f4e4"),
    "shop/oil-lamp": ("e5257484acc93efd", "d35fdcabbdac3f94", "5ae20134"),
}


@pytest.mark.parametrize("name", PINNED)
def test_fingerprints_are_pinned(name: str) -> None:
    found = fingerprint(Page.from_html((PAGES / f"{name}.html").read_bytes()))
    sketched = digest(found.sketch).hex()[:8]
    assert (word_hex(found.content), word_hex(found.structure), sketched) == PINNED[name]
