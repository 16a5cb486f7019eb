"""A site whose pages change at each load, and a spider that visits its addresses in a given order."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response

from tests.support.pages import text
from tests.support.serving import answering, document

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
        """Return what the pages of that *number* say."""
        return f"<p>{text(number, self.words)}</p>"

    def __call__(self, path: str, before: int) -> str | int:
        above, below = self.noise()
        frame = f"<p>{text(999, 40)}</p>"
        number = int(urlsplit(path).path.split("/")[1])
        return document("The site", f"{frame}{above}{self.body(number)}{below}")


class ListedSpider(Spider):
    """Visits the *urls*, a list in JSON, one after the other, and yields each page."""

    name = "listed"

    def __init__(self, urls: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.urls: list[str] = json.loads(urls)

    async def start(self) -> AsyncIterator[Any]:
        for priority, url in enumerate(self.urls):
            yield Request(url, self.parse, priority=-priority)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}


class TextSpider(ListedSpider):
    """Yields the text of each page, and not its HTML."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": " ".join(response.css("p::text").getall())}


class LinesSpider(ListedSpider):
    """Yields the text of each page, line by line."""

    def parse(self, response: Response) -> Iterator[Any]:
        lines = [line.strip() for line in response.css("body ::text").getall()]
        yield {"url": response.url, "text": "\n".join(filter(None, lines))}
