"""Anything may arrive: from bytes to fingerprint nothing raises, and every value keeps its rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from dedup import Page, compare, fingerprint
from dedup.model.fingerprint import BINS
from dedup.plugin.pages import page_from_response
from dedup.reading.markup import decode
from dedup.reading.tokens import tokens

# What markup is made of, so that tags, entities and declarations come about.
MARKUP = [
    *"< > </ /> <!-- --> <![CDATA[ ]]> <? & &# &#x ; = ' \" p div nav title a script svg".split(),
    *"charset= gbk utf-16 href= class role amp lt D800 0 words 1.5 武汉 カナ ไทย é".split(),
    *("<!DOCTYPE ", "link rel=canonical ", "meta ", " ", "\n", "\0", "\x1e"),
    *"\u0301\u0316\ufdfa\u202e\ufeff\U0001f600",
]
markup = st.lists(st.sampled_from(MARKUP), max_size=80).map("".join)
bodies = (
    st.binary(max_size=400)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.builds(str.encode, markup, st.sampled_from(["utf-8", "gb18030", "utf-16"]))
    | markup.map(lambda text: text.encode("latin-1", "replace"))
)
# Lone surrogates too, which Python's own decoders do not make but JSON does.
ODD = st.sampled_from("a1.\ud800\udfff武カไ\u0640\u0e31")
texts = st.text(st.characters(), max_size=200) | markup | st.text(ODD)
ENCODINGS = ["utf-8", "gbk", "utf-16", "utf-7", "hex", "idna", "x\0", "undefined", None]
encodings = st.sampled_from(ENCODINGS) | st.text(max_size=10)


def check(page: Page) -> None:
    found = fingerprint(page)
    assert 0 <= found.content_simhash < 2**64
    assert 0 <= found.structure_simhash < 2**64
    assert len(found.sketch) == BINS
    assert len(found.body_digest) in (0, 16)
    assert len(found.token_digest) == (16 if found.tokens else 0)
    assert len(page.tags) == len(page.depths)
    assert compare(found, found).is_duplicate == bool(found.body_digest)


@given(bodies, encodings)
def test_any_bytes_make_a_fingerprint(body: bytes, encoding: str | None) -> None:
    check(Page.from_html(body, encoding=encoding))
    decode(body, encoding).encode("utf-8", "surrogatepass")


@given(texts)
def test_any_text_makes_a_fingerprint_of_words(text: str) -> None:
    check(Page.from_text(text))
    check(Page.from_html(text))
    assert not any(not token or any(map(str.isspace, token)) for token in tokens(text))


@given(bodies, st.sampled_from(["text/html", "text/html; charset=gbk", "text/html; charset=x", ""]))
def test_a_response_makes_the_page_of_its_bytes(body: bytes, kind: str) -> None:
    page = page_from_response(HtmlResponse("http://a/", body=body, headers={"Content-Type": kind}))
    assert page is not None
    check(page)


@pytest.mark.parametrize("name", "base64 rot13 zlib unicode_escape mbcs punycode undefined".split())
def test_codecs_that_are_none_of_texts_may_be_declared(name: str) -> None:
    assert "some bytes" in decode(b"\xff some bytes \xe9", name)
