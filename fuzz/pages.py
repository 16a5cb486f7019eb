"""Pages: any bytes give a `Page` and a fingerprint.

The first byte of an input chooses the constructor and the declared encoding.  The others are the page.
"""

from __future__ import annotations

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from dedup import Page, compare, fingerprint
    from dedup.algorithms.sketch import BINS

from fuzz.engine import command

ENCODINGS = (None, "utf-8", "gbk", "utf-16", "shift_jis", "latin-1", "utf-7", "no such \0")
PAGES = (
    b"<html lang=en><head><title>T</title><link rel=canonical href=/c></head><body><nav>menu</nav>"
    b"<p class='a b'>Some words&amp;more &lt; 1,000.5</p><a href=/x>x</a><!-- c --></body></html>",
    "<meta charset=gbk><p>武汉大会战是一九三八年的事</p>".encode("gb18030"),
    "あいうえおカタカナ ภาษาไทย شَدَّة é\u0301\u0316 \ufdfa \u202e \ufeff".encode(),
    "\ufeff<p>utf-16</p>".encode("utf-16-le"),
    b"<?xml version='1.0' encoding='x'?><!DOCTYPE a [<!ENTITY b 'c'>]><p>&b;<svg><title>t</title></svg>",
)


def judge(data: bytes) -> None:
    """Make a page of *data* and a fingerprint of it; whatever is raised is a finding."""
    choice, body = data[0] if data else 0, data[1:]
    encoding = ENCODINGS[choice % 8]
    if choice // 8 % 2:
        page = Page.from_text(body.decode("utf-8", "surrogateescape"))
    else:
        page = Page.from_html(body, url="https://a.example/", encoding=encoding)
    assert len(page.tags) == len(page.depths)
    found = fingerprint(page)
    assert 0 <= found.content_simhash < 2**64
    assert 0 <= found.structure_simhash < 2**64
    assert len(found.sketch) == BINS
    assert len(found.token_digest) == (16 if found.tokens else 0)
    assert fingerprint(page) == found
    assert compare(found, found).is_duplicate == bool(body.strip())


if __name__ == "__main__":
    command(judge, [bytes([choice]) + page for page in PAGES for choice in (0, 8)])()
