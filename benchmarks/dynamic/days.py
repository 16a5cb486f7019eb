"""Later days: some pages say something else, all others only show another counter; which are delivered?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import html
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from benchmarks.dynamic.truth import Content, Crawled, keys_of, parsed

ONE_OF = 10


def edited(page: str, content: Content, day: int) -> str:
    """Return *page* as it is on *day*: from the second on, one content of `ONE_OF` gets a new word each day.

    >>> edited("<p>One two</p>", Content("p"), 1)
    '<p>One two</p>'
    """
    key, _ = keys_of(page, content)
    for number in range(2, day + 1):
        if key and int(hashlib.sha1(f"{key} {number}".encode()).hexdigest(), 16) % ONE_OF == 0:
            word = f"{key}{number}".translate(str.maketrans("0123456789", "ghijklmnop"))
            page = _with_a_word(page, content, word)
    return page


def _with_a_word(page: str, content: Content, word: str) -> str:
    tree = parsed(page)
    no_text = [one for css in filter(None, (content.without,)) for one in tree.cssselect(css)]
    outside = {part for one in no_text for part in one.iter()}
    inside = (part for one in tree.cssselect(content.main) for part in one.iter())
    longest = max((one for one in inside if one not in outside), key=lambda one: len(one.text or ""))
    text = longest.text or ""
    middle = text.find(" ", len(text) // 2) if " " in text[len(text) // 2 :] else len(text) // 2
    longest.text = f"{text[:middle]} {word} {text[middle:]}"
    return str(html.tostring(tree, encoding="unicode"))


class Editing:
    """A downloader middleware that lets days pass, and a crawl end by itself when it has enough pages."""

    def __init__(self, crawler: Crawler, day: int, content: Content) -> None:
        self._crawler = crawler
        self._day = day
        self._content = content

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Editing:
        job = crawler.settings["JOB"]
        return cls(crawler, job["day"], Content(**job["content"]))

    def process_request(self, request: Request) -> None:
        # Pages that the plugin asks for again have no callback of the spider's.
        if getattr(self._crawler.spider, "is_over", False) and request.callback is not NO_CALLBACK:
            raise IgnoreRequest("enough")

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        if not isinstance(response, HtmlResponse):
            return response
        text = edited(response.text, self._content, self._day)
        return (
            response if text == response.text else response.replace(body=text.encode(), encoding="utf-8")
        )


@dataclass(frozen=True, slots=True)
class Day:
    """What was delivered of a day's pages: at addresses that were crawled the day before.

    *others* are pages that are not judged, such as lists; *changed* are new contents, *missed* those
    of which no page was delivered.
    """

    unchanged: int
    delivered: tuple[str, ...]
    others: int
    others_delivered: int
    changed: int
    missed: tuple[str, ...]


def day_of(before: Sequence[Crawled], today: Sequence[Crawled]) -> Day:
    """Return what became of the pages of *today*; those of the day *before* were all seen."""
    was = {page.url: page for page in before}
    again = {page.url: page for page in today if page.url in was}
    same = [
        one
        for url, one in again.items()
        if one.key and (one.key, one.parts) == (was[url].key, was[url].parts)
    ]
    others = [one for url, one in again.items() if not one.key and not was[url].key]
    known = {page.key for page in before}
    new = {page.key: page.url for page in again.values() if page.key not in known}
    told = {page.key for page in today if not page.dropped}
    return Day(
        len(same),
        tuple(one.url for one in same if not one.dropped),
        len(others),
        sum(1 for one in others if not one.dropped),
        len(new),
        tuple(url for key, url in new.items() if key not in told),
    )
