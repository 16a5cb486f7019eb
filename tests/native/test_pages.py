"""The compiled code gives what the plain definitions give, whatever the page."""

import random
import sys
import threading
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from dedup import Page, fingerprint, native
from dedup.model.hashes import hashes_of
from dedup.native import _pages
from dedup.prints.fingerprinter import RUN, WEIGHTS_BY_DEPTH
from dedup.reading.markup import BOILERPLATE, CONTROLS, DOCUMENTS, INLINE, INVISIBLE, TEXTS, reading_of
from dedup.reading.tokens import tokens
from tests.laws.test_pages import MARKUP, texts
from tests.oracle.prints import kind_of, print_of, token_lines
from tests.oracle.walk import Walk, check_places
from tests.support.budget import examples

SPACES = [chr(code) for code in range(sys.maxunicode) if chr(code).isspace()]

# Whatever the rules of tokens speak of, and what is beside it.
PARTS = [
    *"a Z z 0 9 -1 19 127- _ . , : - < > + # | \\ @ ~ I/O C++ 1.5 10:30 1,000.50 .5 5. \u0661.\u0662 \xe9".split(),
    *"\xc9 \u039f\u0394\u03a3 \u03a3 \u0130 \u212a \u212b \xdf \u1e9e \u6c49\u5b57".split(),
    *"\u6b66\u6c49\u5927\u5b66 \u3005 \uf900 \U00020000 \u3042 \u30ab\u30ca \uff76 \uff9e".split(),
    *"\u6771\u4eac\u30bf\u30ef\u30fc \u306e \ud55c\uad6d\uc5b4 \u1100\u1161".split(),
    *"\u0e20\u0e32\u0e29\u0e32 \u0627\u0644\u0639\u0640\u064e e\u0301 \u0301 \ufe0f".split(),
    *"\u2764\ufe0f \u200d \U0001f600 \u20e3 \u2122 \u2460 \uff21\uff22 \uff0b \uff0e".split(),
    *"2024 12:30pm ss61 3fa9c0de \u5e74 \uff11\uff0e\uff12 \ufb01 \xbd \ufdfa \u3392 \u33a5 \ufeff \xad \ud800 \U00016d67".split(),
    *(" ", "\n", "A ", " B", "\u3000", "\xa0", "\x1e", "\x1f", "\x85", "\u2028"),
]
texts_of_parts = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
all_texts = texts_of_parts | texts | st.text(st.characters(), max_size=80)


def check_fold(page: Page) -> None:
    assert astuple(fingerprint(page)) == astuple(print_of(page))


@given(all_texts)
@settings(max_examples=examples(400))
@example("A b C d")
@example("| + #")
@example("\u6771\u4eac\u306e\u5929\u6c17 \u3042 \u6c49\u5b57")
@example("\u0391\u03a3'\u0392 \u0391\u03a3 \u03a3 \u0391\u03a31 A\u03a3\u0640\u0392")
@example("\u2764\ufe0f" * 300)
@example("e\u0301\u0323" * 300)
def test_a_text_is_folded_as_defined(text: str) -> None:
    check_fold(Page.from_text(text))
    assert tokens(text) == [token for line in token_lines(text) for token in line]


@pytest.mark.slow
@pytest.mark.nightly
def test_every_character_is_taken_as_defined() -> None:
    every = [chr(code) for code in range(0x110000)]
    for start in range(0, len(every), 40):
        part = every[start : start + 40]
        text = " ".join(f"{one} b{one} {one}c A{one}B 1{one}2 \u6c49{one} 1.{one} x" for one in part)
        assert tokens(text) == [token for line in token_lines(text) for token in line], hex(start)


@given(st.text(st.sampled_from("019aAfgz_.,:#\xe9\u6c49")) | st.integers(0, 2100).map(str))
def test_the_kind_of_a_token(token: str) -> None:
    assert _pages.kind_of(token) == kind_of(token)


ADDRESSES = ["https://a.example/7?b=c", "http://other.example/x"]
AROUND = [*"a9 \n,)(\xe9\u6c49\x02", "see ", "\n12 ", "| ", *ADDRESSES]


@given(st.lists(st.sampled_from(AROUND), max_size=30))
@settings(max_examples=examples(400))
def test_no_pair_is_taken_of_an_own_address(parts: list[str]) -> None:
    check_fold(replace(Page.from_text("some words\n" + "".join(parts)), url="http://a.example/print"))


def test_a_word_in_thousands_weighs_as_defined() -> None:
    check_fold(Page.from_text("word " * 5000 + "\u6c49\u5b57 " * 4500 + "other"))


TAGS = sorted(
    {"area", "p", "o:p", "link", "head", "h1", "html", "img", "noscript", "svg", "template"}
    | {*sorted(INLINE)[:4]}.union(BOILERPLATE, TEXTS, INVISIBLE, DOCUMENTS, CONTROLS)
)
NAMES = "href class role rel lang hreflang id alt srcdoc shadowrootmode".split()
VALUES = ["", "x", " a  b ", "navigation", "Main Search", "canonical", "alternate CANONICAL"]
VALUES += ["\xe9 " * 20]
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=3)
words = st.sampled_from(
    [
        *("", " ", "\x1c", "one two", "\u6c49\u5b57 \u3000", "\xa0", "many words " * 12, "\u0301"),
        *("a <p>b</p>", "<script>if (a < b) {}</script> of &eacute; &amp; &#0;&#30;", "x <b" * 15),
        *("<!--c-->", "<?pi x?>"),
    ]
)
nodes: Any = st.recursive(
    words,
    lambda inner: st.tuples(st.sampled_from(TAGS), ATTRIBUTES, st.lists(inner, max_size=5)),
    max_leaves=30,
)


def built(node: Any, parent: Any) -> None:
    """Put *node* behind what *parent* has, as it is: parsers make no such trees of every markup."""
    if isinstance(node, tuple):
        tag, attributes, inner = node
        element = etree.SubElement(parent, "{urn:o}p" if ":" in tag else tag, attributes)
        for one in inner:
            built(one, element)
    elif node.startswith(("<!", "<?")):
        parent.append(etree.Comment("hidden") if "!" in node else etree.ProcessingInstruction("pi", "x"))
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + node.replace("\x1c", " ")
    else:
        parent.text = (parent.text or "") + node.replace("\x1c", " ")


def check_walk(root: Any) -> None:
    found = reading_of(root, with_places=True)
    assert found == Walk(root).reading()
    check_places(found)


@given(st.lists(nodes, max_size=6), st.sampled_from(["html", "nav", "article", "svg", "p"]), ATTRIBUTES)
@settings(max_examples=examples(400))
def test_a_tree_is_walked_as_defined(inner: list[Any], tag: str, attributes: dict[str, str]) -> None:
    root = etree.Element(tag, attributes)
    for node in inner:
        built(node, root)
    for element in root.iter(etree.Element):
        check_walk(element)


markup = st.lists(st.sampled_from([*MARKUP, *(f"<{it}>" for it in TAGS), *(f"</{it}>" for it in TAGS)]))


@given(markup.map("".join))
@settings(max_examples=examples(300))
def test_any_markup_is_read_and_folded_as_defined(text: str) -> None:
    root = etree.fromstring(f"<html>{text}", etree.HTMLParser(recover=True, huge_tree=True))
    if root is not None:
        check_walk(root)
        check_fold(Page.from_tree(root, body=text.encode()))


@pytest.mark.parametrize(
    "markup",
    [
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a href='&b;x'>t &b; u<a href='&b;'>v</a></a>",
        "<a xmlns='urn:x'><b/></a>",
        "<html xmlns:o='urn:o'><o:p>a <b>word</b></o:p><p o:role='navigation' role='main'>x</p></html>",
        "<a><![CDATA[one <two>]]> three</a>",
        "<a><?php x?>one<!-- -->two</a>",
        "<a/>",
        "<a> </a>",
    ],
)
@pytest.mark.parametrize("resolves", [True, False])
def test_trees_of_xml_are_walked_as_defined(markup: str, *, resolves: bool) -> None:
    root = etree.fromstring(markup, etree.XMLParser(resolve_entities=resolves))
    check_walk(root)
    check_fold(Page.from_tree(root, body=b"x"))


def test_deep_wide_and_many_named_trees_are_walked_as_defined() -> None:
    deep, names, wide = (etree.Element("html") for _ in range(3))
    bottom = deep
    for _ in range(1500):
        bottom = etree.SubElement(bottom, "div", {"class": "x"})
    bottom.text = "the bottom"
    for number in range(600):
        etree.SubElement(names, f"x{number}").text = str(number)
    for _ in range(5_000):
        etree.SubElement(wide, "br").tail = "word"
    for root in (deep, names, wide):
        check_walk(root)
        check_fold(Page.from_tree(root, body=b"x"))


def test_depths_and_tags_that_are_none_are_refused() -> None:
    weights = np.array(WEIGHTS_BY_DEPTH, "int32")
    wrong: Any
    for wrong in ((("a",), (2**40,)), (("a",), (-1,)), (("a",), ()), ((b"a",), (1,)), (("a",), ("b",))):
        with pytest.raises((ValueError, OverflowError, TypeError, AttributeError)):
            _pages.structure(wrong[0], wrong[1], weights, RUN)


def shown(text: str) -> Any:
    root = etree.Element("p")
    root.text = "".join(char for char in text if char.isprintable() or char in "\t\n\x85\u2028\u3000")
    return root


@given(st.text(st.characters() | st.sampled_from(SPACES)))
@example("".join(f"a{space}b{space}" for space in SPACES))
@example("\ud800 \xe2\x80 \u2028\u2009’ \u3000語")
def test_white_space_is_single_spaces(text: str) -> None:
    assert _pages.spaced(text) == " ".join(text.split()).encode("utf-8", "surrogatepass")
    check_walk(shown(text))


def test_a_dictionary_may_make_more_of_a_text() -> None:
    sizes = {"shingle": 4, "one_in": 4, "most_sampled": 1024, "most_pairs": 1024}

    def content(words: list[Any]) -> Any:
        return _pages.Content(lambda _: words, lambda hashes: np.ones(len(hashes)), **sizes)

    untitled = np.array([], np.uint64), np.array([], np.uint32)
    _, _, count, *_ = content(["\u6c49" * 3000, "\n", "\u6c49" * 20])("\u6c49\u5b57 a \u6c49", *untitled)
    assert count == 3
    with pytest.raises(TypeError):
        content([b"x"])("\u6c49\u5b57 a", *untitled)


def test_texts_that_crowd_a_table_take_no_longer() -> None:
    """Words whose hashes end alike: in a table that is known they would take quadratic time."""
    rng = random.Random(3)
    words = [f"{rng.getrandbits(40):x}" for _ in range(400_000)]
    alike = [word for word, h in zip(words, hashes_of(words).tolist(), strict=True) if h % 512 == 0]
    assert len(alike) > 600
    check_fold(Page.from_text(" ".join(alike)))


def test_threads_do_not_disturb_each_other() -> None:
    """The dictionary of Chinese words lets other threads in, in the middle of a page."""
    pages = [Page.from_text(f"\u6b66\u6c49\u5927\u5b66{n} " * 200 + f"w{n}") for n in range(40)]
    expected = [fingerprint(page) for page in pages]
    wrong: list[int] = []

    def run() -> None:
        for _ in range(10):
            wrong.extend(n for n, page in enumerate(pages) if fingerprint(page) != expected[n])

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert wrong == []


def test_what_was_not_built_of_these_sources_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match="_pages was built of other sources; install the package"):
        native.check("0" * 32)
    with pytest.raises(ImportError, match=r"_none is not built for Python 3[\d.]+; install the package"):
        native.require("dedup.native._none")
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(ImportError, match="the lowest byte of a number first"):
        native.check(native.digest_of_source())
