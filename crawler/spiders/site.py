"""Crawl whole sites by following their links."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from posixpath import splitext
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.settings import BaseSettings
from scrapy.utils.response import get_base_url

from crawler.page_spider import (
    PageItem,
    PageSpider,
    is_web_url,
    read_domains,
    read_number,
    read_pattern,
    read_urls,
)
from crawler.politeness import directives, read_directives, unendorsed
from crawler.walls import Walls
from dedup import Page
from dedup.plugin import DedupSpiderMiddleware

# The first sign only: behind a space, a second one stands in the fragment.
_FRAGMENT = re.compile(r"(?:^|(?<=[^\x00-\x20]))#")
_IGNORED = frozenset("." + extension for extension in IGNORED_EXTENSIONS)
# Each link from the start page costs 1: what a page calls its canonical is fetched before pages as deep
# as the page itself.
_CANONICAL_PRIORITY = 2
# Links of what stands in the place of a page wait.
_LAST = -10_000
_BEHIND = {"behind_wall": True}
# What robots.txt (100) forbids is no look.
_BUDGET_PRIORITY = 110
# A base address up to its last folder, and the links that nothing else of the base counts for: those
# that have a path or a host.
_FOLDER = re.compile(r"https?://[^/?#]+/(?:[^?#]*/)?")
_OF_FOLDER = re.compile(r"(?:https?:)?//\w|/(?![/\t\r\n])|\.|\w[^:]*\Z")
# So many links, and so many addresses that Scrapy knows, are remembered: 30 MB if each has 100
# characters.  What is forgotten is read, or requested, once more.
_LINKS, _KNOWN = 20_000, 100_000


class SiteSpider(PageSpider):
    """Follow links inside the domains of the start URLs and their subdomains.

    -a url=        one or more start URLs, separated by white space
    -a domains=    further domains to crawl, separated by white space
    -a max_pages=  stop after this many pages
    -a max_depth=  follow links this deep; 0 takes the start URLs only
    -a allow=      follow only URLs that match this regular expression anywhere
    -a deny=       do not follow URLs that match this regular expression anywhere
    -a html=1      keep the source of each page in its item
    """

    name = "site"

    def __init__(
        self,
        *,
        url: str = "",
        domains: str = "",
        max_pages: str = "",
        max_depth: str = "",
        allow: str = "",
        deny: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.start_urls = read_urls("url", url)
        self.allowed_domains = read_domains(self.start_urls, domains)
        self._max_pages = read_number("max_pages", max_pages)
        self._max_depth = read_number("max_depth", max_depth)
        self._allow = read_pattern("allow", allow)
        self._deny = read_pattern("deny", deny)
        self._pages = 0
        self._obeyed: frozenset[str] = frozenset()
        self._walls = Walls()
        self._known: dict[str, None] = {}
        self._wanted = lru_cache(_LINKS)(self._joined)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put the budgets into their place: what sitemaps and lists name is visited without."""
        super().update_settings(settings)
        there = settings.getdict("DOWNLOADER_MIDDLEWARES")
        all_of_them = {"dedup.plugin.BudgetMiddleware": _BUDGET_PRIORITY, **there}
        settings.set("DOWNLOADER_MIDDLEWARES", all_of_them, priority="spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._obeyed = read_directives(crawler.settings.getlist("ROBOTS_DIRECTIVES"))
        crawler.signals.connect(spider._note_known, signals.request_scheduled)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url, self.parse)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[PageItem | Request]:
        if self._pages == self._max_pages:
            raise CloseSpider("max_pages")
        page = self.page(response)
        if page is None:
            return
        self._pages += 1
        is_start, is_behind = not response.meta.get("depth", 0), bool(response.meta.get("behind_wall"))
        kind = self._walls.kind(response, page, is_start=is_start, is_behind=is_behind)
        if kind:
            self.count(f"walls/{kind.replace(' ', '_')}")
        asked = directives(response) & self._obeyed if self._obeyed else frozenset()
        if "noindex" in asked:
            self.count("robots/noindex")
        else:
            item = self.item(response, page)
            item.kind = kind or None
            yield item
        if self._max_depth is None or response.meta.get("depth", 0) < self._max_depth:
            for request in self._followed(response, page, asked):
                yield request.replace(priority=_LAST, meta=_BEHIND) if kind else request

    def closed(self, reason: str) -> None:
        """Say what stood in place of pages."""
        for line in self._walls.summary():
            self.logger.info("%s", line)

    def _followed(self, response: Response, page: Page, asked: frozenset[str]) -> Iterator[Request]:
        """Yield the requests for the links of *page* that the site does not ask to leave alone."""
        if page.canonical_link:
            target = replace(page, links=(page.canonical_link,))
            for request in self._requests(response, target):
                yield request.replace(priority=_CANONICAL_PRIORITY)
        left: frozenset[str] = frozenset()
        if "nofollow" in asked:
            left = frozenset(page.links)
        elif "rel-nofollow" in self._obeyed:
            left = unendorsed(response)
        if left:
            self.count("robots/nofollow_links", len(left))
            self.logger.info("%d links of %s are not followed: nofollow", len(left), response.url)
            page = replace(page, links=tuple(link for link in page.links if link not in left))
        yield from self._requests(response, page)

    def _requests(self, response: Response, page: Page) -> Iterator[Request]:
        """Yield a request for each page that *page* links to and that is wanted, without fragments.

        The page itself is left out, which Scrapy would drop, unless it may be fetched again.  So are
        pages that Scrapy has a request for; the plugin is told of these.
        """
        request = response.request
        own = "" if request is None or request.dont_filter else without_fragment(request.url)
        known: list[str] = []
        for url in dict.fromkeys(self._urls(response, page)):
            if not url or url == own:
                continue
            if url in self._known:
                known.append(url)
                continue
            with suppress(ValueError):  # a link that is not a URL
                yield Request(url, self.parse)
        DedupSpiderMiddleware.note_links(response, known)

    def _urls(self, response: Response, page: Page) -> Iterator[str]:
        """Yield the addresses that *page* links to, without fragments, "" for one that is not wanted."""
        assert isinstance(response, HtmlResponse)
        try:
            base = get_base_url(response)
        except ValueError:  # the page names one that is no URL
            base = response.url
        folder = found[0] if (found := _FOLDER.match(base)) else base
        links = map(str.strip, page.links)
        if not (self._allow or self._deny):  # which may ask for a fragment
            links = map(without_fragment, links)
        for link in dict.fromkeys(links):
            yield self._wanted(folder if _OF_FOLDER.match(link) else base, link)

    def _joined(self, base: str, link: str) -> str:
        """Return the address of *link* without its fragment, "" for one that is not wanted."""
        try:
            whole = urljoin(base, link)
            return without_fragment(whole) if self._is_restored(whole) else ""
        except ValueError:  # a link that is not a URL
            return ""

    def _note_known(self, request: Request) -> None:
        """Note an address for which Scrapy takes no second request.

        Not when it is yielded: until here a middleware may take it away, as it does for links of copies.
        """
        if request.method != "GET" or request.dont_filter:
            return
        if len(self._known) >= _KNOWN:
            del self._known[next(iter(self._known))]
        self._known[request.url] = None

    def _is_restored(self, url: str) -> bool:
        if not is_web_url(url) or splitext(urlsplit(url).path)[1].lower() in _IGNORED:
            return False
        if self._allow and not self._allow.search(url):
            return False
        return not (self._deny and self._deny.search(url))


def without_fragment(url: str) -> str:
    """Return *url* without what no server is told.

    Where a space stands before the sign nothing is cut off, because a space at the end of a URL is not
    part of it.

    >>> without_fragment("/tea#cups"), without_fragment("#top"), without_fragment("/tea #cups")
    ('/tea', '', '/tea #cups')
    """
    found = _FRAGMENT.search(url)
    return url[: found.start()] if found and found.start() == url.find("#") else url
