"""What words and tags weigh, with the definition in plain words as the oracle of the fast way."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint, hamming_distance
from dedup.algorithms.features import Terms, hashed_runs
from dedup.algorithms.literature import tag_decay
from dedup.model.hashes import murmur3

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15

trees = st.recursive(
    st.sampled_from(["<hr>", "<b>x</b>", "<p class='b a'>"]),
    lambda inner: st.lists(inner, max_size=5).map(lambda parts: f"<div>{''.join(parts)}</div>"),
    max_leaves=30,
)


def spread(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & MASK
    return word ^ word >> 33


def slow_words(page: Page, decay: float) -> dict[int, int]:
    size = min(5, len(page.tags))
    weights: dict[int, int] = {}
    for start in range(len(page.tags) - size + 1 if size else 0):
        first, *others = (murmur3(tag) for tag in page.tags[start : start + size])
        for other in others:
            first = (spread(first) * STEP + other) & MASK
        weight = round(256 * decay ** min(page.depths[start : start + size]))
        weights[spread(first)] = max(weights.get(spread(first), 0), weight)
    return weights


@given(trees)
def test_runs_equal_the_plain_definition(html: str) -> None:
    page = Page.from_html(html)
    words, weights = hashed_runs(page)
    assert dict(zip(words.tolist(), weights.tolist(), strict=True)) == slow_words(page, 0.97)


PAGE = Page.from_html("<div class='b a'><p class=a>x<p>y</div><div class='a b'></div>")


def test_the_decay_of_the_literature_sums_over_the_tags() -> None:
    found = tag_decay(PAGE, 0.5)
    assert {tag: 256 * weight for tag, weight in found.items()} == {
        "html": 256,
        "body": 128,
        "div": 128,
        "p": 64,
    }


def test_a_longer_list_is_the_same_template() -> None:
    def of_items(count: int) -> int:
        return fingerprint(
            Page.from_html("<h1>a</h1><ul>" + "<li><a>x</a>" * count + "</ul><p>b")
        ).structure_simhash

    assert hamming_distance(of_items(10), of_items(500)) == 0


def test_words_are_damped_twice() -> None:
    found = Terms.from_tokens(["a", "b", "a", "a", "c"]).weights()
    assert found.tolist() == [round(256 * (1 + math.log(3))), 256, 256]
    lighthouse = Terms.from_tokens(["灯塔"])
    assert lighthouse.weights().tolist() == [round(256 * math.sqrt(lighthouse.idf()[0]))] > [256]
