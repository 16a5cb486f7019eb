"""Crawls as a user starts them, and sites of this machine that note who asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import DNSLookupError

from benchmarks.endless import Answer, answering
from tests.support.crawling import scrapy
from tests.support.pages import text

HOME = f"<p>{text(1)}</p>"


@dataclass
class Site:
    """A site that gives each path its answers in turn, the last for good, and notes what was asked, and when."""

    answers: dict[str, list[Answer]]
    url: str = ""
    asked: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def answer(self, path: str) -> Answer:
        self.asked.append(path)
        self.times.append(monotonic())
        left = self.answers.get(path, [(404, {}, "")])
        return left.pop(0) if len(left) > 1 else left[0]

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0


@contextmanager
def serving(site: Site, host: str = "127.0.0.1") -> Iterator[Site]:
    with answering(site.answer, host) as url:
        site.url = url.rstrip("/")
        yield site


class Crawled(NamedTuple):
    urls: set[str]
    log: str
    items: list[dict[str, Any]]


def crawled(folder: Path, spider: str, *arguments: str, **settings: str) -> Crawled:
    """Crawl by *spider* with *arguments*, as after -a, and *settings*."""
    feed = folder / "feed.jsonl"
    settings = {"DEDUP_INDEX": str(folder / "pages.db"), "AUTOTHROTTLE_ENABLED": "0", **settings}
    options = [part for argument in arguments for part in ("-a", argument)]
    options += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    done = scrapy("crawl", spider, *options, "-O", str(feed))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    items = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    return Crawled({item["url"] for item in items}, done.stderr, items)


class FakeResolver(CachingThreadedResolver):
    """Scrapy's resolver; names stand in the setting TEST_HOSTS, each with its addresses in turn."""

    hosts: Mapping[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Any, reactor: Any) -> FakeResolver:
        resolver = cls(reactor, 0, 1.0)
        resolver.hosts = {
            name: cycle(addresses.split())
            for name, addresses in crawler.settings.getdict("TEST_HOSTS").items()
        }
        return resolver

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:
        if name.replace(".", "").isdigit():
            return succeed(name)
        return succeed(next(self.hosts[name])) if name in self.hosts else fail(DNSLookupError(name))
