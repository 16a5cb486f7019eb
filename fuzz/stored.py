"""Stored pages: any bytes give a page that packs and unpacks to itself, or raise one `UnreadablePage`.

The first byte of an input says whether the others are the stored bytes, or the bytes before compression.
"""

from __future__ import annotations

import json
import zlib

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from dedup import Page, fingerprint
    from dedup.reading.page import FORM, UnreadablePage, is_readable, pack, unpack

from fuzz.engine import command


def judge(data: bytes) -> None:
    """Unpack *data*; what is raised, other than `UnreadablePage`, is a finding."""
    content = data[1:]
    stored = FORM + zlib.compress(content) if data[:1] < b"\x80" else content
    try:
        page = unpack(stored)
    except UnreadablePage:
        assert not is_readable(stored)
        return
    assert unpack(pack(page)) == page
    fingerprint(page)


PARTS = ["some words", "title", "en", ["html", "body", "p"], [0, 1, 2], [["p", "a b"]]]
PAGE = pack(Page.from_html("<title>t</title><p class='a b'>some words"))

if __name__ == "__main__":
    command(judge, [b"\0" + json.dumps(PARTS).encode() + b"\nmore words", b"\xff" + PAGE])()
