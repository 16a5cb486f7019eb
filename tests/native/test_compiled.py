"""The compiled code gives what Python gives, or leaves the page to Python."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from dedup import DedupConfig, Page, __version__, fingerprint, native
from dedup.algorithms.features import RUN, weights_by_depth
from dedup.cli import main
from dedup.native import MODULES, digest_of
from dedup.prints.fingerprinter import Folding, _frequencies, fingerprint_in_python, folding
from dedup.reading import floods
from dedup.reading.compiled import BLOCK, TRIAL, any_described, described, reading_of
from dedup.reading.places import _placed, _step
from dedup.reading.tokens import MOST_MARKS, is_mark, tokens
from dedup.reading.walk import BOILERPLATE, DOCUMENTS, INLINE, INVISIBLE, TEXTS, Walk
from tests.budget import examples
from tests.fuzz.test_pages import MARKUP, texts

compiled = pytest.importorskip("dedup.native._pages", reason="it was not built")
pytestmark = pytest.mark.skipif(native.pages() is None, reason=native.why_not("_pages"))

# Whatever the rules of tokens speak of, and what is beside it.
PARTS = [
    *"aZz09_.,:- \n<>+#|\\@~",
    *("A ", " B", "I/O", "C++", "1.5", "10:30", "1,000.50", ".5", "5.", "\u0661.\u0662"),
    *("\xe9", "\xc9", "\u039f\u0394\u03a3", "\u03a3", "\u0130", "\u212a", "\u212b", "\xdf", "\u1e9e"),
    *("\u6c49\u5b57", "\u6b66\u6c49\u5927\u5b66", "\u3005", "\uf900", "\U00020000"),
    *("\u3042", "\u30ab\u30ca", "\uff76", "\uff9e", "\u6771\u4eac\u30bf\u30ef\u30fc", "\u306e"),
    *(
        "\ud55c\uad6d\uc5b4",
        "\u1100\u1161",
        "\u0e20\u0e32\u0e29\u0e32",
        "\u0627\u0644\u0639\u0640\u064e",
    ),
    *(
        "e\u0301",
        "\u0301",
        "\ufe0f",
        "\u2764\ufe0f",
        "\u200d",
        "\U0001f600",
        "\u20e3",
        "\u2122",
        "\u2460",
    ),
    *(
        "\uff21\uff22",
        "\uff0b",
        "\uff0e",
        "\uff11\uff0e\uff12",
        "\ufb01",
        "\xbd",
        "\ufdfa",
        "\u3392",
        "\u33a5",
    ),
    *("\u3000", "\xa0", "\x1e", "\x1f", "\x85", "\u2028", "\ufeff", "\xad", "\ud800", "\U00016d67"),
]
texts_of_parts = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
all_texts = texts_of_parts | texts | st.text(st.characters(), max_size=80)
DEFAULT = DedupConfig()


def folded(config: DedupConfig = DEFAULT) -> Folding:
    found = folding(config)
    assert found is not None
    return found


def check_fold(page: Page) -> None:
    found = folded()(page)
    expected = fingerprint_in_python(page)
    assert found is None or astuple(found) == astuple(expected)
    assert astuple(fingerprint(page)) == astuple(expected)


@given(all_texts)
@settings(max_examples=examples(400))
@example("A b C d")
@example("| + #")
@example("\u6771\u4eac\u306e\u5929\u6c17 \u3042 \u6c49\u5b57")
def test_a_text_is_folded_as_by_python(text: str) -> None:
    check_fold(Page.from_text(text))


def kinds() -> dict[str, int]:
    found = {}
    for block in range(0x110000 // BLOCK):
        for place, (kind, _, _) in enumerate(described(block, compiled)):
            found[chr(block * BLOCK + place)] = kind
    return found


def test_han_and_syllables_are_described_as_any_character_is() -> None:
    for block in (*range(0x4E, 0xA0), *range(0xAC, 0xD8)):
        characters = map(chr, range(block * BLOCK, (block + 1) * BLOCK))
        assert list(described(block, compiled)) == [any_described(one, compiled) for one in characters]


@pytest.mark.slow
@pytest.mark.nightly
def test_every_character_that_is_not_strange_is_taken_as_python_takes_it() -> None:
    kept = [character for character, kind in kinds().items() if kind != compiled.STRANGE]
    assert len(kept) > 200_000
    fold = folded()
    for start in range(0, len(kept), 40):
        part = kept[start : start + 40]
        text = " ".join(f"{one} b{one} {one}c A{one}B 1{one}2 \u6c49{one} 1.{one} x" for one in part)
        page = Page.from_text(text)
        found = fold(page)
        if found is None:
            assert any(map(is_mark, text[MOST_MARKS::MOST_MARKS])), text
            continue
        assert found.tokens == len(tokens(text)), text
        assert astuple(found) == astuple(fingerprint_in_python(page)), text


# ---- The walk

TAGS = sorted(
    BOILERPLATE
    | TEXTS
    | set(sorted(INLINE)[:4])
    | INVISIBLE
    | DOCUMENTS
    | {"a", "area", "p", "o:p"}
    | {"link", "head", "button", "h1", "html", "img", "noscript", "svg", "template"}
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(
        ["href", "class", "role", "rel", "lang", "hreflang", "id", "alt", "srcdoc", "shadowrootmode"]
    ),
    st.sampled_from(
        [
            "",
            "x",
            " a  b ",
            "navigation",
            "Main Search",
            "canonical",
            "alternate CANONICAL",
            "\xe9 " * 20,
        ]
    ),
    max_size=3,
)
words = st.sampled_from(
    [
        *("", " ", "\x1c", "one two", "\u6c49\u5b57 \u3000", "\xa0", "many words " * 12, "\u0301"),
        *("a <p>b</p>", "<script>if (a < b) {}</script> of &eacute; &amp; &#0;&#30;", "x <b" * 15),
    ]
)
nodes: Any = st.recursive(
    words | st.just("<!--c-->") | st.just("<?pi x?>"),
    lambda inner: st.tuples(st.sampled_from(TAGS), ATTRIBUTES, st.lists(inner, max_size=5)),
    max_leaves=30,
)


def built(node: Any, parent: Any) -> None:
    """Put *node* behind what *parent* has, as it is: parsers make no such trees of every markup."""
    if isinstance(node, tuple):
        tag, attributes, inner = node
        element = etree.SubElement(parent, "p" if ":" in tag else tag, attributes)
        for one in inner:
            built(one, element)
    elif node.startswith(("<!", "<?")):
        parent.append(etree.Comment("hidden") if "!" in node else etree.ProcessingInstruction("pi", "x"))
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + node.replace("\x1c", " ")
    else:
        parent.text = (parent.text or "") + node.replace("\x1c", " ")


def check_walk(root: Any) -> None:
    expected = tuple(Walk(root).reading())
    found = compiled.read(root)
    assert found is None or found == expected
    assert tuple(reading_of(root)) == expected
    placed = compiled.placed(root, _step)
    assert placed is None or placed == list(_placed(root))


@given(st.lists(nodes, max_size=6), st.sampled_from(["html", "nav", "article", "svg", "p"]), ATTRIBUTES)
@settings(max_examples=examples(400))
def test_a_tree_is_walked_as_by_python(inner: list[Any], tag: str, attributes: dict[str, str]) -> None:
    root = etree.Element(tag, attributes)
    for node in inner:
        built(node, root)
    check_walk(root)
    for element in root.iter(etree.Element):
        check_walk(element)


markup = st.lists(
    st.sampled_from([*MARKUP, *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS)])
)


@given(markup.map("".join))
@settings(max_examples=examples(300))
def test_any_markup_is_read_and_folded_as_by_python(text: str) -> None:
    root = etree.fromstring(f"<html>{text}", etree.HTMLParser(recover=True, huge_tree=True))
    if root is not None:
        check_walk(root)
        check_fold(Page.from_tree(root, body=text.encode()))


@pytest.mark.parametrize(
    "markup",
    [
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a href='&b;x'>t &b; u</a>",
        "<a xmlns='urn:x'><b/></a>",
        "<a><![CDATA[one <two>]]> three</a>",
        "<a><?php x?>one<!-- -->two</a>",
        "<a/>",
        "<a> </a>",
    ],
)
@pytest.mark.parametrize("resolves", [True, False])
def test_trees_of_xml_are_walked_as_by_python(markup: str, *, resolves: bool) -> None:
    check_walk(etree.fromstring(markup, etree.XMLParser(resolve_entities=resolves)))


def test_deep_wide_and_many_named_trees_are_walked_as_by_python() -> None:
    deep = etree.Element("html")
    for _ in range(3000):
        deep = etree.SubElement(deep, "div", {"class": "x"})
    deep.text = "the bottom"
    names = etree.Element("html")
    for number in range(600):
        etree.SubElement(names, f"x{number}").text = str(number)
    wide = etree.Element("html")
    for _ in range(20_000):
        etree.SubElement(wide, "br").tail = "word"
    for root in (deep.getroottree().getroot(), names, wide):
        check_walk(root)
        check_fold(Page.from_tree(root, body=b"x"))


def test_depths_and_tags_that_are_none_are_left_to_python() -> None:
    weights = weights_by_depth().astype("int32")
    for tags, depths in ((("a",), (2**40,)), (("a",), (-1,)), (("a",), ()), ((b"a",), (1,))):
        assert compiled.structure(tags, depths, weights, RUN) is None


QUOTES = st.sampled_from(
    ["=", '"', "'", ">", "<", "<a", "<1", "<_", "a", " ", "\n", "\v", "=\f'", '= "', "x" * 40]
)


@given(st.lists(QUOTES, max_size=60).map("".join), st.integers(0, 60))
@settings(max_examples=examples(500))
def test_long_tags_are_found_as_by_python(markup: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floods, "LONG_TAG", longest)
        expected = floods.may_have_long_tag_in_python(markup.encode())
        assert floods.may_have_long_tag(markup.encode()) == expected


def content(segment: Any, **changes: int) -> Any:
    numbers = {"shingle": 4, "bins": 256}
    return compiled.Content(
        segment,
        _frequencies,
        **numbers | {"one_in": 4, "most_sampled": 1024, "most_pairs": 1024} | changes,
    )


def test_a_dictionary_that_makes_more_of_a_text_is_not_believed() -> None:
    fold = content(lambda _: ["\u6c49" * 3000, "\n", "\u6c49" * 20])
    assert fold("\u6c49" * 5 + " words " * 5000 + "\u6c49") is None
    assert content(lambda text: [text[:1], "", text])("\u6c49\u5b57 a") is None
    assert content(lambda _: [b"x"])("\u6c49\u5b57 a") is None


# ---- Whether it is used


def test_texts_that_crowd_a_table_are_left_to_python() -> None:
    """Words whose hashes end alike: a table without a bound would take quadratic time."""
    from dedup.model.hashes import hashes_of

    rng = random.Random(3)
    words = [f"{rng.getrandbits(40):x}" for _ in range(400_000)]
    hashes = hashes_of(words)
    alike = [word for word, hash_ in zip(words, hashes.tolist(), strict=True) if hash_ % 512 == 0]
    assert len(alike) > 600
    check_fold(Page.from_text(" ".join(alike)))
    assert folded()(Page.from_text(" ".join(alike[:250]))) is None


def test_threads_do_not_disturb_each_other() -> None:
    """The dictionary of Chinese words lets other threads in, in the middle of a page."""
    fold = folded()
    pages = [
        Page.from_text(f"\u6b66\u6c49\u5927\u5b66{number} " * 200 + f"w{number}") for number in range(40)
    ]
    expected = [fold(page) for page in pages]
    wrong: list[int] = []

    def run() -> None:
        for _ in range(10):
            wrong.extend(n for n, page in enumerate(pages) if fold(page) != expected[n])

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


def status(code: str = "", **environment: str) -> str:
    script = f"{code}\nfrom dedup import Page, fingerprint, native\nfingerprint(Page.from_html('<p>a'))\nprint(native.status())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_it_says_which_code_runs() -> None:
    assert status(DEDUP_PURE="") == "compiled"
    assert status(DEDUP_PURE="1") == "pure Python: DEDUP_PURE is set"


def test_the_version_says_it() -> None:
    shown = CliRunner().invoke(main, ["--version"]).output
    assert shown == f"scrapy-dedup, version {__version__}, {native.status()}\n"


def test_a_part_that_was_built_of_other_sources_is_not_used() -> None:
    code = "import dedup.native as n; of = n.digest_of; n.digest_of = lambda name: of(name)[1:]"
    assert "built from other sources" in status(code, DEDUP_PURE="")


def test_a_part_that_gives_something_else_is_not_used() -> None:
    for fault in (
        "walk.MIN_MAIN_WORDS = 1000",
        "walk.INLINE = walk.INLINE | {'p'}",
    ):
        code = f"import dedup.reading.compiled as c, dedup.reading.walk as walk; {fault}"
        assert "otherwise than Python does" in status(code, DEDUP_PURE=""), fault
    code = "import dedup.algorithms.sketch as sketch; sketch._VALUES = 254"
    assert "otherwise than Python does" in status(code, DEDUP_PURE="")


def test_what_cannot_be_loaded_is_not_used() -> None:
    code = "import dedup.native as n; n.digest_of = lambda name: open('missing.h')"
    assert "it cannot be loaded (FileNotFoundError" in status(code, DEDUP_PURE="")


def test_an_unknown_parser_is_left_alone() -> None:
    code = "from lxml import etree; etree.LIBXML_VERSION = (3, 0, 0)"
    assert status(code, DEDUP_PURE="") == "pure Python: it was not tried with libxml2 3.0.0"


def test_all_sources_are_there() -> None:
    assert all(len(digest_of(name)) == 32 for name in MODULES)
    assert set(MODULES) == {path.stem for path in Path(native.__file__).parent.glob("*.pyx")}


def test_the_trial_has_something_of_everything() -> None:
    root = etree.fromstring(TRIAL, etree.HTMLParser())
    reading = Walk(root).reading()
    assert all((*reading[:7], reading.alternates, reading.told))
    assert reading.inside is None
    assert "three" not in reading.text.split("\n")[0]
    assert folded()(Page.from_html(TRIAL)) is not None
