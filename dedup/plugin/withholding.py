"""The downloader middleware: it does not download what a rule says is a copy."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest, NotConfigured

from dedup.index.url_rules import WithheldRequest
from dedup.plugin.older import item_pipeline
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.settings import only_looks, read_settings
from dedup.plugin.waiting import Future, Waiter

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedup.plugin.rules import Answered, CrawlRules

logger = logging.getLogger(__name__)


class RequestWithheld(IgnoreRequest):
    """The request would bring a page that this crawl has; *held* says by which rule, and which page."""

    def __init__(self, held: WithheldRequest, words: str) -> None:
        super().__init__(words)
        self.held = held


class UrlRulesMiddleware:
    """Withholds requests by the rules that act, where ``DEDUP_RULES`` is ``"use"``."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UrlRulesMiddleware:
        if only_looks() or read_settings(crawler.settings).rules == "off":
            raise NotConfigured
        reads_robots = crawler.settings.getbool("ROBOTSTXT_OBEY")
        return RobotsReadingMiddleware(crawler) if reads_robots else cls(crawler)

    @cached_property
    def rules(self) -> CrawlRules | None:
        """The rules of this crawl, None in one whose pipeline is switched off."""
        pipeline = item_pipeline(self._crawler, DedupPipeline)
        return pipeline.judge.rules if pipeline else None

    def process_request(self, request: Request, spider: Any = None) -> Any:
        """Raise `RequestWithheld` for a request that is not to be made; may return an awaitable."""
        rules = self.rules
        if rules is None:
            return None
        answered = _answer(rules, request)
        if isinstance(answered, Future | Waiter):
            return self._wait(answered, request, rules)
        return _act(answered, rules)

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
