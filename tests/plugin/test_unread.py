"""The last net: one page kept must not swallow others whose texts are not read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from dedup.plugin.unread import MOST_SWALLOWED, Copy, Net
from tests.crawling import Crawl, crawl
from tests.plugin.test_beside import prose

FRAME = prose(900, 18)


def let_through(copies: list[tuple[str, str]]) -> int:
    """Return how many of the *copies* of one page, as markup and what was read of it, the net lets go."""
    net = Net()
    return sum(
        net.swallows(1, markup, read, Copy(row, "", None)) for row, (markup, read) in enumerate(copies)
    )


@pytest.mark.parametrize("teasers", [4, 8])
def test_random_links_beside_a_text_are_no_text_of_a_copy(teasers: int) -> None:
    read = prose(1)
    drawn = Random(teasers)
    pool = [prose(100 + number, 10) for number in range(400)]
    copies = [
        f"<p>{read}</p>" + "".join(f"<a href=/>{teaser}</a>" for teaser in drawn.sample(pool, teasers))
        for _ in range(40)
    ]
    assert let_through([(markup, read) for markup in copies]) == 0


def test_more_than_was_read_is_a_text_of_its_own() -> None:
    read = prose(1)
    copies = [
        f"<p>{read}</p><script>{json.dumps(prose(100 + number, 450))}</script>" for number in range(20)
    ]
    assert let_through([(markup, read) for markup in copies]) == 20 - (MOST_SWALLOWED - 1)


def shell(number: int, kind: str) -> str:
    """Return an article of which only the shell of its site is read."""
    said = prose(number)
    state = json.dumps({"id": f"{number:032x}", "post": {"title": prose(number, 6), "body": said}})
    places = {
        "state": f"<script>window.__STATE__ = {state}</script>",
        "nested": f"<script>self.__next_f.push([1,{json.dumps(state)}])</script>",
        "linked": f"<script type='application/ld+json'>{state}</script>",
        "attribute": f"<div data-page='{state}'></div>",
        "copies": f"<script>window.__STATE__ = {json.dumps({'id': f'{number:032x}', 'at': prose(1)})}</script>",
    }
    return f"<html><body><div id=root>{FRAME}</div>{places[kind]}</body></html>"


class ShellSpider(Spider):
    """Yields an item for each of *pages* shells."""

    name = "shells"
    pages = "7"
    kind = "state"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(int(self.pages)):
            html = shell(number, self.kind)
            yield Request(f"data:text/html;charset=utf-8,{quote(html)}", cb_kwargs={"number": number})

    def parse(self, response: Response, number: int = 0) -> Iterator[Any]:
        yield {"url": f"http://shells.example/{number}", "number": number, "html": response.text}


def crawled(folder: Path, kind: str, pages: int = 7, **settings: Any) -> Crawl:
    chosen = {"URLLENGTH_LIMIT": 0, "CONCURRENT_REQUESTS": 1, **settings}
    arguments = {"kind": kind, "pages": str(pages)}
    return crawl(folder, "tests.plugin.test_unread.ShellSpider", chosen, arguments)


@pytest.mark.parametrize("at_a_time", [1, 16])
def test_of_twenty_articles_that_scripts_show_none_is_lost(tmp_path: Path, at_a_time: int) -> None:
    done = crawled(tmp_path, "state", 20, CONCURRENT_REQUESTS=at_a_time)
    assert sorted(item["number"] for item in done.items) == list(range(20))
    assert done.log.count("by the text that is read, but say other things") == 1
    assert (done.dedup()["unread"], done.dedup()["requested_again"]) == (19, 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nested", "linked", "attribute"])
def test_it_does_not_matter_where_the_text_is(tmp_path: Path, kind: str) -> None:
    assert len(crawled(tmp_path, kind).items) == 7


def test_the_next_crawl_keeps_what_was_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        done = crawled(tmp_path, "state")
        assert sorted(item["number"] for item in done.items) == list(range(7))
    assert "unread" not in done.dedup()
    assert crawled(tmp_path, "state", DEDUP_UNCHANGED="drop").items == []


@pytest.mark.slow
def test_copies_of_earlier_crawls_count(tmp_path: Path) -> None:
    assert len(crawled(tmp_path, "state", 3).items) == 1
    assert len(crawled(tmp_path, "state", 5).items) == 1
    done = crawled(tmp_path, "state", 6)
    assert sorted(item["number"] for item in done.items) == list(range(6))


def test_of_fewer_than_five_copies_nothing_is_said(tmp_path: Path) -> None:
    done = crawled(tmp_path, "state", 5)
    assert len(done.items) == 1
    assert "unread" not in done.dedup()


def test_copies_that_differ_in_an_id_stay_dropped(tmp_path: Path) -> None:
    done = crawled(tmp_path, "copies")
    assert len(done.items) == 1
    assert "unread" not in done.dedup()


@pytest.mark.parametrize("settings", [{"DEDUP_ACTION": "mark"}, {"DEDUP_DRY_RUN": True}], ids=str)
def test_what_is_not_dropped_need_not_be_given_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    done = crawled(tmp_path, "state", **settings)
    assert len(done.items) == 7
    assert "requested_again" not in done.dedup()


def test_the_net_goes_with_responses_too(tmp_path: Path) -> None:
    done = crawled(tmp_path, "state", DEDUP_SOURCE="response")
    assert sorted(item["number"] for item in done.items) == list(range(7))
