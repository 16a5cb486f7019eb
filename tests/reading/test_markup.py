"""Bytes to markup: encodings as the web has them, and what is not read but judged by its bytes alone."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.reading import markup
from dedup.reading.markup import MAX_ATTRIBUTES, MAX_DEPTH, Excess, decode, encoding_of
from dedup.reading.tokens import normalized
from tests.support.crawling import bounds

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"


@pytest.mark.parametrize(
    ("body", "declared", "encoding"),
    [
        (ZH.encode(), None, "utf-8"),
        (ZH.encode("gb18030"), "gb2312", "gb18030"),
        (ZH.encode("gb18030"), "GBK", "gb18030"),
        (b'<meta charset="gb2312">' + ZH.encode("gb18030"), None, "gb18030"),
        (b'<meta charset="gbk">' + ZH.encode(), None, "utf-8"),
        (ZH.encode(), "iso-8859-1", "utf-8"),
        (ZH.encode("gb18030"), "utf-8", "gb18030"),
        (ZH.encode("utf-16"), None, "utf-16-le"),
        (b"\xef\xbb\xbf" + ZH.encode(), "gbk", "utf-8"),
        ("déjà vu".encode("latin-1"), "latin-1", "cp1252"),
        ("“déjà”".encode("cp1252"), "iso-8859-1", "cp1252"),
        ("日本語のページ".encode("shift_jis"), "shift_jis", "cp932"),
        (b"plain", "no-such-charset", "utf-8"),
    ],
)
def test_encodings_as_the_web_has_them(body: bytes, declared: str | None, encoding: str) -> None:
    assert encoding_of(body, declared) == encoding


def test_one_broken_byte_does_not_change_the_encoding_and_without_a_charset_it_is_guessed() -> None:
    body = (ZH * 20).encode() + b"\xff" + ZH.encode()
    assert encoding_of(body, "utf-8") == "utf-8"
    assert decode(body, "utf-8").count("\ufffd") == 1
    assert decode((ZH * 10).encode("gb18030")) == ZH * 10


ENDS = st.sampled_from(
    [b"", b" ", b"\xc2\xa0", b"\xe3\x80\x80", b"\x1c", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"<p>"]
)
MIDDLES = st.binary(max_size=30) | st.text(max_size=20).map(lambda said: said.encode("utf-8", "replace"))


@given(ENDS, MIDDLES, ENDS)
def test_the_markup_of_plain_bytes_is_that_of_text(begin: bytes, middle: bytes, end: bytes) -> None:
    body = begin + middle + end
    assert markup.markup_in(body, None) == markup.markup_of(decode(body))


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
    assert markup.has_flood(page + tag(MAX_ATTRIBUTES + 1, form) + FILL)
    assert not markup.has_flood(page + tag(MAX_ATTRIBUTES, form) * 2 + FILL)


@pytest.mark.parametrize(
    "html",
    [
        FILL + b"<img src='data:," + b"A/==" * 50_000 + b"'>",
        FILL + b"<script>if (a<b) x = '" + b"a = 1 " * 50_000 + b"'</script>",
        FILL + b"<p>" + b"1 <2 and a <b = c " * 20_000,
        FILL + b'<p title="' + b"word " * 50_000 + b'">',
        FILL + b"<p a=1 b=2 c=3 d=4>" * 20_000,
        tag(MAX_ATTRIBUTES + 1, "x{}"),  # a small page may have what tags it likes
    ],
    ids=range(6),
)
def test_what_is_long_but_no_flood_of_attributes_is_read(html: bytes) -> None:
    assert Page.from_html(html).excess is None


@given(st.text("a\u0301\ufdfa\u3300İé ", max_size=60), st.integers(0, 300))
def test_text_is_measured_in_its_normal_form(said: str, limit: int) -> None:
    with bounds(MAX_BYTES=limit):
        found = markup.is_too_long(said)
    assert found == (len(normalized(said).encode()) > limit or len(said) > limit)


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
def test_a_page_of_more_bytes_has_only_a_digest(read: Callable[[], Page], excess: Excess | None) -> None:
    with bounds(MAX_BYTES=LIMIT):
        page = read()
    assert (page.excess, is_only_a_digest(page)) == (excess, bool(excess))


@pytest.mark.parametrize(
    ("html", "excess"),
    [(FILL + tag(MAX_ATTRIBUTES + 1), Excess.ATTRIBUTES), (b"<b>" * MAX_DEPTH + FILL, Excess.DEPTH)],
    ids=["attributes", "depth"],
)
def test_so_has_a_page_over_another_limit(html: bytes, excess: Excess) -> None:
    page = Page.from_html(html)
    assert (page.excess, is_only_a_digest(page)) == (excess, True)


def is_only_a_digest(page: Page) -> bool:
    found = fingerprint(page)
    assert found.body_digest
    told = (page.text, page.tags, found.content_simhash, found.structure_simhash, found.tokens)
    return told == ("", (), 0, 0, 0)
