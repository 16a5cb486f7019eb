from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dedup import Page
from dedup.reading.markup import decode, encoding_of, markup_in, markup_of

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
        ("a<svg><title>no</title><text>b</text></svg>c", "a\nb\nc"),
        ("<x-y><template shadowrootmode=open><p>one</p></template>two</x-y>", "one\ntwo"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a\nb"),
        ("<em>武汉</em>会战", "武汉会战"),
        (
            "東京<br>の 朝、\n晴れ\n のち\u3000雨<br/>\nです",
            "東京の 朝、 晴れのち\u3000雨です".replace("\u3000", " "),
        ),
        ("一<br><br>二<p>三\na\n四<br>b", "一\n二\n三 a 四\nb"),
        ("<ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>へ", "港へ"),
        ("<ruby>港<rp>(<rt>みなと<rp>)</ruby>へ<ruby><rb>行<rtc><rt>い</rtc></ruby>く", "港へ行く"),
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
    menu = "<nav><a href=/>menu</a> or</nav>"
    assert text_of(menu + "<p>" + "word " * 19) == "menu or\n" + "word " * 18 + "word"
    assert text_of(menu + "<p>" + "word " * 20) == "word " * 19 + "word"


REGIONS = ["div", "section", "table", "ul", "form", "custom-tag"]
TEXTS = ["article", "main", "div role=main", "section role='none ARTICLE'"]


def inside(tags: list[str], html: str) -> str:
    begin = "".join(f"<{tag}>" for tag in tags)
    return begin + html + "".join(f"</{tag.split()[0]}>" for tag in reversed(tags))


regions = st.lists(st.sampled_from(REGIONS[:2]), max_size=3)


@given(regions, st.sampled_from(TEXTS), regions)
def test_the_header_of_a_text_is_text(around: list[str], text: str, between: list[str]) -> None:
    header = "<header><h1>heading</h1><nav>menu</nav><p role=search>field</p></header>"
    html = inside([*around, text, *between], header + ARTICLE)
    assert text_of(html) == "heading\n" + text_of(ARTICLE)
    # The same header before the text, and behind it, is that of the site.
    assert text_of(header + html + header) == text_of(html)


@given(
    regions,
    st.sampled_from(["aside", "nav", "footer", "div role=complementary", "header role=banner"]),
    regions,
)
def test_the_header_of_boilerplate_is_boilerplate(
    around: list[str], tag: str, between: list[str]
) -> None:
    html = inside([*around, tag, *between], "<article><header>heading</header></article>")
    assert text_of(f"<main>{html}{ARTICLE}</main>") == text_of(ARTICLE)


OWN = "Children under six come in free. " * 6  # 36 words, below a tenth of what follows


@pytest.mark.parametrize(
    "menu",
    [
        "<li><a href=/{0}>menu {0}</a>",
        "<a href=/{0}>menu {0}</a> | ",
        "<a href=/{0}>menu {0}</a> · ",
        "<div><a href=/{0}><b>menu</b> <span>{0}</span></a></div> &gt; ",
        "<button>menu {0}</button>",
        "<select><option>menu {0}<option>{0}</select>",
    ],
)
@pytest.mark.parametrize("tag", ["nav", "aside", "header", "footer", "div role=navigation"])
def test_a_few_words_beside_a_long_menu_are_judged_without_it(tag: str, menu: str) -> None:
    menus = inside([tag], "".join(map(menu.format, range(250))))
    assert text_of(f"{menus}<p>{OWN}</p>") == text_of(f"<p>{OWN}</p>{menus}") == OWN.strip()


@pytest.mark.parametrize("tag", ["nav", "aside", "header", "footer", "div role=banner"])
@pytest.mark.parametrize("whole", ["<p>{}</p>", "<a name=top>{}</a>", "<article>{}</article>"])
def test_a_text_in_a_wrong_element_is_judged_without_the_menu(tag: str, whole: str) -> None:
    lines = [f"line {number} of the text" for number in range(100)]
    text = whole.format("<p>".join(lines)) + "<a href=/>menu</a>"
    common = f"<p>{OWN}</p>"
    assert text_of(inside([tag], text) + common) == "\n".join([OWN.strip(), *lines])
    # Less than nine times as long as the rest, it is boilerplate as any other.
    short = whole.format("<p>".join(lines[:50])) + "<a href=/>menu</a>"
    assert text_of(inside([tag], short) + common) == OWN.strip()


@given(st.lists(st.sampled_from(["nav", "aside", "header", "main", "article", "a href=/", "a", "p"])))
def test_any_nesting_has_the_words_outside_boilerplate(tags: list[str]) -> None:
    found = text_of(inside(tags, "within " * 300) + ARTICLE).split()
    assert found.count("word") == 30
    assert found.count("within") in (0, 300)


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


def test_nul_bytes_are_skipped() -> None:
    assert Page.from_html(b"<p>a\x00b</p>").text == "ab"


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


def test_one_broken_byte_does_not_change_the_encoding() -> None:
    body = (ZH * 20).encode() + b"\xff" + ZH.encode()
    assert encoding_of(body, "utf-8") == "utf-8"
    assert decode(body, "utf-8").count("\ufffd") == 1


def test_a_page_without_charset_is_guessed_by_its_bytes() -> None:
    assert decode((ZH * 10).encode("gb18030")) == ZH * 10


ENDS = st.sampled_from(
    [b"", b" ", b"\xc2\xa0", b"\xe3\x80\x80", b"\x1c", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"<p>"]
)


@given(
    ENDS,
    st.binary(max_size=30) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")),
    ENDS,
)
def test_the_markup_of_plain_bytes_is_that_of_their_text(
    begin: bytes, middle: bytes, end: bytes
) -> None:
    body = begin + middle + end
    assert markup_in(body, None) == markup_of(decode(body))
