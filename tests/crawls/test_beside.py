"""What an item says beside its HTML is judged with it, if it is a text of its own."""

import base64
import json
import random
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest

from dedup import Detector, MemoryIndex, Page
from dedup.reading.fields import FieldRule, raw_page_of
from dedup.reading.noise import Gap, Gaps
from tests.plugin.crawls import items
from tests.support.crawling import bounds
from tests.support.pages import text

RULE = FieldRule()
_LETTERS = str.maketrans("0123456789", "abcefghijk")


def prose(seed: int, words: int = 300) -> str:
    """Return sentences of words of letters, which a language could have."""
    drawn = text(seed, words).translate(_LETTERS).split()
    parts = (drawn[at : at + 16] for at in range(0, words, 16))
    return " ".join(" ".join(part).capitalize() + "." for part in parts)


SHELL = (
    "<html><head><title>Reader</title></head><body><nav><a href='/'>Home</a></nav>"
    "<div id=root>Loading the page, please wait until all of its parts have arrived here and were shown"
    "</div></body></html>"
)
ARTICLE = prose(1)
LEAD, _, REST = ARTICLE.partition(". ")
LINKED = json.dumps({"articleBody": f"Caf\u00e9. {prose(2, 60)}"})
PAGE = (
    "<html><head><title>Low tide &amp; fog</title>"
    f"<script type='application/ld+json'>{LINKED}</script>"
    f"</head><body><nav>{prose(3, 40)}</nav><article><h1>Low tide</h1><p>{LEAD}. "
    f"<b>{REST}</b></p><img alt='{prose(4, 30)}'></article>"
    f"<aside data-related='{escape(json.dumps([prose(5, 30)]))}'></aside></body></html>"
)


def page_of(item: dict[str, Any]) -> Page:
    raw = raw_page_of(item, RULE)
    assert raw is not None
    return Page.of_raw(raw).of_record(raw)


def nested(text: str) -> Any:
    half = len(text) // 2
    return {"meta": {"parts": [{"kind": "text", "text": text[:half]}, {"text": text[half:]}]}}


def lines(text: str, length: int) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + length]) for at in range(0, len(words), length)]


SHAPES: list[Callable[[str], Any]] = [
    lambda text: text,
    lambda text: f"<div><p>{text}</p></div>",
    lambda text: [f"{line}." for line in text.split(". ")],
    nested,
    lambda text: json.dumps({"id": 7, "text": text}),
    lambda text: [None, *text.split(". "), 7],
    lambda text: [{"start": at, "text": line} for at, line in enumerate(lines(text, 8))],
    lambda text: lines(text, 7),
]


def test_items_with_a_text_of_their_own_beside_one_shell_are_kept(tmp_path: Path) -> None:
    found = [
        {"url": f"http://{host}.example/{n}", "html": SHELL, "text": shape(prose(20 * host + n + 10))}
        for host, shape in enumerate(SHAPES)
        for n in range(20)
    ]
    assert items(tmp_path, *found, spider="RecordSpider").items == found


REPEATS: dict[str, Any] = {
    "all text": f"Low tide & fog {prose(3, 40)} Low tide {ARTICLE}",
    "markdown": f"# Low tide\n\n{LEAD}. **{REST}**\n\n[Low tide](https://a.example/home)",
    "a summary": ". ".join(REST.split(". ")[:9]) + "…",
    "its HTML once more": PAGE[PAGE.index("<body") :],
    "JSON-LD": {"articleBody": "Café. " + prose(2, 60)},
    "an alternative text": prose(4, 30),
    "related, from an attribute": [prose(5, 30)],
}
NOISE: dict[str, Callable[[int], Any]] = {
    "a crawl time": lambda n: f"2026-11-0{n % 9 + 1}T10:{n:02}:07.{n}Z",
    "a session id": lambda n: f"{random.Random(n).getrandbits(128):032x}",
    "headers": lambda n: {
        "Content-Type": ["text/html; charset=utf-8"],
        "Date": [f"Mon, 0{n % 9} Nov 2026 10:00:0{n % 9} GMT"],
        "Set-Cookie": [f"session={random.Random(n).getrandbits(128):032x}; Path=/; SameSite=Lax"],
    },
    "base64 in lines": lambda n: base64.encodebytes(random.Random(n).randbytes(3000)).decode(),
    "bytes": lambda n: random.Random(n).randbytes(900),
    "addresses": lambda n: [f"https://a.example/{prose(n + k, 4).replace(' ', '-')}" for k in range(40)],
    "ads": lambda n: [{"title": prose(n + 50, 4), "text": prose(n + 90, 9)} for _ in range(4)],
    "hexadecimal": lambda n: random.Random(n).randbytes(2000).hex(" "),
    "a table of numbers": lambda n: "\n".join(f"{n + k};{k * 3.5};{k:04}" for k in range(200)),
    "a log of the crawl": lambda n: {"depth": n, "download_latency": n / 7, "proxy": f"10.0.0.{n}:8080"},
}


@pytest.mark.parametrize("name", REPEATS)
def test_a_field_that_repeats_the_page_changes_nothing(name: str) -> None:
    assert page_of({"html": PAGE, "field": REPEATS[name]}) == page_of({"html": PAGE})


@pytest.mark.parametrize("name", NOISE)
def test_what_each_visit_brings_never_makes_a_copy_new(name: str) -> None:
    detector, same = Detector(MemoryIndex()), {"html": PAGE, "full": ARTICLE}
    pages = [page_of({"url": f"http://a/{n}", "field": NOISE[name](n), **same}) for n in range(6)]
    assert [detector.check(page).kept for page in pages] == [True] + [False] * 5


def test_bytes_and_text_of_the_same_html_add_the_same() -> None:
    own = prose(77)
    as_text, as_bytes = (page_of({"html": html, "text": own}) for html in (PAGE, PAGE.encode()))
    assert as_text == as_bytes
    assert len(as_text.text.split()) > len(page_of({"html": PAGE}).text.split()) + 150
    assert as_text.body_digest != page_of({"html": PAGE}).body_digest


def test_a_page_over_a_limit_is_told_apart_by_its_long_texts() -> None:
    raws = [raw_page_of({"html": PAGE, "text": prose(seed)}, RULE) for seed in range(2)]
    with bounds(MAX_BYTES=500):
        digests = {Page.of_raw(raw).of_record(raw).body_digest for raw in raws if raw}
    assert len(digests) == 2


def test_where_a_place_is_left_out_the_words_beside_the_html_stay() -> None:
    markup = "<html><body><p class=a>Read by 12 of us today</p>"
    raw = raw_page_of({"html": markup, "lead": prose(1, 40)}, RULE)
    assert raw is not None
    said = Page.of_raw(raw, with_places=True).of_record(raw)
    masked, gaps = Gaps([Gap("html>body>p.a", ("Read", "by"), ("of", "us"))]).masked(said)
    assert gaps
    assert masked.text.split("\n") == ["Read by of us today", said.text.split("\n")[1]]
