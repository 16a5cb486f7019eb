"""A page that was packed is judged like the page itself, and damage is said, never raised through."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Page, fingerprint
from dedup.reading import stored
from dedup.reading.stored import FORM, UnreadablePage, is_readable, pack, unpack
from dedup.recipes.config import STRUCTURES
from tests.pages import page, text

texts = st.text(st.characters(), max_size=60)
pages = st.builds(
    lambda html, title, body: Page.from_html(f"<html lang='x'><title>{title}</title>{html}{body}"),
    st.sampled_from(
        ["", "<p class='a b'>", "<div><ul><li><b>", "<nav>menu</nav><p>", "<h1 class>灯塔</h1>"]
    ),
    texts,
    texts,
) | st.builds(Page.from_text, texts)


@given(pages, st.sampled_from(STRUCTURES))
def test_a_packed_page_keeps_all_but_its_links(found: Page, structure: str) -> None:
    again = unpack(
        pack(found),
        url=found.url,
        body_digest=found.body_digest,
        canonical_link=found.canonical_link,
    )
    assert again == replace(found, links=())
    config = DedupConfig(structure=structure)
    assert fingerprint(again, config) == fingerprint(found, config)


def test_the_text_may_stand_in_the_json() -> None:
    fields = ["one two\nthree", "title", "en", ["p"], [0], [["p", "a"]]]
    found = unpack(FORM + zlib.compress(json.dumps(fields).encode()))
    assert found == unpack(pack(found)) != unpack(pack(replace(found, text="")))
    assert found.text == "one two\nthree"


@given(st.binary(max_size=80))
def test_any_bytes_are_a_page_or_an_error(damage: bytes) -> None:
    for packed in (damage, FORM + damage, FORM + zlib.compress(damage)):
        try:
            assert isinstance(unpack(packed), Page)
        except UnreadablePage:
            assert not is_readable(packed)


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(place: int, change: int) -> None:
    packed = bytearray(pack(page(text(1))))
    packed[place % len(packed)] ^= change
    try:
        assert unpack(bytes(packed)) == replace(page(text(1)), body_digest=b"")
    except UnreadablePage:
        assert not is_readable(bytes(packed))


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {"text": "a"},
        ["a", "", "", ["p"], [], []],
        ["a", "", "", ["p"], [-1], []],
        ["a", "", "", ["p"], [1 << 40], []],
        ["a", "", "", ["p"], [True], []],
        ["a", "", "", ["p"], [0.5], []],
        ["a", "", "", [7], [0], []],
        [None, "", "", [], [], []],
        ["a", "", "", [], [], [["p"]]],
        ["a", "", "", [], [], ["pq"]],
        ["a", "", "", [], [], [["p", 1]]],
        ["a", "", "", 3, 3, 3],
    ],
)
def test_what_cannot_be_a_page_is_refused(fields: object) -> None:
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(FORM + zlib.compress(json.dumps(fields).encode()))


def test_a_later_form_is_refused() -> None:
    with pytest.raises(UnreadablePage, match="this release"):
        unpack(b"\x02" + pack(page("a b"))[1:])


def test_a_page_that_would_unpack_to_too_much_is_neither_packed_nor_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = pack(page(text(1)))
    monkeypatch.setattr(stored, "LIMIT", 100)
    assert pack(page(text(1))) == b""
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(packed)


def test_a_page_of_just_as_many_bytes_as_may_be_is_packed_and_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = pack(page(text(1)))
    monkeypatch.setattr(stored, "LIMIT", len(zlib.decompress(packed[1:])))
    assert pack(page(text(1))) == packed
    assert unpack(packed).text == page(text(1)).text
