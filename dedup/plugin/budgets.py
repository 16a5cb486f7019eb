"""The middleware of budgets: it makes no requests that would bring nothing new."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from dedup.index.notes import REMOVED
from dedup.model.errors import printable
from dedup.model.hashes import digest
from dedup.model.urls import host_of
from dedup.plugin.pages import page_from_response
from dedup.plugin.pipeline import Component
from dedup.plugin.requests import BY_RULE, NotVisited, NotVisitedUrl, kept_request, parked, request_read
from dedup.prints.fingerprinter import sample_of
from dedup.reading.page import Page, judged_part
from dedup.settings import DedupSettings
from dedup.urls.budget import ALONE, NEWS, Budgets, Leaves, Link, News, beyond, is_chosen

logger = logging.getLogger(__name__)

STATE = "dedup_budgets"  # what was learned, among what Scrapy saves of the spider of a job
_MET = "dedup_met"


class BudgetMiddleware(Component):
    """Parks requests by what the pages of their pattern have brought; see `dedup.urls.budget.Budgets`.

    A page brings something new if it has `NEWS` phrases that no page before it had, or if a page that
    it links to has (by ``Referer``).  Then what was parked of the pattern is requested again; when
    nothing else is left to do, what is parked of a part of the site that has an end, see
    `dedup.urls.budget.Leaves`.  Start requests, those with ``meta={"dedup": False}`` and those that a
    pattern of the spider in ``dedup_follow`` names are always made.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        super().__init__(crawler, settings)
        self._follow: tuple[str, ...] = ()
        self._budgets, self._news, self._leaves = Budgets(), News(), Leaves()
        self._leaf_urls: set[str] = set()
        self._not_visited = parked(crawler)
        self._looks, self._looks_when_idle = 0, -1

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        crawler.signals.connect(middleware.spider_opened, signals.spider_opened)
        crawler.signals.connect(middleware.spider_idle, signals.spider_idle)
        return middleware

    def spider_opened(self, spider: Spider) -> None:
        """Go on with what an earlier crawl of the job has learned, and has not visited."""
        follow = getattr(spider, "dedup_follow", ())  # in a list, or with commas as on a command line
        parts = follow.split(",") if isinstance(follow, str) else follow
        self._follow = tuple(filter(None, map(str.strip, parts)))
        # Scrapy has it from an earlier crawl of a job, and saves it at the end of this one.
        state = getattr(spider, "state", {})
        learned = state.setdefault(STATE, (self._budgets, self._news, self._leaves))
        self._budgets, self._news, self._leaves = learned
        if self._follow:
            left = (one for one in self._not_visited if not one.why.startswith(BY_RULE))
            chosen = [one.url for one in left if is_chosen(one.url, one.why, self._follow)]
            self._make(self._not_visited.take_urls(chosen))

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Raise `IgnoreRequest` for a request whose pattern has brought nothing new, and park it."""
        if _is_free(request) or "retry_times" in request.meta:
            return
        depth = int(request.meta.get("depth", 0))
        # The value is for one URL only: callbacks copy the meta of responses into requests of their own.
        url, is_met = request.url, request.meta.get(_MET) == request.url
        if depth and not is_met:
            self._leaves.named(_link_of(url, request.meta, request.headers.get("Referer")))
        is_leaf = url in self._leaf_urls
        self._leaf_urls.discard(url)
        name = beyond(url, depth) if depth and not is_leaf else ""
        name = name or self._budgets.ask(url, is_met=is_met or not depth, is_leaf=is_leaf)
        if not name or not depth or is_chosen(url, name, self._follow):
            self._looks += 1
            return
        request.meta[_MET] = url
        self._not_visited.add(name, url, kept_request(request, self._crawler))
        raise IgnoreRequest(f"not visited: {name}")

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        if _is_free(request):
            return response
        if response.status in REMOVED:
            # A dead link names no address, so a part of the site that is full of them has an end, too.
            self._nothing_new(request)
        if not 200 <= response.status < 300:
            return response
        try:
            if not self._is_new(response):
                self._nothing_new(request)
                return response
            urls = [*request.meta.get("redirect_urls", ()), request.url]
            if referrer := request.headers.get("Referer"):
                urls.append(referrer.decode("latin-1"))
            for url in dict.fromkeys(urls):
                for pattern, looks in self._budgets.credit(url).items():
                    self._make(self._not_visited.take(pattern, looks))
        except Exception:
            # A page that we cannot read is our error: nothing is parked for it.
            logger.exception("It is not known whether <%s> is new", printable(response.url))
        return response

    def spider_idle(self) -> None:
        """Request what is parked of parts of the site that have an end, if there are any new looks."""
        if self._looks == self._looks_when_idle:
            return
        self._looks_when_idle = self._looks
        self._leaf_urls = self._leaves.chosen(partial(_links, self._not_visited))
        if self._leaf_urls:
            self._make(self._not_visited.take_urls(self._leaf_urls))

    def _is_new(self, response: Response) -> bool:
        host = host_of(response.url)
        page = page_from_response(response)
        if page is None and isinstance(response, TextResponse):
            page = Page.from_text(response.text)
        if page is None or page.excess is not None:
            return self._news.of(host, digest(response.body)) > 0
        page = judged_part(page, self._settings.ignore, lambda: response.text)
        return self._news.of(host, sample_of(ALONE.sub("0", page.text))) >= NEWS

    def _nothing_new(self, request: Request) -> None:
        self._leaves.in_vain(request.url, int(request.meta.get("depth", 0)))

    def _make(self, addresses: Iterable[NotVisitedUrl]) -> None:
        engine = self._crawler.engine
        assert engine is not None
        for one in addresses:
            request = request_read(one.request, self._crawler)
            if request is None:
                logger.warning("<%s> is visited with the default callback", printable(one.url))
                request = Request(one.url, dont_filter=True, meta={_MET: one.url, "depth": 1})
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value("dedup/parked/visited")
            engine.crawl(request)


def _is_free(request: Request) -> bool:
    return request.callback is NO_CALLBACK or request.meta.get("dedup") is False


def _link_of(url: str, meta: dict[str, Any], referrer: bytes | None) -> Link:
    """Return the link to *url*: the page that has it named it, or the address that was redirected.

    Where that is not known, the address counts as if pages of its own part had named it.  Some sites
    let nobody know more of it than their host.
    """
    depth = int(meta.get("depth", 0))
    named = (meta.get("redirect_urls") or [(referrer or b"").decode("latin-1")])[-1]
    is_known = bool(named.partition("://")[2].partition("/")[2]) or (depth == 1 and bool(named))
    return Link(url, depth, named if is_known else url)


def _links(addresses: NotVisited) -> Iterator[Link]:
    for one in addresses:
        if one.request and not one.why.startswith(BY_RULE):
            request = json.loads(one.request)
            referrer = request["headers"].get("Referer", [""])[0]
            yield _link_of(one.url, request["meta"], referrer.encode("latin-1"))
