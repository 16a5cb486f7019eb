"""What sites ask of crawlers beside ``Disallow``: pauses, and not to follow links."""

from __future__ import annotations

from typing import Any

from lxml.etree import XPath
from protego import Protego
from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.utils.httpobj import urlparse_cached

_NAMED: Any = XPath("//meta[@name and @content]")  # compiled once
MAX_DELAY = 300.0  # seconds; a site that asks for a longer pause gets this one

# Until 2.16 Scrapy has a switch for this.
_JITTER = "jitter" if hasattr(Slot, "jitter") else "randomize_delay"


class CrawlDelayMiddleware:
    """Waits between requests to a host as long as its robots.txt asks (``Crawl-delay``).

    AutoThrottle may make the pause longer, never shorter.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self._crawler = crawler
        self._agent = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]
        self._delays: dict[str, float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CrawlDelayMiddleware:
        middleware = cls(crawler)
        # AutoThrottle gets this signal first: extensions are made before middlewares.
        crawler.signals.connect(middleware.response_downloaded, signals.response_downloaded)
        return middleware

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        """Read a robots.txt that passes."""
        first = request.meta.get("redirect_urls", [request.url])[0]
        is_robots = response.status == 200 and urlparse_cached(Request(first)).path == "/robots.txt"
        if is_robots and (delay := crawl_delay(response.body.decode("utf-8", "replace"), self._agent)):
            self._wait(self._downloader.get_slot_key(Request(first)), min(delay, MAX_DELAY))
        return response

    def response_downloaded(self, request: Request, **_: Any) -> None:
        """Take back what AutoThrottle has made shorter."""
        key = request.meta.get("download_slot")
        if key in self._delays:
            self._wait(key, self._delays[key])

    def _wait(self, key: str, delay: float) -> None:
        self._delays[key] = delay
        settings = self._downloader.per_slot_settings
        own = settings.get(key, {})
        settings[key] = {**own, "delay": max(delay, own.get("delay", 0.0)), _JITTER: 0}
        if slot := self._downloader.slots.get(key):
            slot.delay = max(delay, slot.delay)
            setattr(slot, _JITTER, 0)

    @property
    def _downloader(self) -> Any:
        assert self._crawler.engine is not None
        return self._crawler.engine.downloader


def crawl_delay(robots: str, agent: str) -> float:
    """Return how many seconds a robots.txt asks *agent* to wait between requests, 0.0 for none.

    >>> crawl_delay("User-agent: *\\nCrawl-delay: 2.5", "me"), crawl_delay("", "me")
    (2.5, 0.0)
    """
    try:
        delay = float(Protego.parse(robots).crawl_delay(agent) or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return delay if delay > 0 else 0.0  # also without what is not a number


def asks_for_nofollow(response: Response) -> bool:
    """Return whether *response* asks all robots not to follow its links.

    It may say so in its header ``X-Robots-Tag`` and in ``<meta name="robots">``.
    """
    values = [value.decode("latin-1") for value in response.headers.getlist("X-Robots-Tag")]
    if isinstance(response, HtmlResponse):
        named = _NAMED(response.selector.root)
        values += [meta.get("content") for meta in named if meta.get("name").strip().lower() == "robots"]
    words = {word.strip() for value in values for word in value.lower().split(",")}
    return not words.isdisjoint(("nofollow", "none"))
