from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dedup import Page
from dedup.reading.charset import decode, encoding_of
from dedup.values.hashes import digest

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"


def text_of(html: str) -> str:
    return Page.from_html(f"<body>{html}</body>").text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("<p>H<b>e</b>llo <i>you</i></p>", "Hello you"),
        ("one<br>two", "one\ntwo"),
        ("<p>  many \n spaces\t</p>", "many spaces"),
        ("a<script>x()</script>b<style>p{}</style>c", "abc"),
        ("a<!-- no -->b<?php no ?>c", "abc"),
        ("<p hidden>a script shows it</p>yes", "a script shows it\nyes"),
        ("<noscript>no</noscript><template>no</template>yes", "yes"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a\nb"),
        ("<em>武汉</em>会战", "武汉会战"),
    ],
)
def test_visible_text(html: str, text: str) -> None:
    assert text_of(html) == text


ARTICLE = "<p>" + "word " * 30 + "</p>"


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<nav>menu</nav>",
        "<div role='navigation'>menu</div>",
        "<header><p>menu</p></header>",
        "<aside>menu</aside>",
    ],
)
def test_boilerplate_is_left_out_beside_enough_text(boilerplate: str) -> None:
    assert "menu" not in text_of(boilerplate + ARTICLE)
    assert "tail" in text_of(boilerplate + "tail" + ARTICLE)


def test_boilerplate_is_the_page_where_little_else_is() -> None:
    assert text_of("<nav>menu</nav><p>few words only</p>") == "menu\nfew words only"
    assert "menu" in text_of("<nav>" + "menu " * 400 + "</nav>" + ARTICLE)


def test_reads_title_link_language_tags_and_links() -> None:
    page = Page.from_html(
        "<html lang=en-GB><head><title> A \n title </title><link rel='CANONICAL' href=' /c '></head>"
        "<body><a href='/x'>x</a><map><area href=y></map><a>z</a></body></html>"
    )
    assert (page.title, page.canonical_link, page.language) == ("A title", "/c", "en-GB")
    assert page.links == ("/x", "y")
    assert page.tags == ("html", "head", "title", "link", "body", "a", "map", "area", "a")
    assert page.depths == (0, 1, 2, 2, 1, 2, 2, 3, 2)


def test_a_given_tree_is_read_like_its_source_and_not_changed() -> None:
    body = b"<html><body><nav>m</nav><p>text <b>bold</b> tail</p><!-- c --></body></html>"
    root = etree.fromstring(body, etree.HTMLParser())
    before = etree.tostring(root)
    assert Page.from_tree(root, body=body, url="u") == Page.from_html(body, url="u")
    assert etree.tostring(root) == before


@pytest.mark.parametrize("body", [b"", "", b" \n\t", "  "])
def test_an_empty_body_has_no_digest(body: bytes | str) -> None:
    page = Page.from_html(body)
    assert (page.body_digest, page.text, page.tags) == (b"", "", ())


def test_a_body_is_digested_as_it_is() -> None:
    assert Page.from_html(b"<p>a").body_digest == digest(b"<p>a")
    assert Page.from_text("a").body_digest == digest(b"a")


@given(st.binary(max_size=300) | st.text(max_size=200))
def test_parsing_never_raises(body: bytes | str) -> None:
    Page.from_html(body)


@given(st.text(max_size=50))
def test_parsing_markup_never_raises(text: str) -> None:
    Page.from_html(f"<html><{text}><p {text}={text}>&{text};<!--{text}--><![CDATA[{text}]]>")


def test_nul_bytes_are_skipped() -> None:
    assert Page.from_html(b"<p>a\x00b</p>").text == "ab"


def test_binary_is_some_page() -> None:
    body = bytes(range(256)) * 500
    assert Page.from_html(b"\x89PNG\r\n\x1a\n" + body).body_digest


def test_deep_nesting_is_walked_without_recursion() -> None:
    page = Page.from_html("<div>" * 100_000 + "the bottom" + "</div>" * 100_000 + "<p>after")
    assert page.body_digest
    assert len(page.tags) > 200


def test_twenty_megabytes_are_one_page() -> None:
    body = b"<html><body>" + b"<p>the same old words again</p>" * 650_000
    began = time.monotonic()
    page = Page.from_html(body, max_bytes=len(body))
    assert len(page.text) > 15_000_000
    assert time.monotonic() - began < 120  # a hang, not a speed, is what fails here


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


def test_gb18030_declared_as_gb2312_reads_its_rare_characters() -> None:
    assert decode("朱镕基".encode("gb18030"), "gb2312") == "朱镕基"


def test_one_broken_byte_does_not_change_the_encoding() -> None:
    body = (ZH * 20).encode() + b"\xff" + ZH.encode()
    assert encoding_of(body, "utf-8") == "utf-8"
    assert decode(body, "utf-8").count("\ufffd") == 1


def test_a_page_without_charset_is_guessed_by_its_bytes() -> None:
    assert decode((ZH * 10).encode("gb18030")) == ZH * 10


@given(
    st.binary(max_size=200), st.none() | st.sampled_from(["utf-8", "gbk", "hex", "rot13", "idna", "x\0"])
)
def test_decoding_never_raises(body: bytes, declared: str | None) -> None:
    assert isinstance(decode(body, declared), str)


@given(
    st.lists(
        st.sampled_from(
            ["<nav>menu<aside>more</aside></nav>", "<p>word</p>", "<header>top</header>tail"]
        )
    )
)
def test_boilerplate_is_left_out_wherever_it_stands(parts: list[str]) -> None:
    rest = re.sub("<nav>.*?</nav>|<header>.*?</header>", "<hr>", "".join(parts))
    assert text_of(ARTICLE + "".join(parts)) == text_of(ARTICLE + rest)
