from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, Page, Reason, compare, fingerprint
from dedup.rule.loss import OWN
from tests.bounds import bounds
from tests.pages import edited, page, text

OPTIONS: list[dict[str, Any]] = [{}, {"max_distance": 0}, {"max_distance": 12, "max_lost_words": 300}]
contents = st.sampled_from([text(1), edited(1), edited(1, 40), text(2), "a b c", "", " ", "a b c d e"])


@given(contents, contents)
def test_pages_and_fingerprints_compare_alike(a: str, b: str) -> None:
    one, two = page(a), page(b)
    assert compare(one, two) == compare(fingerprint(one), fingerprint(two))


@given(contents, contents, st.sampled_from(OPTIONS))
def test_compare_says_what_would_happen(a: str, b: str, options: dict[str, Any]) -> None:
    config = DedupConfig(**options)
    with Detector(MemoryIndex(), config) as detector:
        detector.check(page(a, "http://a/"))
        verdict = detector.check(page(b, "http://b/"))
    matched = compare(page(a), page(b), config)
    if matched.finding == OWN:  # on a site of which so little is known it is not enough
        assert verdict.kept
    else:
        assert (verdict.kept, verdict.reason) == (not matched.is_duplicate, matched.reason)


@given(contents)
def test_a_page_is_its_own_copy_unless_it_is_empty(content: str) -> None:
    assert compare(page(content), page(content)).reason is Reason.EXACT_DUPLICATE
    assert compare(Page.from_html(" "), Page.from_html(" ")).reason is Reason.NOT_JUDGED


def test_text_has_no_structure_and_an_image_no_content() -> None:
    assert compare(Page.from_text("a b c d"), page("a b c d")).structure_distance is None
    assert compare(page("<img>"), page("a b c d")).content_distance is None


def regional(language: str, price: str, *, itself: bool = True, alternates: str = "en-US en-GB") -> Page:
    links = "".join(
        f"<link rel=alternate hreflang={each} href=http://a/{each if itself else 'at-' + each}>"
        for each in alternates.split()
    )
    html = f"<html lang={language[:2] if itself else language}>{links}<p>{text(1)} costs {price} today"
    return Page.from_html(html, url=f"http://a/{language}")


@pytest.mark.parametrize("itself", [True, False])
def test_pages_for_different_regions_are_no_copies_unless_they_say_the_same(*, itself: bool) -> None:
    american, british = regional("en-US", "$25", itself=itself), regional("en-GB", "£19", itself=itself)
    assert (american.variant, british.variant) == ("en-us", "en-gb")
    assert compare(american, british).finding == "other_variant"
    assert compare(american, regional("en-GB", "$25", itself=itself)).is_duplicate
    assert compare(american, regional("en-US", "$26", itself=itself)).is_duplicate
    assert compare(american, regional("en-GB", "£19", alternates="")).is_duplicate
    assert regional("en-GB", "£19", alternates="").variant == ""


def told(record: str, language: str = "", end: str = "") -> Page:
    link = f"<link rel=alternate hreflang={language} href=http://a/1>" if language else ""
    html = f'<html lang="{language}">{link}<meta itemprop="sku" content="{record}"><p>{text(1)} {end}'
    return Page.from_html(html if record else html.replace("itemprop", "name"), url="http://a/1")


@pytest.mark.parametrize(
    ("kept", "page", "finding"),
    [
        (("1",), ("2",), "other_record"),  # whatever the texts say
        (("1", "en"), ("2", "en", "now"), "other_record"),
        (("1", "en"), ("1", "", "now"), ""),
        (("1",), ("1", "en", "now"), ""),
        (("", "en"), ("1", "en"), ""),
        (("", "en"), ("1", "en", "now"), "other_record"),
        (("1", "en"), ("", "en", "now"), ""),
        (("1", "en"), ("1", "de", "now"), "other_variant"),
    ],
)
def test_an_id_and_a_language_are_compared_each_for_itself(
    kept: tuple[str, ...], page: tuple[str, ...], finding: str
) -> None:
    found = compare(told(*kept), told(*page))
    assert (found.is_duplicate, found.finding if finding else "") == (not finding, finding)


def test_thresholds_are_inclusive() -> None:
    a, b = Page.from_text(text(1)), Page.from_text(edited(1, 3))  # no tags lead to them
    found = compare(a, b)
    assert found.content_distance is not None
    for distance, is_duplicate in [(found.content_distance, True), (found.content_distance - 1, False)]:
        config = DedupConfig(max_distance=distance)
        assert compare(a, b, config).is_duplicate is is_duplicate
    for similarity, is_duplicate in [(found.similarity, True), (found.similarity + 1e-9, False)]:
        with bounds(MIN_SIMILARITY=similarity):
            assert compare(a, b).is_duplicate is is_duplicate
