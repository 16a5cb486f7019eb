"""A sighting is made once, and says all that an index is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, fingerprint
from dedup.index import Index
from dedup.model.row import DRY_RUN
from dedup.reading.page import sighting_of
from tests.pages import page, text

URL = "http://www.a.example/1?b=2&a=1"
PAGE = replace(
    page(text(1), URL),
    title="Sea",
    item_key='["7"]',
    redirects=("http://a.example/",),
    seen_on="b.example",
    unjudged='{"price":"7"}',
)


def test_it_has_all_that_the_page_says_of_where_it_was_seen() -> None:
    found = sighting_of(PAGE, fingerprint(PAGE), run=3, time=5.0)
    for name in ("url", "title", "item_key", "redirects", "seen_on", "unjudged"):
        assert getattr(found, name) == getattr(PAGE, name)
    assert (found.run, found.time, found.host, found.is_dry) == (3, 5.0, "b.example", False)
    assert (
        found.url_key
        == sighting_of(replace(PAGE, url="http://www.a.example/1?a=1&b=2"), found.fingerprint).url_key
    )


@pytest.mark.parametrize(
    ("key", "kind", "expected"),
    [
        ("", "page", "page"),
        ("", "item", "item"),
        ("7", "page", "keyed page"),
        ("7", "item", "keyed item"),
    ],
)
def test_what_has_a_key_is_of_another_kind(key: str, kind: str, expected: str) -> None:
    one = replace(PAGE, item_key=key)
    assert sighting_of(one, fingerprint(one), kind=kind).kind == expected


def test_a_detector_makes_those_of_its_run(index: Index) -> None:
    config = DedupConfig(scope="global")
    with Detector(index, config, "s", action=DRY_RUN) as detector:
        before = detector.sighting(PAGE)
        assert before.run == detector.run.id == detector.sighting(PAGE).run
        assert before.is_dry
        assert before.fingerprint == detector.fingerprint(PAGE)
    assert before.scope == ""


def test_what_was_sighted_before_the_run_began_is_of_the_run(index: Index) -> None:
    detector = Detector(index)
    sighting = detector.sighting(page(text(1)))
    with Detector(index) as other:  # takes the next number
        other.check(page(text(2)))
    detector.submit(sighting, confirmed=True)
    assert [row.sighting.run for row in index.rows()] == [1, 2]
    detector.close()
