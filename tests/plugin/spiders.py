"""Spiders that yield what tests need, mostly without a network: pages are ``data:`` URLs."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, make_dataclass
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit
from weakref import WeakSet

from scrapy import Field, Item, Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.loader import ItemLoader
from scrapy.settings import BaseSettings

from dedup import Page
from tests.support.crawling import answering, document
from tests.support.pages import text


def html(content: str) -> str:
    return f"<html><body><p>{content}</p></body></html>"


def page_url(content: str, mark: str = "") -> str:
    return f"data:text/html;charset=utf-8,{quote(html(content) + mark)}"


class CallbackSpider(Spider):
    """Yields what `found` gives, from a callback: Scrapy 2.13 does not wait for items of `start`."""

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:,start", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        yield from self.found()

    def found(self) -> Iterator[Any]:
        raise NotImplementedError


class RecordSpider(CallbackSpider):
    """Yields the items that its argument *items* lists as JSON, all at once."""

    name = "items"
    items = "[]"

    def found(self) -> Iterator[Any]:
        yield from json.loads(self.items)


class ByText(Spider):
    """A spider of a project whose items are judged by their field `text`."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        settings.setdefault("DEDUP_TEXT_FIELDS", ["text"])


class ItemSpider(RecordSpider, ByText):
    """The same, judged by a field."""


class OneItemAPage(Spider):
    """Yields an item for each page of *contents*, JSON; ``**`` at the end of one makes it two items."""

    name = "pages"
    contents = "[]"
    meta = "{}"

    async def start(self) -> AsyncIterator[Any]:
        for number, content in enumerate(json.loads(self.contents)):
            yield Request(page_url(content, f"<!--{number}-->"), self.parse, meta=json.loads(self.meta))

    def parse(self, response: Response) -> Iterator[Any]:
        content = str(response.css("p::text").get())
        yield {"url": response.url[-20:], "note": "one"}
        if content.endswith("**"):
            yield Request("data:,not-html", self.parse_other)
            yield {"url": response.url[-20:], "note": "two"}
        if content.endswith("!!"):
            raise RuntimeError("the callback failed")

    def parse_other(self, response: Response) -> Iterator[Any]:
        yield {"url": "data:,not-html", "body": "x y z"}


class OneTextAPage(OneItemAPage):
    name = "texts"

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-20:], "text": str(response.css("p::text").get())}


MARKS = ("reason", "canonical_url", "content_distance", "structure_distance", "similarity", "lost")
WithMarks: Any = type("WithMarks", (Item,), {f"dedup_{name}": Field() for name in MARKS})


class PageItem(WithMarks):  # type: ignore[misc]
    url = Field()
    title = Field()
    html = Field()


class LoadedPages(OneItemAPage):
    """Yields the items of an `ItemLoader` without output processors: each of their fields is a list."""

    name = "loaded"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, HtmlResponse)
        loader = ItemLoader(PageItem(), response=response)
        loader.add_value("url", f"http://a/{response.text[-4]}")  # its number
        loader.add_css("title", "p::text")
        loader.add_value("html", response.text)
        yield loader.load_item()


class ScrapyItem(Item):
    url = Field()
    text = Field()


class TypesSpider(CallbackSpider, ByText):
    """Yields the same page as every type of item, and things that are hard to judge."""

    name = "types"

    def found(self) -> Iterator[Any]:
        import attrs
        import pydantic

        made = attrs.make_class("AttrsItem", ["url", "text"])
        plain = make_dataclass("DataItem", ["url", "text"])
        model: Any = pydantic.create_model("PydanticItem", url=(str, ...), text=(str, ...))
        yield ScrapyItem(url="http://a/1", text=text(1))
        yield plain("http://a/2", text(1))
        yield made(url="http://a/3", text=text(1))
        yield {"url": "http://a/4", "text": text(1)}
        yield model(url="http://a/5", text=text(1))
        yield {"url": "http://a/5"}
        yield {"url": "http://a/6", "text": None}
        yield {"url": None, "text": 7}


class Refilling(CallbackSpider, ByText):
    """Yields one dict again and again, each time with another text, when it has waited for something."""

    name = "refilling"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        item = {}
        for number in range(20):
            item["text"] = text(number)
            yield item
            await asyncio.sleep(0.01)


class Replacing:
    """A pipeline before ours that returns a new object, asynchronously."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        await asyncio.sleep(0.01)
        if item.get("fate") == "early":
            raise DropItem("cleaning does not want it", log_level="DEBUG")
        return {**item, "cleaned": True}


class Monitor(Spider):
    """Asks for one URL again and again; its items are what the page says, a word of it at a time."""

    name = "monitor"
    url = ""
    times = 10

    async def start(self) -> AsyncIterator[Request]:
        yield self._asked(0)

    def _asked(self, number: int) -> Request:
        headers = {"X-Number": str(number)}
        return Request(self.url, headers=headers, cb_kwargs={"number": number}, dont_filter=True)

    def parse(self, response: Response, number: int) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text, "number": number}
        if number + 1 < int(self.times):
            yield self._asked(number + 1)


class Marked(ScrapyItem, WithMarks):  # type: ignore[misc]
    """One that has room for the marks."""


_FIELDS: Any = [("url", str), ("text", str)]
_FIELDS += [(f"dedup_{name}", Any, field(default=None)) for name in MARKS]
MarkedData = make_dataclass("MarkedData", _FIELDS)
Frozen = make_dataclass("Frozen", _FIELDS, frozen=True)


class Odd:
    """An item of a kind that Scrapy does not know."""

    def __init__(self, url: str, text: str) -> None:
        self.url, self.text = url, text


CLASSES: Any = {kind.__name__: kind for kind in (Odd, dict, ScrapyItem, Marked, MarkedData, Frozen)}


class TypedSpider(ItemSpider):
    """Yields the items that *items* lists as objects of the class named *type*."""

    name = "typed"
    type = "dict"

    def found(self) -> Iterator[Any]:
        for item in super().found():
            yield CLASSES[self.type](**item)


class OddSpider(TypedSpider):
    """Makes pages of items that have no fields."""

    name = "odd"

    def dedup_page_from_item(self, item: Any) -> Page:
        return Page.from_text(item.text, url=item.url)


class PlainSpider(Spider):
    """A dict for every page of a site, which begins at the argument *url*."""

    name = "plain"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"title": response.css("title::text").get(), "url": response.url, "html": response.text}
        for link in response.css("a::attr(href)").getall():
            if response.urljoin(link).startswith(response.urljoin("/")):
                yield response.follow(link, self.parse)


class RenderedSpider(PlainSpider):
    """A spider whose pages are rendered by a browser."""

    name = "rendered"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.start_urls[0], self.parse, meta={"playwright": True})

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(response.css("a"), self.parse, meta={"playwright": True})


class DoorSpider(Spider):
    """Requests a page with two links for each of *contents* (JSON), in a row, with the callback *how*."""

    name = "doors"
    contents = "[]"
    how = "parse"
    meta = "{}"

    async def start(self) -> AsyncIterator[Any]:
        for number, content in enumerate(json.loads(self.contents)):
            # Scrapy 2.13 would bring the next page before this one's callback has ended.
            while number and not self._is_quiet():
                await asyncio.sleep(0.02)
            links = f'<a href="http://127.0.0.1:9/{number}">1</a><a href="http://127.0.0.1:9/all">2</a>'
            page = f"<html><body><p>{content}</p><!-- {number} -->{links}</body></html>"
            url, callback = f"data:text/html;charset=utf-8,{quote(page)}", getattr(self, self.how)
            yield Request(url, callback, priority=-number, meta=json.loads(self.meta))

    def _is_quiet(self) -> bool:
        engine: Any = self.crawler.engine
        is_waiting = engine._slot.scheduler.has_pending_requests() or engine.downloader.active
        return engine.scraper.slot.is_idle() and not is_waiting

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": response.css("p::text").get()}
        for link in response.css("a"):
            yield Request(link.attrib["href"], self.parse, meta={"dont_retry": True})

    def no_item(self, response: Response) -> Iterator[Any]:
        yield from (output for output in self.parse(response) if isinstance(output, Request))

    def two_items(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": "first " + str(response.css("p::text").get())}
        yield {"url": response.url[-6:], "text": "second"}

    def late_item(self, response: Response) -> Iterator[Any]:
        is_first = "<!-- 0 -->" in response.text
        yield from self.no_item(response) if is_first else self.parse(response)

    def fail(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": None}
        if "<!-- 0 -->" in response.text:
            raise RuntimeError("the callback failed")


class ManySpider(Spider):
    """Gives thousands of equal items of one exempt request."""

    name = "many"

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:text/html,<p>sea", self.parse, meta={"dedup": False})

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        for number in range(3000):
            yield {"url": f"http://a/{number}", "html": "<p>The tide turns twice a day."}


class HoldingSpider(Spider):
    """Follows pages that link to the next one, and puts into its stats how many responses still live."""

    name = "holding"

    async def start(self) -> AsyncIterator[Any]:
        gc.disable()  # nothing may hold itself
        self.living: WeakSet[Response] = WeakSet()
        yield self._page(0)

    def _page(self, number: int) -> Request:
        words = " ".join(f"word{number}of{place}" for place in range(60))
        return Request(f"data:text/html,<p>{words}</p>", cb_kwargs={"number": number})

    def parse(self, response: Response, number: int = 0) -> Iterator[Any]:
        self.living.add(response)
        yield {"url": f"http://a.example/{number}", "html": response.text}
        if number < 120:
            yield self._page(number + 1)

    def closed(self, reason: str) -> None:
        assert self.crawler.stats
        self.crawler.stats.set_value("living", len(self.living))


NAMES = ("first", "copy")


class TwiceSpider(ByText):
    """Yields the same text from two addresses in a row, in the way *how*."""

    name = "twice"
    how = "parse"
    method = "GET"

    async def start(self) -> AsyncIterator[Any]:
        if self.how == "no request":
            for name in NAMES:
                yield {"url": f"http://a.example/{name}", "text": text(1)}
            await asyncio.sleep(2)  # Scrapy 2.13 does not wait for items of `start`
            return
        for number, name in enumerate(NAMES):
            yield Request(f"http://a.example/{name}", self.parse, method=self.method, priority=-number)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": text(1)}


# A small site given as JSON, which `storages.Answering` answers without a network
HOST = "http://small.example"


class SmallSpider(Spider):
    """Follows the links of each page in their order."""

    name = "small"
    site_json = "{}"

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.site = json.loads(self.site_json)

    async def start(self) -> AsyncIterator[Any]:
        yield Request(HOST + "/", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        shows = response.css("body::attr(data-shows)").get()
        yield {"url": response.url, "html": response.text, "shows": shows}
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(link, self.parse, priority=-number)

    def parse_other(self, response: Response, extra: str = "") -> Iterator[Any]:
        yield from self.parse(response)


# A site whose pages change at each load, and spiders that visit its addresses in a given order


# Makes the answer to a path, which has been asked for so many times before.
Moving = Callable[[str, int], "str | int"]


@contextmanager
def moving_site(answer: Moving) -> Iterator[tuple[str, Counter[str]]]:
    """Serve what *answer* gives, a page or a status; yield the address, and how often each was asked."""
    asked: Counter[str] = Counter()

    def answered(path: str) -> str | int:
        asked[path] += 1
        return answer(path, asked[path] - 1)

    with answering(answered) as url:
        yield url.rstrip("/"), asked


class Site:
    """Articles at several addresses, ``/number/turn``, each in a frame with noise around its text."""

    def __init__(self, *, words: int = 150) -> None:
        self.now = Random(1)
        self.words = words

    def noise(self) -> tuple[str, str]:
        """Return what one answer shows above and below a text: counters, a clock, links at random."""
        links = "".join(f"<li>{text(self.now.randrange(900, 960), 5)}</li>" for _ in range(5))
        above = f"<p class='meta'>By Staff, {self.now.randint(20, 9000)} reading now</p>"
        below = (
            f"<div class='more'><h3>You may also like</h3><ul>{links}</ul></div>"
            f"<p>{self.now.randint(12, 90)} queries in 0.{self.now.randint(100, 999)} seconds</p>"
            f"<p>页面生成时间 0.{self.now.randint(1000, 9999)} 秒</p>"
        )
        return above, below

    def body(self, number: int) -> str:
        return f"<p>{text(number, self.words)}</p>"

    def __call__(self, path: str, before: int) -> str | int:
        above, below = self.noise()
        frame = f"<p>{text(999, 40)}</p>"
        number = int(urlsplit(path).path.split("/")[1])
        return document("The site", f"{frame}{above}{self.body(number)}{below}")


class ListedSpider(Spider):
    """Visits the *urls*, a list in JSON, one after the other, and yields each page."""

    name = "listed"
    urls = "[]"

    async def start(self) -> AsyncIterator[Any]:
        for priority, url in enumerate(json.loads(self.urls)):
            yield Request(url, self.parse, priority=-priority)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}


class LinksSpider(ListedSpider):
    """Gives a record for each broken link, as link checkers do."""

    name = "links"

    async def start(self) -> AsyncIterator[Any]:
        for url in json.loads(self.urls):
            yield Request(url, self.parse, errback=self.failed)

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"link": failure.value.response.url, "status": failure.value.response.status}


class TextSpider(ListedSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": " ".join(response.css("p::text").getall())}


class SizesSpider(ListedSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "size": len(response.body)}


class LinesSpider(ListedSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        lines = [line.strip() for line in response.css("body ::text").getall()]
        yield {"url": response.url, "text": "\n".join(filter(None, lines))}
