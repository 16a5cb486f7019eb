"""A site that is full of traps for rules about URLs, answered without a network, and a spider for it.

It is a function of seed and run: the oracle knows what stands at each URL.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response

from tests.pages import text

HOST = "traps.example"
ARTICLES, SHOP, FORUM, LIST, MEMBERS, FAILS, MOVED, DIRS = 100, 14, 12, 12, 12, 12, 8, 24
_SESSION = re.compile(r";jsessionid=(\w+)")


@dataclass(frozen=True)
class Answer:
    """What the site says: a status, what the page *shows* (the oracle's name of it), and its links."""

    shows: str
    links: tuple[str, ...] = ()
    status: int = 200
    location: str = ""


class TrapSite:
    """The site in one run; *noise* are words of chance that each page has."""

    def __init__(self, seed: int, run: int, noise: int = 2) -> None:
        self.seed, self.run, self.noise = seed, run, noise
        self._drawn = random.Random(f"{seed} {run}")
        self._sessions = 0

    def answer(self, url: str) -> Answer:
        """Return what stands at *url*; a visitor without a session gets a new one."""
        parts = urlsplit(url)
        path = _SESSION.sub("", parts.path).lower()
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.hostname == f"old.{HOST}":
            return Answer("", status=301, location=f"http://{HOST}{parts.path}")
        first, _, rest = path.strip("/").partition("/")
        found = getattr(self, f"_{first or 'home'}", None)
        if first == "print":
            return self._print(rest)
        if found is None:
            return Answer("gone", status=200)  # a soft 404
        answer: Answer = found(rest.strip("/"), query, parts)
        return answer

    def _home(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        links = [f"/article/{n}" for n in range(ARTICLES)]
        links += [f"/shop/p{n}" for n in range(SHOP)] + [f"/forum/t{n}" for n in range(FORUM)]
        links += [f"/members/m{n}?next={n}" for n in range(MEMBERS)]
        links += [f"/fail/f{n}?key={key}" for n in range(FAILS) for key in (1, 2)]
        links += [f"/moved/x{n}" for n in range(MOVED)] + [
            f"http://old.{HOST}/article/{n}" for n in range(5)
        ]
        links += [f"/nowhere/{n}?why={n}" for n in range(12)]
        links += ["/list", "/calendar?month=1"]
        for n in range(DIRS):
            links += [f"/dir/d{n}", f"/dir/d{n}/", f"/dir/d{n}/index.html", f"/Dir/D{n}"]
        return Answer("home", tuple(links))

    def _article(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        if not rest.isdecimal() or int(rest) >= ARTICLES:
            return Answer("gone")
        number = int(rest)
        shows = f"article {number}"
        if "v" in query and number % 100 == (self.seed * 7 + 3) % 100:
            shows += f" v{query['v']}"  # a parameter that matters on one page of a hundred
        if "mode" in query and self.run >= 3:
            shows += f" mode{query['mode']}"  # it means something from run 3 on
        near = [(number + step) % ARTICLES for step in (1, 2, 3, 5, 8)]
        links = [f"/article/{n}" for n in near]
        links += [f"/article/{number}?print=1", f"/print/article/{number}"]
        links += [f"/article/{n}?v={number % 3 + 1}" for n in near[:2]]
        links += [f"/article/{n}?mode={n % 3}" for n in near[:2]]
        links += [f"/article/{near[0]}?utm_source={'abcdefgh'[number % 8]}"] * (number % 2)
        links += [f"http://www.{HOST}/article/{near[1]}", f"http://m.{HOST}/article/{near[2]}"]
        links += [f"/article/{near[3]}?b=2&a=1", f"/article/{near[3]}?a=1&b=2"]
        if "print" in query:
            links = links[:3]
        return Answer(shows, tuple(links))

    def _print(self, rest: str) -> Answer:
        _, _, number = rest.partition("/")
        if not number.isdecimal():
            return Answer("gone")
        # A page that only print versions lead to.
        return Answer(f"article {number}", (f"/article/{number}", f"/hidden/h{int(number) // 10}"))

    def _hidden(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        return Answer(f"hidden {rest}")

    def _shop(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        session = query.get("sid") or self._session()
        links = [f"/shop/p{n}?sid={session}" for n in range(SHOP)]
        return Answer(f"shop {rest}", (*links, f"/shop/secret?sid={session}"))

    def _forum(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        found = _SESSION.search(parts.path)
        session = found[1] if found else self._session()
        return Answer(f"forum {rest}", tuple(f"/forum/t{n};jsessionid={session}" for n in range(FORUM)))

    def _session(self) -> str:
        self._sessions += 1
        return f"s{self.run}x{self._sessions}"

    def _list(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        page, order = int(query.get("page", "1")), query.get("sort", "up")
        links = [f"/list?page={page + 1}&sort={way}" for way in ("up", "down") if page < LIST]
        links += [f"/list?page={page + 1}"] * (page < LIST)
        links += [f"/list?sort={way}" for way in ("up", "down")]
        # The order matters only from page 2 on.
        return Answer(f"list {page} {order if page > 1 else ''}", tuple(links))

    def _members(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        # The same in every order of visits, so that each crawl of a run meets as many pages.
        drawn = random.Random(f"{self.seed} {self.run} {rest} {query.get('next')}")
        return Answer("login", tuple(f"/members/m{n}?next={drawn.randrange(9)}" for n in range(3)))

    def _fail(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        if "key" not in query:
            return Answer("", status=404)
        return Answer(f"fail {rest}", (f"/fail/{rest}", f"/fail/{rest}?key=3"))

    def _moved(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        if not parts.path.endswith("/"):
            return Answer("", status=301, location=f"/moved/{rest}/")
        return Answer(f"moved {rest}", (f"/moved/{rest}",))

    def _calendar(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        month = int(query.get("month", "1"))
        return Answer("calendar", (f"/calendar?month={month + 1}",) if month < 40 else ())

    def _dir(self, rest: str, query: dict[str, str], parts: Any) -> Answer:
        return Answer(f"dir {rest.removesuffix('/index.html').strip('/')}")

    def html(self, answer: Answer) -> str:
        """Return a page as the site shows it."""
        words = text(hash_of(f"{self.seed} {answer.shows}"), 120)
        noise = " ".join(f"n{self._drawn.randrange(10**6)}" for _ in range(self.noise))
        links = "".join(f'<li><a href="{link}"></a></li>' for link in answer.links)
        return (
            f"<html><body data-shows='{answer.shows}'><p>{words}</p><footer>{noise}</footer>"
            f"<ul>{links}</ul></body></html>"
        )


def hash_of(name: str) -> int:
    """Return a number of a text, the same in every process."""
    return int.from_bytes(random.Random(name).randbytes(4), "big")


class Answering:
    """A downloader middleware next to the downloader that answers in its place."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Answering:
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Response:
        site: TrapSite = self._crawler.spider.site
        answer = site.answer(request.url)
        headers = {"Location": answer.location} if answer.location else {}
        body = site.html(answer).encode() if answer.status == 200 else b""
        return HtmlResponse(
            request.url,
            status=answer.status,
            headers=headers,
            body=body,
            encoding="utf-8",
            request=request,
        )


class TrapSpider(Spider):
    """Follows every link in a random order, and yields a page as an item."""

    name = "traps"
    seed = "0"
    run = "1"
    order = "0"
    noise = "2"
    errbacks = ""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.site = TrapSite(int(self.seed), int(self.run), int(self.noise))
        self._drawn = random.Random(self.order)
        self.failed: list[str] = []

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"http://{HOST}/", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {
            "url": response.url,
            "html": response.text,
            "shows": response.css("body::attr(data-shows)").get(),
        }
        for link in response.css("a::attr(href)").getall():
            errback = self.heard if self.errbacks else None
            yield response.follow(link, self.parse, errback=errback, priority=self._drawn.randrange(100))

    def heard(self, failure: Any) -> None:
        self.crawler.stats.inc_value(f"heard/{failure.type.__name__}")


def shown(items: list[dict[str, Any]]) -> set[str]:
    """Return what items show."""
    return {str(item["shows"]) for item in items}


if __name__ == "__main__":
    site = TrapSite(0, 1)
    print(json.dumps([site.answer(f"http://{HOST}{path}").shows for path in ("/", "/article/3?v=1")]))
