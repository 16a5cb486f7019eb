"""The downloader middleware: it downloads no copy that a rule knows, nor faster than is judged."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest, NotConfigured

from dedup.index.index import is_address
from dedup.index.url_rules import WithheldRequest
from dedup.plugin.older import item_pipeline
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.settings import index_path, only_looks, read_settings
from dedup.plugin.waiting import Future, Waiter

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedup.plugin.judge import Judge
    from dedup.plugin.rules import Answered, CrawlRules

logger = logging.getLogger(__name__)


class RequestWithheld(IgnoreRequest):
    """The request would bring a page that this crawl has; *held* says by which rule, and which page."""

    def __init__(self, held: WithheldRequest, words: str) -> None:
        super().__init__(words)
        self.held = held


class UrlRulesMiddleware:
    """Withholds requests by the rules that act, where ``DEDUP_RULES`` is ``"use"``.

    With an index on a server that is behind, requests wait for it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UrlRulesMiddleware:
        settings = read_settings(crawler.settings)
        if only_looks() or (settings.rules == "off" and not is_address(index_path(settings))):
            raise NotConfigured
        reads_robots = crawler.settings.getbool("ROBOTSTXT_OBEY")
        return RobotsReadingMiddleware(crawler) if reads_robots else cls(crawler)

    @cached_property
    def _judge(self) -> Judge | None:
        """The judge of this crawl, None in one whose pipeline is switched off."""
        pipeline = item_pipeline(self._crawler, DedupPipeline)
        return pipeline.judge if pipeline else None

    @property
    def rules(self) -> CrawlRules | None:
        """The rules of this crawl, None in one whose pipeline is switched off."""
        return self._judge.rules if self._judge else None

    def process_request(self, request: Request, spider: Any = None) -> Any:
        """Raise `RequestWithheld` for a request that is not to be made; may return an awaitable."""
        judge = self._judge
        if judge is None:
            return None
        if judge.is_behind:
            return self._hold(request, judge)
        return self._ask(request, judge.rules)

    async def _hold(self, request: Request, judge: Judge) -> None:
        """Make *request* when the index has caught up: Scrapy then takes no others meanwhile."""
        judge.counts.add("held_back")
        await judge.catch_up()
        waiting = self._ask(request, judge.rules)
        if waiting is not None:
            await waiting

    def _ask(self, request: Request, rules: CrawlRules) -> Coroutine[Any, Any, None] | None:
        answered = _answer(rules, request)
        if isinstance(answered, Future | Waiter):
            return self._wait(answered, request, rules)
        _act(answered, rules)
        return None

    async def _wait(self, answered: Answered, request: Request, rules: CrawlRules) -> None:
        if isinstance(answered, Waiter):
            await rules.wait(answered)
            answered = _answer(rules, request, can_wait=False)
        _act(await answered if isinstance(answered, Future) else answered, rules)

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        """Note a response that is no page."""
        if self.rules and not 200 <= response.status < 300:
            self.rules.gone(request)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        """Note a request that has failed."""
        if self.rules:
            self.rules.gone(request)


def _answer(rules: CrawlRules, request: Request, *, can_wait: bool = True) -> Answered:
    try:
        return rules.ask(request, can_wait=can_wait)
    except Exception:
        # A rule that fails withholds nothing.
        logger.exception("The rules for URLs could not be asked, the request is made")
        return None


def _act(held: Answered, rules: CrawlRules) -> None:
    if isinstance(held, WithheldRequest):
        words = rules.words(held)
        logger.info("Withheld: %s", words)
        raise RequestWithheld(held, words)


class RobotsReadingMiddleware(UrlRulesMiddleware):
    """The same for crawls that fetch robots.txt: what it says about parameters is evidence."""

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        """Read a robots.txt that passes."""
        if response.status == 200 and response.url.endswith("/robots.txt") and self.rules:
            self.rules.robots(response.url, response.body)
        return super().process_response(request, response, spider)
