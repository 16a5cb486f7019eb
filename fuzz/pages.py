"""Pages: any bytes give a `Page` and a fingerprint.

The first byte of an input chooses the constructor, the declared encoding and the recipe.  The others are
the page.
"""

from __future__ import annotations

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from dedup import DedupConfig, Page, compare, fingerprint
    from dedup.recipes.sketch import BINS

from fuzz.engine import command

ENCODINGS = (None, "utf-8", "gbk", "utf-16", "shift_jis", "latin-1", "utf-7", "no such \0")
# Between them they use every way to make features.
ALGORITHMS = "dedup.algorithms"
CONFIGS = (
    DedupConfig(),
    DedupConfig(
        terms=f"{ALGORITHMS}.terms.unicode_words", structure=f"{ALGORITHMS}.structure.tag_paths"
    ),
    DedupConfig(terms="character_ngrams", structure=f"{ALGORITHMS}.structure.tag_classes"),
    DedupConfig(terms=f"{ALGORITHMS}.terms.keywords_textrank", weights=f"{ALGORITHMS}.weights.levels"),
)
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
    encoding, config = ENCODINGS[choice % 8], CONFIGS[choice // 8 % 4]
    if choice // 32 % 2:
        page = Page.from_text(body.decode("utf-8", "surrogateescape"))
    else:
        page = Page.from_html(body, url="https://a.example/", encoding=encoding)
    assert len(page.tags) == len(page.depths)
    found = fingerprint(page, config)
    assert 0 <= found.content_simhash < 2**64
    assert 0 <= found.structure_simhash < 2**64
    assert len(found.sketch) == BINS
    assert len(found.token_digest) == (16 if found.tokens else 0)
    assert fingerprint(page, config) == found
    assert compare(found, found, config).is_duplicate == bool(body.strip())


if __name__ == "__main__":
    command(judge, [bytes([choice]) + page for page in PAGES for choice in (0, 8, 16, 24, 32)])()
