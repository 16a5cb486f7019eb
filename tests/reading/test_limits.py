from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Detector, MemoryIndex, Page, SQLiteIndex, compare, fingerprint
from dedup.index import Index
from dedup.model.fingerprint import MAX_TITLE
from dedup.model.urls import MAX_URL
from dedup.model.verdict import Reason
from dedup.reading.markup import MAX_ATTRIBUTES, MAX_DEPTH, Excess, has_attribute_flood, is_too_long
from dedup.reading.tokens import normalized
from tests.bounds import bounds

LIMIT = 1000
FILL = b"<p>" + b"much ado about nothing " * 6000


def tag(attributes: int, form: str = "x{}=1") -> bytes:
    return f"<p {' '.join(map(form.format, range(attributes)))}>".encode()


@pytest.mark.parametrize(
    "form", ["x{}", "x{}=1", "x{}='>'", 'x{}=">"', "x{}='<b>'", 'x{} = "a>b\'"', "x{}=' > \" > '"]
)
@pytest.mark.parametrize(
    "before", [b"", b"<!-- <a b='", b"<script>x='<a b=\"'</script>", b"<a b=\"'>", b"<a b'>", b"= \" ' "]
)
def test_finds_a_tag_of_too_many_attributes_wherever_it_hides(form: str, before: bytes) -> None:
    page = FILL + before + b"-->'\">"
    assert has_attribute_flood(page + tag(MAX_ATTRIBUTES + 1, form) + FILL)
    assert not has_attribute_flood(page + tag(MAX_ATTRIBUTES, form) * 2 + FILL)


@pytest.mark.parametrize(
    "part",
    [
        b"<img src='data:," + b"A/==" * 50_000 + b"'>",
        b"<script>if (a<b) x = '" + b"a = 1 " * 50_000 + b"'</script>",
        b"<p>" + b"1 <2 and a <b = c " * 20_000,
        b'<p title="' + b"word " * 50_000 + b'">',
        b"<p a=1 b=2 c=3 d=4>" * 20_000,
    ],
)
def test_what_is_long_but_no_flood_of_attributes_is_read(part: bytes) -> None:
    assert not has_attribute_flood(FILL + part)
    assert Page.from_html(FILL + part).excess is None


def test_a_small_page_may_have_what_tags_it_likes() -> None:
    assert Page.from_html(tag(MAX_ATTRIBUTES + 1, "x{}")).excess is None


@given(st.text("a\u0301\ufdfa\u3300İé ", max_size=60), st.integers(0, 300))
def test_text_is_measured_in_its_normal_form(text: str, limit: int) -> None:
    with bounds(MAX_BYTES=limit):
        found = is_too_long(text)
    assert found == (len(normalized(text).encode()) > limit or len(text) > limit)


@pytest.mark.parametrize(
    ("read", "excess"),
    [
        (lambda: Page.from_html(b"a" * LIMIT), None),
        (lambda: Page.from_html(b"a" * (LIMIT + 1)), Excess.BYTES),
        (lambda: Page.from_html("é" * (LIMIT // 2 + 1)), Excess.BYTES),
        (lambda: Page.from_text("é" * (LIMIT // 2 + 1)), Excess.BYTES),
        (lambda: Page.from_tree(None, body=b"a" * (LIMIT + 1)), Excess.BYTES),
        (lambda: Page.from_html("\ufdfa" * 100), Excess.TEXT),
        (lambda: Page.from_text("\ufdfa" * 100), Excess.TEXT),
    ],
)
def test_a_page_of_more_bytes_has_nothing_but_its_digest(
    read: Callable[[], Page], excess: Excess | None
) -> None:
    with bounds(MAX_BYTES=LIMIT):
        assert is_only_a_digest(page := read()) is bool(excess)
    assert page.excess == excess


@pytest.mark.parametrize(
    ("html", "excess"),
    [(FILL + tag(MAX_ATTRIBUTES + 1), Excess.ATTRIBUTES), (b"<b>" * MAX_DEPTH + FILL, Excess.DEPTH)],
)
def test_a_page_over_a_limit_has_nothing_but_its_digest(html: bytes, excess: Excess) -> None:
    page = Page.from_html(html)
    assert (page.excess, is_only_a_digest(page)) == (excess, True)


def is_only_a_digest(page: Page) -> bool:
    found = fingerprint(page)
    assert found.body_digest
    told = (page.text, page.tags, found.content_simhash, found.structure_simhash, found.tokens)
    return told == ("", (), 0, 0, 0)


def test_pages_over_the_limit_repeat_only_equal_bytes() -> None:
    with bounds(MAX_BYTES=LIMIT):
        one, other = (Page.from_html(b"the same " * LIMIT + end) for end in (b"1", b"2"))
        small = Page.from_html(b"the same " * 9)
    assert compare(one, other).reason is compare(one, small).reason is Reason.NEW
    assert compare(one, one).reason is Reason.EXACT_DUPLICATE


def test_a_long_title_is_cut_and_a_long_canonical_link_is_none() -> None:
    page = Page.from_html(f"<title>{'t' * 9999}</title><link rel=canonical href={'c' * (MAX_URL + 1)}>")
    assert (page.title, page.canonical_link) == ("t" * MAX_TITLE, "")
    link = "c" * MAX_URL
    assert Page.from_html(f"<link rel=canonical href={link}>").canonical_link == link


@pytest.mark.parametrize("kind", [MemoryIndex, SQLiteIndex])
def test_an_index_keeps_no_more_of_a_page_than_it_should(kind: type[Index], tmp_path: Path) -> None:
    index = SQLiteIndex(tmp_path / "pages.db") if kind is SQLiteIndex else MemoryIndex()
    with index, Detector(index) as detector:
        for number, end in enumerate(("1", "2", "\ud800", "\udfff")):
            length = 1_000_000 if number < 2 else 9
            page = Page.from_text(f"four words and {number} more", url=f"http://a/{'b' * length}{end}")
            page = replace(page, title="t" * 1_000_000 + end)
            assert detector.judge(page).reason is detector.check(page).reason is Reason.NEW
        seen = [row.sighting for row in index.rows()]
    assert len({one.url for one in seen}) == len({one.url_key for one in seen}) == 4
    assert all(max(len(one.url), len(one.url_key)) <= MAX_URL for one in seen)
    assert all(one.title == "t" * MAX_TITLE for one in seen)
    assert re.fullmatch(r"http://a/b+~[0-9a-f]{32}", seen[0].url)
