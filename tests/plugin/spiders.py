"""Spiders that yield what tests need, without a network: pages are ``data:`` URLs."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from scrapy import Field, Item, Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.loader import ItemLoader
from scrapy.settings import BaseSettings

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
            yield Request(
                page_url(content, f"<!-- {number} -->"), self.parse, meta=json.loads(self.meta)
            )

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
    """Yields the text of each page."""

    name = "texts"

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-20:], "text": str(response.css("p::text").get())}


class WithMarks(Item):
    dedup_reason = Field()
    dedup_canonical_url = Field()
    dedup_content_distance = Field()
    dedup_structure_distance = Field()
    dedup_similarity = Field()
    dedup_lost = Field()


class PageItem(WithMarks):
    url = Field()
    title = Field()
    html = Field()


class LoadedPages(OneItemAPage):
    """Yields the items of an `ItemLoader` without output processors: each of their fields is a list."""

    name = "loaded"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, HtmlResponse)
        loader = ItemLoader(PageItem(), response=response)
        loader.add_value("url", f"http://a/{response.text[-5]}")  # its number
        loader.add_css("title", "p::text")
        loader.add_value("html", response.text)
        yield loader.load_item()


class ScrapyItem(Item):
    url = Field()
    text = Field()


@dataclass
class DataItem:
    url: str
    text: str


class TypesSpider(CallbackSpider, ByText):
    """Yields the same page as every type of item, and things that are hard to judge."""

    name = "types"

    def found(self) -> Iterator[Any]:
        import attrs
        import pydantic

        made = attrs.make_class("AttrsItem", ["url", "text"])
        model: Any = pydantic.create_model("PydanticItem", url=(str, ...), text=(str, ...))
        yield ScrapyItem(url="http://a/1", text=text(1))
        yield DataItem("http://a/2", text(1))
        yield made(url="http://a/3", text=text(1))
        yield {"url": "http://a/4", "text": text(1)}
        yield model(url="http://a/5", text=text(1))
        yield {"url": "http://a/5"}
        yield {"url": "http://a/6", "text": None}
        yield {"url": None, "text": 7}


class Refilling(ByText):
    """Yields one dict again and again, each time with another text, when it has waited for something."""

    name = "refilling"

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:,start", self.parse)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
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


class StartItems(Spider):
    """Yields the items that its argument *items* lists as JSON, of no response."""

    name = "start items"
    items = "[]"

    async def start(self) -> AsyncIterator[Any]:
        for item in json.loads(self.items):
            yield item
        yield Request("data:,start", self.parse)  # Scrapy 2.13 does not wait for items of `start`

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        await asyncio.sleep(0.2)
        return
        yield


class Following(Spider):
    """Yields an item for each page, and follows its links as any spider does."""

    name = "following"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.start_urls = [url]

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(css="a")


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
