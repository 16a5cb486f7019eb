"""Pages that show little but the frame of their site are judged by what their scripts would show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from random import Random

import pytest

from dedup import Detector, MemoryIndex, Page
from tests.plugin.test_beside import prose

PLACES = ["state", "nested", "linked", "attribute"]


def shell(frame: int, said: str, place: str, drawn: Random, *, words: int = 60) -> str:
    """Return a page of which only the *frame* is shown; ids and tokens are *drawn* for each visit."""
    token = f"{drawn.getrandbits(128):032x}"
    state = json.dumps({"id": token, "at": drawn.randrange(10**9), "post": {"body": said}})
    places = {
        "state": f"<script nonce={token}>window.__STATE__ = {state}</script>",
        "nested": f"<script>self.__next_f.push([1,{json.dumps(state)}])</script>",
        "linked": f"<script type='application/ld+json'>{state}</script>",
        "attribute": f"<div data-page='{escape(state)}'></div>",
    }
    form = f"<form action='/find?sid={token}'><input type=hidden name=csrf value={token}></form>"
    menu = f"<a href='/?sid={token}'>{prose(frame, words)}</a>"
    return f"<html><body><div id=root>{menu}{form}</div>{places[place]}</body></html>"


def kept(pages: Iterator[tuple[str, str]]) -> list[str]:
    """Return the names of those of *pages*, names and HTML, that are kept."""
    with Detector(MemoryIndex()) as detector:
        return [
            name
            for at, (name, html) in enumerate(pages)
            if detector.check(Page.from_html(html, url=f"https://shells.example/{at}")).kept
        ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", PLACES)
def test_shells_are_told_apart_by_what_they_would_show(place: str, seed: int) -> None:
    drawn = Random(seed)
    said = {
        f"{frame} {number}": prose(drawn.getrandbits(30), 90)
        for frame in range(3)
        for number in range(3)
    }
    words = drawn.randrange(5, 100)

    def pages() -> Iterator[tuple[str, str]]:
        for _ in range(2):
            for name in drawn.sample(sorted(said), len(said)):
                yield name, shell(int(name[0]), said[name], place, drawn, words=words)

    found = kept(pages())
    assert (len(found), set(found)) == (len(said), set(said))


def test_a_page_that_shows_a_text_is_judged_by_it() -> None:
    drawn = Random(3)
    pages = ((str(at), shell(1, prose(at, 450), "state", drawn, words=100)) for at in range(5))
    assert kept(pages) == ["0"]
