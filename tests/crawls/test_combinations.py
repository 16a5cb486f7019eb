"""Spiders, pipelines and options in 70 combinations: each content that plain Scrapy gives, once."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.support.crawling import EXPLORED, KNOBS, Crawl, crawl, serving
from tests.support.pages import text

PARTS = 3


class Known(NamedTuple):
    """A page of the site, and what it says: copies have the *content* of another page."""

    path: str
    content: int
    is_copy: bool = False

    def part(self, number: int) -> str:
        """Return one of the `PARTS` of the page as a document of its own."""
        words = PARTS * self.content + number
        # A copy has an identifier more, and no word: neither loses anything with the other.
        said = text(words) + (" feed0000" if self.is_copy and number == 0 else "")
        return f"<html><body><h1>{self.path}</h1><p>{said}</p></body></html>"

    def html(self) -> str:
        return "".join(map(self.part, range(PARTS)))


PAGES = {
    **{f"/p/{number}.html": Known(f"/p/{number}.html", number) for number in range(8)},
    **{f"/c/{number}.html": Known(f"/c/{number}.html", number, is_copy=True) for number in range(4)},
}


def files_of(url: str) -> dict[str, str | bytes]:
    """Return what stands under every path of the site at *url*."""
    htmls = {path: page.html() for path, page in PAGES.items()}
    links = "".join(f'<a href="{path}">{path}</a>' for path in PAGES)
    places = "".join(f"<url><loc>{url}{path}</loc></url>" for path in PAGES)
    node = "<page><path>{}</path><html>{}</html></page>".format
    nodes = "".join(node(path, escape(html)) for path, html in htmls.items())
    lists = {"/sitemap.xml": f"<urlset>{places}</urlset>", "/feed.xml": f"<pages>{nodes}</pages>"}
    files = {path: f"<?xml version='1.0'?>{said}" for path, said in lists.items()}
    return {"/": f"<html><body>{links}</body></html>", **files, **htmls}


LINKED = {"depth": 1}  # nothing is skipped of start pages; these are to be skipped where they can be


class Reading(Spider):
    """What all have: the URL of the *site*, the *first* path, and *several* items a page or one."""

    site = several = ""
    first = "/"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.site + self.first, meta=LINKED)

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        page = PAGES[path]
        parts = map(page.part, range(PARTS)) if self.several else [page.html()]
        for part, html in enumerate(parts):
            about = {"content": page.content, "part": part, "is_copy": page.is_copy}
            yield {"url": self.site + path, **about, "html": html}

    def items_of(self, response: Response) -> Iterator[dict[str, Any]]:
        return self.items(urlsplit(response.url).path)


class Plain(Reading):
    name = "plain"

    def parse(self, response: Any, **kwargs: Any) -> Any:
        yield from response.follow_all(css="a", callback=self.items_of)


class Following(Reading, CrawlSpider):
    name = "following"
    rules = (Rule(LinkExtractor(allow=r"/[pc]/"), callback="items_of"),)


class Mapped(Reading, SitemapSpider):
    name = "mapped"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/sitemap.xml", self._parse_sitemap, meta=LINKED)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield from self.items_of(response)


class Fed(Reading, XMLFeedSpider):
    name, itertag, first = "fed", "page", "/feed.xml"

    def parse_node(self, response: Response, selector: Any) -> Iterator[Any]:
        yield from self.items(selector.xpath("path/text()").get())


class Asynchronous(Reading):
    name = "asynchronous"

    async def parse(self, response: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for request in response.follow_all(css="a", callback=self.parse_page):
            yield request

    async def parse_page(self, response: Response) -> AsyncIterator[Any]:
        for item in self.items_of(response):
            yield item


class Starting(Reading):
    """Half of its items come from no response."""

    name = "starting"

    async def start(self) -> AsyncIterator[Any]:
        for number, path in enumerate(PAGES):
            if number % 2:
                yield Request(self.site + path, self.items_of, meta=LINKED)
            else:
                for item in self.items(path):
                    yield item


class Catching(Reading):
    """Every page has a broken link beside it, whose errback gives a record."""

    name = "catching"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for path in PAGES:
            yield Request(self.site + path, self.items_of, errback=self.failed)
            yield Request(f"{self.site}/missing{path}", self.items_of, errback=self.failed)

    def failed(self, failure: Any) -> Iterator[Any]:
        path = urlsplit(failure.value.response.url).path
        yield {"url": "", "content": path, "part": 0, "is_copy": False, "status": 404}


KINDS = (Plain, Following, Mapped, Fed, Asynchronous, Starting, Catching)


class Replacing:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Dropping:
    """Drops what some pages say, wherever they say it."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (2, 5):
            raise DropItem("not wanted", log_level="DEBUG")
        return item


class Failing:
    """Fails for some pages, but not for their copies."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (1, 6) and not item["is_copy"]:
            raise RuntimeError("storage is down")
        return item


class Deferring:
    async def process_item(self, item: Any) -> Any:
        from twisted.internet import reactor

        later: Deferred[None] = Deferred()
        reactor.callLater(0.01, later.callback, None)  # type: ignore[arg-type]
        await maybe_deferred_to_future(later)
        return item


PIPELINES = (None, Replacing, Dropping, Failing, Deferring)


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "response": {"DEDUP_SOURCE": "response"},
    "links": {"DEDUP_ACTION": "skip"},
    "response and links": {"DEDUP_ACTION": "skip", "DEDUP_SOURCE": "response", KNOBS: {EXPLORED: 0}},
    "mark": {"DEDUP_ACTION": "mark"},
    "report": {"DEDUP_ACTION": "report"},
    "several items": {},
    "several items, response": {"DEDUP_SOURCE": "response", "DEDUP_ACTION": "skip"},
    "job": {},
    "second crawl": {"DEDUP_SCOPE": "domain", "DEDUP_MAX_DISTANCE": 12},
}


# In half of them each spider meets each pipeline and each option meets three spiders and more.
MARKS = ([pytest.mark.slow], [pytest.mark.slow, pytest.mark.nightly])
COMBINATIONS = [
    pytest.param(kind, at, id=f"{name}-{one.__name__}", marks=MARKS[(kind + at // 5) % 2])
    for at, name in enumerate(OPTIONS)
    for kind, one in enumerate(KINDS)
]


@pytest.mark.parametrize(("kind", "number"), COMBINATIONS)
def test_each_content_comes_once_however_it_is_crawled(tmp_path: Path, kind: int, number: int) -> None:
    option, settings = list(OPTIONS.items())[number]
    common: dict[str, Any] = {"CONCURRENT_REQUESTS": 2}  # Python's server has five in its queue
    if storage := PIPELINES[(kind + number) % len(PIPELINES)]:
        order = 100 if kind % 2 else 900  # the add-on stands at 250
        common["ITEM_PIPELINES"] = {f"{storage.__module__}.{storage.__qualname__}": order}
    files: dict[str, str | bytes] = {}

    def crawled(name: str, **own: Any) -> Crawl:
        (folder := tmp_path / name).mkdir()
        own |= {"JOBDIR": str(folder / "job")} if option == "job" else {}
        spider = f"{KINDS[kind].__module__}.{KINDS[kind].__qualname__}"
        arguments = {"site": url.rstrip("/"), "several": "1" if "several" in option else ""}
        return crawl(folder, spider, {**common, **own}, arguments)

    with serving(files) as url:
        files.update(files_of(url.rstrip("/")))
        plain, index = crawled("plain", ADDONS={}), str(tmp_path / "pages.db")
        for turn in range(1 + (option == "second crawl")):
            ours = crawled(f"ours {turn}", DEDUP_INDEX=index, **settings)
    wanted, given = (Counter((it["content"], it["part"]) for it in c.items) for c in (plain, ours))
    copies = wanted.total() - len(wanted)
    assert copies
    if option == "mark":
        marked = [item for item in ours.items if "duplicate" in item.get("dedup_reason", "")]
        assert (given, len(marked)) == (wanted, copies)
    elif option == "report":
        assert given == wanted
        assert ours.dedup()["would_drop"] >= copies
    else:
        assert given == Counter(set(wanted))
    assert ours.dedup().keys().isdisjoint({"index_errors", "wait_timeout"})
