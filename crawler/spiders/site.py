"""Crawl whole sites by following their links."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from posixpath import splitext
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.settings import BaseSettings
from scrapy.utils.response import get_base_url

from crawler import page_spider as arguments
from crawler.page_spider import PageItem, PageSpider, is_web_url
from crawler.politeness import asks_for_nofollow
from dedup import Page

_IGNORED = frozenset("." + extension for extension in IGNORED_EXTENSIONS)
# Each link from the start page costs 1: what a page calls its canonical is fetched before pages as deep
# as the page itself.
_CANONICAL_PRIORITY = 2
_BUDGET_PRIORITY = 110  # what robots.txt (100) forbids is no look


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
        self.start_urls = arguments.read_urls("url", url)
        self.allowed_domains = arguments.read_domains(self.start_urls, domains)
        self._max_pages = arguments.read_number("max_pages", max_pages)
        self._max_depth = arguments.read_number("max_depth", max_depth)
        self._allow = arguments.read_pattern("allow", allow)
        self._deny = arguments.read_pattern("deny", deny)
        self._pages = 0

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put the budgets into their place: what sitemaps and lists name is visited without."""
        super().update_settings(settings)
        there = settings.getdict("DOWNLOADER_MIDDLEWARES")
        all_of_them = {"dedup.plugin.BudgetMiddleware": _BUDGET_PRIORITY, **there}
        settings.set("DOWNLOADER_MIDDLEWARES", all_of_them, priority="spider")

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
        yield self.item(response, page)
        if self._max_depth is None or response.meta.get("depth", 0) < self._max_depth:
            yield from self._followed(response, page)

    def _followed(self, response: Response, page: Page) -> Iterator[Request]:
        """Yield the requests for the links of *page*, unless the site asks to leave them alone."""
        if page.canonical_link:
            for request in self._requests(response, [page.canonical_link]):
                yield request.replace(priority=_CANONICAL_PRIORITY)
        if asks_for_nofollow(response):
            self.count("robots/nofollow_links", len(page.links))
            self.logger.info("%d links of %s are not followed: nofollow", len(page.links), response.url)
        else:
            yield from self._requests(response, page.links)

    def _requests(self, response: Response, links: Iterable[str]) -> Iterator[Request]:
        """Yield a request for each page that *links* lead to and that is wanted."""
        try:
            base = get_base_url(response)  # type: ignore[arg-type]
        except ValueError:  # the page names one that is no URL
            base = response.url
        seen: set[str] = set()
        # Most links of a manual lead to places of a few pages; "#" alone leads to the page itself.
        for link in dict.fromkeys(link.strip().partition("#")[0] or "#" for link in links):
            with suppress(ValueError):  # a link that is not a URL
                url = urljoin(base, link)
                if url not in seen and self._is_wanted(url):
                    seen.add(url)
                    yield Request(url, self.parse)

    def _is_wanted(self, url: str) -> bool:
        if not is_web_url(url) or splitext(urlsplit(url).path)[1].lower() in _IGNORED:
            return False
        if self._allow and not self._allow.search(url):
            return False
        return not (self._deny and self._deny.search(url))
