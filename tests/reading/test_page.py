"""What a page has beside its text, the record that it shows, its group, and the form it is stored in."""

import json
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dedup import Page, fingerprint
from dedup.reading import page as page_module
from dedup.reading.page import FORM, UnreadablePage, is_readable, pack, scope_key, unpack
from tests.support.pages import page, text


def test_reads_title_link_language_tags_and_links() -> None:
    found = Page.from_html(
        "<html lang=en-GB><head><title> A \n title </title><link rel='CANONICAL' href=' /c '></head>"
        "<body><a href='/x'>x</a><map><area href=y></map><a>z</a></body></html>"
    )
    assert (found.title, found.canonical_link, found.language) == ("A title", "/c", "en-GB")
    assert found.links == ("/x", "y")
    assert found.tags == ("html", "head", "title", "link", "body", "a", "map", "area", "a")
    assert found.depths == (0, 1, 2, 2, 1, 2, 2, 3, 2)


def test_a_given_tree_is_read_like_its_source_and_not_changed() -> None:
    body = b"<html><body><nav>m</nav><p>text <b>bold</b> tail</p><!-- c --></body></html>"
    root = etree.fromstring(body, etree.HTMLParser())
    before = etree.tostring(root)
    assert Page.from_tree(root, body=body, url="u") == Page.from_html(body, url="u")
    assert etree.tostring(root) == before


@pytest.mark.parametrize("body", [b"", "", b" \n\t", "  "])
def test_an_empty_body_has_no_digest(body: bytes | str) -> None:
    found = Page.from_html(body)
    assert (found.body_digest, found.text, found.tags) == (b"", "", ())


LABELS = st.from_regex(r"[a-z][a-z0-9]{5,8}", fullmatch=True).map(lambda name: f"site-{name}")


def domain(host: str) -> str:
    return scope_key("domain", spider="", url=f"http://{host}:8080/a")


@pytest.mark.parametrize(
    ("scope", "key"),
    [("spider", "news"), ("host", "www.a.example.com"), ("domain", "example.com"), ("global", "")],
)
def test_the_group_of_each_scope(scope: str, key: str) -> None:
    assert scope_key(scope, spider="news", url="http://me:secret@WWW.a.example.com:8080/x") == key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a.example.com", "b.example.com", True),
        ("example.co.uk", "www.example.co.uk", True),
        ("one.co.uk", "two.co.uk", False),
        ("alice.github.io", "evil.github.io", False),
        ("alice.github.io", "www.alice.github.io", True),
        ("alice.github.io", "github.io", False),
        ("alice.blogspot.com", "evil.blogspot.com", False),
        ("127.0.0.1", "127.0.0.2", False),
        ("localhost", "localhost", True),
    ],
)
def test_a_domain_is_what_one_owner_has(one: str, other: str, same: bool) -> None:
    assert (domain(one) == domain(other)) == same


@given(st.sampled_from(["github.io", "co.uk", "example.com", "s3.amazonaws.com"]), *[LABELS] * 3)
def test_a_domain_has_its_subdomains_only(suffix: str, one: str, other: str, below: str) -> None:
    mine, inner, near = map(domain, (f"{one}.{suffix}", f"{below}.{one}.{suffix}", f"{other}.{suffix}"))
    assert (mine, mine == near) == (inner, one == other or suffix == "example.com")


# What a page says of the record that it shows, in the forms of schema.org
PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Shirt"}
SHIRT = PRODUCT | {"sku": "A-1"}
ADVERT = {"@type": "JobPosting", "identifier": "LST/7", "sku": "1"}
RELATED = {"@type": "Product", "sku": "B-2"}


def script(*data: Any, kind: str = "application/ld+json") -> str:
    texts = (one if isinstance(one, str) else json.dumps(one) for one in data)
    return "".join(f'<script type="{kind}">{one}</script>' for one in texts)


@pytest.mark.parametrize(
    ("html", "record"),
    [
        (script(SHIRT), "sku=A-1"),
        (script(PRODUCT | {"sku": 17, "gtin13": "4006381333931"}), "sku=17"),
        (script(PRODUCT | {"gtin13": " 4006381 333931\n"}), "gtin13=4006381 333931"),
        (script(SHIRT, SHIRT | {"gtin": "4"}), "sku=A-1"),
        (script(PRODUCT | {"offers": [{"sku": "A-1-M"}]}), "sku=A-1-M"),
        (script([SHIRT, {"@type": "BreadcrumbList"}]), "sku=A-1"),
        (script({"@graph": [{"@type": "WebSite"}, PRODUCT | {"isbn": "978-3"}]}), "isbn=978-3"),
        (script(SHIRT | {"isRelatedTo": [RELATED]}), "sku=A-1"),
        (script("{ broken", SHIRT), "sku=A-1"),
        (script(SHIRT, kind="Application/LD+JSON; charset=utf-8"), "sku=A-1"),
        ('<b itemprop="name">Shirt</b> <b itemprop="sku">A-1</b>', "sku=A-1"),
        ('<meta itemprop="gtin8 productID" content="4006">', "gtin8=4006"),
        ('<b itemprop="sku">A-1</b>' + script({"@type": "WebSite"}), "sku=A-1"),
        (script(ADVERT), "identifier=LST/7"),
        (script(ADVERT | {"identifier": {"@type": "PropertyValue", "value": 7}}), "identifier=7"),
        # Several records, and what is no id, name none.
        (script(ADVERT | {"@type": "BlogPosting"}), ""),
        (script(ADVERT | {"identifier": [1]}), ""),
        (script(SHIRT, RELATED), ""),
        ('<b itemprop="sku">A-1</b><b itemprop="sku">A-2</b>', ""),
        (script(PRODUCT | {"offers": [{"sku": "A-1-M"}, {"sku": "A-1-L"}]}), ""),
        ('<aside><b itemprop="sku">B-2</b></aside>', ""),
        (script(PRODUCT | {"sku": True}), ""),
        (script(PRODUCT | {"sku": ["A-1"], "mpn": None, "isbn": "", "gtin": "9" * 101}), ""),
        (script("[" * 100_000), ""),
        (script('{"offers":' * 400 + "{}" + "}" * 400), ""),
        ('<div itemprop="sku">' * 1_900 + "<b></b>" * 20_000, ""),
        (script("7", "null", '"sku"', "[[]]", '{"@graph": 1}'), ""),
        (script(SHIRT, kind="text/javascript"), ""),
    ],
    ids=range(28),
)
def test_a_page_names_one_record_or_none(html: str, record: str) -> None:
    whole = f"<html><head><title>Shirt</title></head><body>{html}</body></html>"
    assert Page.from_html(whole).record == record


def test_a_record_is_named_beside_the_language() -> None:
    links = '<link rel="alternate" hreflang="de" href="http://a/de">'
    found = Page.from_html(f'<html lang="de">{links}<b itemprop="sku">A-1</b>', url="http://a/de")
    assert (found.variant, found.record) == ("de", "sku=A-1")
    assert unpack(pack(found)).record == "sku=A-1"


# A page that was packed is judged like the page itself, and damage is said, never raised through
texts = st.text(st.characters(), max_size=60)
BEGINS = ["", "<p class='a b'>", "<div><ul><li><b>", "<nav>menu</nav><p>", "<h1 class>灯塔</h1>"]
htmls = st.builds("<html lang=x><title>{1}</title>{0}{2}".format, st.sampled_from(BEGINS), texts, texts)
pages = htmls.map(lambda html: Page.from_html(html, with_places=True)) | st.builds(Page.from_text, texts)


@given(pages)
def test_a_packed_page_keeps_all_but_its_links(found: Page) -> None:
    again = unpack(pack(found), url=found.url, body_digest=found.body_digest)
    assert again == replace(found, links=(), canonical_link="")
    assert again.places == found.places
    assert fingerprint(again) == fingerprint(found)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_page_or_an_error(damage: bytes) -> None:
    for one in (damage, FORM + damage, FORM + zlib.compress(damage)):
        try:
            assert isinstance(unpack(one), Page)
        except UnreadablePage:
            assert not is_readable(one)


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(place: int, change: int) -> None:
    changed = bytearray(pack(page(text(1))))
    changed[place % len(changed)] ^= change
    try:
        assert unpack(bytes(changed)) == replace(page(text(1)), body_digest=b"")
    except UnreadablePage:
        assert not is_readable(bytes(changed))


NUMBERS = (0, 1, 2, 0, 1, 0, 0)  # of three depths, three tags and a place
FIELDS: dict[str, Any] = dict.fromkeys(["title", "language", "variant", "record"], "t")
FIELDS |= {"inside": None, "tags": ["p", "b"], "places": ["p"]}
WRONG: dict[str, list[object]] = {
    "more": [1],
    "title": [7, ["t"]],
    "inside": [-1, "1", "", True, 1 << 99],
    "tags": [7, ["p"], ["p", 7], [["p"], ["p"]]],
    "places": [[], [7], None],
    "text": [None],
}


def packed(told: object, numbers: Iterable[int] = NUMBERS) -> bytes:
    return FORM + zlib.compress(json.dumps(told).encode() + b"\nt" + array("I", numbers).tobytes())


def test_what_is_packed_here_is_a_page() -> None:
    found = unpack(packed([FIELDS, 3, 1]))
    assert found.text == "t"
    assert (found.tags, found.depths, found.places) == (("p", "b", "p"), (0, 1, 2), ("p",))


@pytest.mark.parametrize(
    ("told", "numbers"),
    [
        *((told, NUMBERS) for told in (None, [], FIELDS, [{"title": "a"}, 3, 1])),
        *(([FIELDS | {name: one}, 3, 1], NUMBERS) for name, all_ in WRONG.items() for one in all_),
        *(([FIELDS, count, 1], NUMBERS) for count in (-1, True, 1.0, "3", 5, 1 << 99)),
        *(([FIELDS, 3, size], NUMBERS) for size in (-28, -1, True, 1.0, "1", 1 << 99)),
        *(([FIELDS, 3, 1], numbers) for numbers in ((), (0, 1), (*NUMBERS, 1), (1 << 28, *NUMBERS[1:]))),
    ],
)
def test_what_cannot_be_a_page_is_refused(told: object, numbers: Iterable[int]) -> None:
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(packed(told, numbers))


def test_what_need_not_be_small_is_the_same_page() -> None:
    whole, small = pack(page(text(1)), is_small=False), pack(page(text(1)))
    assert (unpack(whole), whole[1:]) == (unpack(small), zlib.compress(zlib.decompress(whole[1:]), 0))
    assert len(small) < len(whole)


def test_bytes_behind_the_end_later_forms_and_too_much_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pack(page(text(1)))
    for stored, said in ((whole + b"a", "bytes after"), (bytes([FORM[0] + 1]) + whole[1:], "release")):
        with pytest.raises(UnreadablePage, match=said):
            unpack(stored)
    monkeypatch.setattr(page_module, "LIMIT", 100)
    assert pack(page(text(1))) == b""
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(whole)
