"""What words and tags weigh, with the definition in plain words as the oracle of the fast way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint, hamming_distance
from dedup.algorithms.literature import tag_decay
from tests.oracle.prints import structure_of

trees = st.recursive(
    st.sampled_from(["<hr>", "<b>x</b>", "<p class='b a'>"]),
    lambda inner: st.lists(inner, max_size=5).map(lambda parts: f"<div>{''.join(parts)}</div>"),
    max_leaves=30,
)


@given(trees)
def test_runs_equal_the_plain_definition(html: str) -> None:
    page = Page.from_html(html)
    assert fingerprint(page).structure_simhash == structure_of(page)


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
