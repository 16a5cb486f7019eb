from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.example import PAGES
from dedup import Page, fingerprint, hamming_distance, simhash
from dedup.algorithms import literature
from dedup.model.hashes import digest, murmur3, simhash_hex
from dedup.reading.tokens import tokens
from tests.oracle.prints import whole_weights

EXAMPLES = sorted(PAGES.rglob("*.html"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_are_simhashes_of_the_features(path: Path) -> None:
    page = Page.from_html(path.read_bytes())
    found = fingerprint(page)
    words = tokens(page.text)
    assert found.content_simhash == simhash(whole_weights(words))
    assert found.token_digest == digest(" ".join(page.text.split()).encode())
    assert found.tokens == len(words)


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


def worded(words: list[str], hasher: Callable[[str], int] = murmur3) -> int:
    return simhash(whole_weights(words), hasher=hasher)


# Every algorithm on the page zh/history.
PINNED_ALGORITHMS: dict[str, tuple[Callable[[Page], int], str]] = {
    "keywords_tfidf": (
        lambda page: worded(literature.keywords_tfidf(page.text, 10)),
        "da880a0199b31f19",
    ),
    "keywords_textrank": (
        lambda page: worded(literature.keywords_textrank(page.text, 10)),
        "f0842b239baf0f10",
    ),
    "uniform": (lambda page: simhash(dict.fromkeys(tokens(page.text), 1.0)), "912043e49d6c1d8c"),
    "levels": (lambda page: simhash(literature.levels(tokens(page.text))), "940043749d4e1994"),
    "tag_decay": (lambda page: simhash(literature.tag_decay(page)), "cb55b5e3d4d3aeca"),
    "murmur3": (lambda page: worded(tokens(page.text)), "900043659d6e1f8c"),
    "fnv1": (lambda page: worded(tokens(page.text), literature.fnv1), "d71731186a22eba8"),
    "fnv1a": (lambda page: worded(tokens(page.text), literature.fnv1a), "1b74b51b66410796"),
}


@pytest.mark.parametrize("name", PINNED_ALGORITHMS)
def test_algorithms_are_pinned(name: str) -> None:
    folded, pinned = PINNED_ALGORITHMS[name]
    page = Page.from_html((PAGES / "zh/history.html").read_bytes())
    assert simhash_hex(folded(page)) == pinned


def test_a_longer_list_is_the_same_template() -> None:
    def of_items(count: int) -> int:
        return fingerprint(
            Page.from_html("<h1>a</h1><ul>" + "<li><a>x</a>" * count + "</ul><p>b")
        ).structure_simhash

    assert hamming_distance(of_items(10), of_items(500)) == 0
