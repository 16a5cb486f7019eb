"""What a reader or a selector sees of a page is what is judged, however sloppy the page is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsel import Selector

from dedup import Detector, MemoryIndex, Page, compare
from dedup.model.verdict import Reason
from dedup.reading.markup import MAX_DEPTH, Excess
from dedup.reading.walk import BOILERPLATE, FALLBACKS, INVISIBLE, MIN_FALLBACK_WORDS, MIN_SHOWN_WORDS
from tests.pages import text
from tests.shapes import BEGIN, NOTICE, SHAPES, shaped

OWN = 240
TAGS = [
    "html",
    "head",
    "body",
    "p",
    "b",
    "div",
    "td",
    "table",
    "title",
    "main",
    "svg",
    "text",
    "frameset",
    "x-y",
]
markup = st.lists(
    st.sampled_from(
        [*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "</html>", "</html>", "<!-- -->"]
        + ["<script>no</script>", "<!DOCTYPE html>", "<?x y>", "<br/>"]
        + [f" word{number} " for number in range(9)]
    ),
    max_size=30,
).map("".join)
SEEN = "//text()[not(ancestor::script or ancestor::title or ancestor::style)]"


def both_doors(html: str) -> list[Page]:
    """Return the page of *html*, and that of the tree that Scrapy makes of it."""
    root = Selector(text=html, type="html").root
    return [Page.from_html(html), Page.from_tree(root, body=html.encode())]


def check_nothing_is_missed(html: str) -> None:
    selector = Selector(text=html, type="html")
    seen = set(re.findall(r"word\d", " ".join(selector.xpath(SEEN).getall())))
    for page in both_doors(html):
        assert seen <= set(re.findall(r"word\d", page.text))


@given(markup)
def test_what_selectors_see_is_read(html: str) -> None:
    check_nothing_is_missed(html)


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_with_words_of_their_own_are_kept(shape: str) -> None:
    with MemoryIndex() as index, Detector(index) as detector:
        for number in range(6):
            html = shaped(shape, text(number, OWN))
            for door, page in enumerate(both_doors(html)):
                verdict = detector.check(page.at(f"http://a/{door}/{number}", html))
                assert verdict.reason is (Reason.EXACT_DUPLICATE if door else Reason.NEW)
                if page.excess is None:
                    assert set(text(number, OWN).split()) <= set(page.text.split())


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "too deep"])
def test_a_copy_of_a_sloppy_page_is_found(shape: str) -> None:
    one, other = (Page.from_html(shaped(shape, text(1, OWN) + end)) for end in ("", " more"))
    assert compare(one, other).reason is Reason.NEAR_DUPLICATE


def notice(tag: str, words: int) -> str:
    return f"<{tag}>{'enable ' * words}</{tag}>"


@pytest.mark.parametrize("tag", sorted(FALLBACKS))
def test_a_fallback_is_text_beside_text_if_it_is_more_than_a_notice(tag: str) -> None:
    shown = "<p>" + "word " * MIN_SHOWN_WORDS
    assert "enable" not in Page.from_html(shown + notice(tag, MIN_FALLBACK_WORDS - 1)).text
    assert Page.from_html(shown + notice(tag, MIN_FALLBACK_WORDS)).text.split()[-1] == "enable"
    little = "<p>" + "word " * (MIN_SHOWN_WORDS - 1)
    assert "enable" not in Page.from_html(little + notice(tag, MIN_FALLBACK_WORDS)).text


@pytest.mark.parametrize("words", [8, 38, 60])
def test_shells_that_ask_for_scripts_are_no_copies_of_each_other(words: int) -> None:
    one, other = (
        Page.from_html(f"<body><div id=app></div>{notice('noscript', words)}<script>x({n})</script>")
        for n in range(2)
    )
    assert compare(one, other).reason is Reason.NEW


def test_all_roots_of_a_document_are_read_but_only_the_part_that_is_asked_for() -> None:
    root = Selector(text="<!-- --><html><body><p>one</p></html>two<p>three", type="html").root
    assert Page.from_tree(root, body=b"").text.split() == ["one", "two", "three"]
    (part,) = root.xpath("//body")[:1]
    assert Page.from_tree(part, body=b"").text == "one"


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
@pytest.mark.parametrize("begin", ["<html><body>", "<html><body></html><html><body>"])
def test_a_page_that_the_parser_may_have_given_up_on_is_not_read(depth: int, begin: str) -> None:
    html = begin + "<div>" * (depth - 2) + "<p>bottom"
    for page in both_doors(html):
        assert page.excess == (Excess.DEPTH if depth > MAX_DEPTH else None)
        assert ("bottom" in page.text) == (depth <= MAX_DEPTH)


@pytest.mark.parametrize("tag", ["b", "i", "svg", "x-y", "span", "object"])
def test_whatever_the_parser_leaves_out_below_is_noticed(tag: str) -> None:
    for levels in (2040, 2048, 2060, 9000):
        for page in both_doors(BEGIN + f"<{tag}>" * levels + "the bottom" + NOTICE):
            assert page.excess is Excess.DEPTH


@pytest.mark.parametrize(
    "odd",
    [
        "\0",
        "".join(map(chr, range(1, 32))),
        "\x7f\x80\x9f\ufeff\ufffe\uffff\U0010ffff\ud800",
        "&#0;&#1;&#xd800;&#x110000;&#99999999999999999999;&;&#;&#x;&amp",
        "&" + "a" * 70_000 + ";",
        "<meta charset=utf-16>\xe9",
        "<meta http-equiv=content-type content='text/html; charset=gb2312'>\u6c49",
        "<?xml version='1.0' encoding='utf-32'?>",
        "<!DOCTYPE html [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]>&c;",
        "<![CDATA[x]]><!x><!-><!--><!---><!-- --!></ ></><1><$a>",
        "<a" + "b" * 70_000 + ">",
        "<a " + "b" * 70_000 + ">",
        "<x:y z:a=1 xmlns='&#0;'>",
        "<base href='http://['><isindex><frame><frameset></frameset>",
        "</body></html></p></td></html>",
    ],
)
def test_nothing_in_the_middle_of_a_page_hides_the_rest(odd: str) -> None:
    html = f"{BEGIN}<p>before</p>{odd}<p>{text(1)}</p>"
    for page in both_doors(html) if "\ud800" not in odd else [Page.from_html(html)]:
        assert set(text(1).split()) <= set(page.text.split())


def test_words_of_the_page_frame_are_no_fallbacks() -> None:
    assert not FALLBACKS & (INVISIBLE | BOILERPLATE)


def test_markup_in_an_inner_frame_takes_time_in_proportion_to_its_size() -> None:
    for part in ("<", "<script", "<script>", "<a b", "&", "<style><", "</script"):
        assert Page.from_html(f"<p>some words of a page<iframe>{part * 60_000}</iframe>").body_digest
