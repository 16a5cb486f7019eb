from __future__ import annotations

import pytest

from crawler.example import PAGES
from dedup import Page, fingerprint, hamming_distance
from dedup.model.hashes import digest, simhash_hex

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


def test_a_longer_list_is_the_same_template() -> None:
    def of_items(count: int) -> int:
        return fingerprint(
            Page.from_html("<h1>a</h1><ul>" + "<li><a>x</a>" * count + "</ul><p>b")
        ).structure_simhash

    assert hamming_distance(of_items(10), of_items(500)) == 0
