"""Broken pages, and what the parser of today makes of them: a new libxml2 that differs fails here first."""

from __future__ import annotations

import pytest

from dedup import Page
from dedup.reading.tokens import tokens

PAGES = {
    "misnested": (
        "<b><p>one</b> two<i>three</p> four</i><div>five",
        "html body b p i div",
        "one twothree four five",
    ),
    "unclosed": (
        "<ul><li>one<li>two<ul><li>three</ul><li>four<p>five<table><tr><td>six<td>seven<tr><td>eight",
        "html body ul li li ul li li p table tr td td tr td",
        "one two three four five six seven eight",
    ),
    "attributes": (
        "<p class='a' class='b' id=x/>one<a href='x>two</a><p>three' title=\"four\">five</a><br/>six",
        "html body p a br",
        "onefive six",
    ),
    "entities": (
        "one &amp two &nosuch; three &#x4E00;&#0; &lt;b&gt; caf&eacute",
        "html body",
        "one & two &nosuch three 一 � <b> café",
    ),
    "modern": (
        "<main><custom-tag>one</custom-tag><section><details><summary>two</summary>three</details></section><svg><title>no</title><path/></svg></main>",
        "html body main custom-tag section details summary svg title path",
        "one two three",
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_tags_and_words_of_a_broken_page_are_pinned(name: str) -> None:
    html, tags, words = PAGES[name]
    page = Page.from_html(html)
    assert " ".join(page.tags) == tags
    assert " ".join(tokens(page.text)) == words
