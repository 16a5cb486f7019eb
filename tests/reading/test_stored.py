"""A page that was packed is judged like the page itself, and damage is said, never raised through."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.reading import page as stored
from dedup.reading.page import FORM, UnreadablePage, is_readable, pack, unpack
from tests.pages import page, text

texts = st.text(st.characters(), max_size=60)
pages = st.builds(
    lambda html, title, body: Page.from_html(
        f"<html lang='x'><title>{title}</title>{html}{body}", with_places=True
    ),
    st.sampled_from(
        ["", "<p class='a b'>", "<div><ul><li><b>", "<nav>menu</nav><p>", "<h1 class>灯塔</h1>"]
    ),
    texts,
    texts,
) | st.builds(Page.from_text, texts)


@given(pages)
def test_a_packed_page_keeps_all_but_its_links(found: Page) -> None:
    again = unpack(pack(found), url=found.url, body_digest=found.body_digest)
    assert again == replace(found, links=(), canonical_link="")
    assert again.places == found.places
    assert fingerprint(again) == fingerprint(found)


FIELDS: dict[str, object] = {
    "title": "title",
    "language": "en",
    "variant": "en-gb",
    "record": "sku=1",
    "inside": None,
    "tags": [["p", "b"], [0, 1, 0]],
    "depths": [0, 1, 0],
    "places": [[], []],
    "text": "one\n\ntwo",
}


def packed(fields: object) -> bytes:
    return FORM + zlib.compress(json.dumps(fields).encode("utf-8", "surrogatepass"))


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


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {"title": "a"},
        FIELDS | {"more": 1},
        *({**FIELDS, "title": value} for value in (7, ["t"])),
        *({**FIELDS, "inside": value} for value in (-1, "1", "", True, 1 << 99)),
        *({**FIELDS, "tags": value} for value in (["p"], [["p", 7], [0, 1, 0]], [[["p"]], [0, 0, 0]])),
        *({**FIELDS, "tags": value} for value in ([["p"], [0, 0, 1]], [["p"], [0]])),
        *(
            {**FIELDS, "depths": value}
            for value in (3, [0, 1], [0, -1, 0], [0, "1", 0], [0, 0.0, 1 << 99])
        ),
        *({**FIELDS, "places": value} for value in ([[7], [0]], [["p"], ["p"]])),
        {**FIELDS, "text": None},
    ],
)
def test_what_cannot_be_a_page_is_refused(fields: object) -> None:
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(packed(fields))


def test_a_page_with_bytes_after_its_end_is_refused() -> None:
    with pytest.raises(UnreadablePage, match="bytes after it"):
        unpack(pack(page("a b")) + b"a")


def test_a_later_form_is_refused() -> None:
    with pytest.raises(UnreadablePage, match="this release"):
        unpack(bytes([FORM[0] + 1]) + pack(page("a b"))[1:])


def test_a_page_that_would_unpack_to_too_much_is_neither_packed_nor_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = pack(page(text(1)))
    monkeypatch.setattr(stored, "LIMIT", 100)
    assert pack(page(text(1))) == b""
    with pytest.raises(UnreadablePage, match="is damaged"):
        unpack(whole)
