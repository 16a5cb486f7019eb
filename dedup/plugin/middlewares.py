"""The middlewares: requests withheld, responses judged, and all that a callback yields."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from dedup.model.hashes import murmur3
from dedup.model.urls import url_key
from dedup.model.verdict import Verdict
from dedup.plugin.feeds import done
from dedup.plugin.judge import Judge
from dedup.plugin.pages import key_of, located, page_from_response
from dedup.plugin.pipeline import Component, DedupPipeline
from dedup.plugin.question import Question
from dedup.plugin.requests import LINK
from dedup.plugin.stats import DuplicatePage
from dedup.plugin.tracking import Exchange, Token, exchange_of, is_asked_for
from dedup.reading.page import judged_part
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)

EXPLORED = 0.05  # the share (0 to 1) of copies that are followed all the same
# So many canonicals that this crawl has not met are remembered, if a copy of each was followed, and so
# many links of copies: one that all copies have counts once.
_REMEMBERED = 20_000


class UrlRulesMiddleware(Component):
    """Withholds requests by the rules for URLs that the crawl obeys, see ``DEDUP_RULES``."""

    def process_request(self, request: Request, spider: Any = None) -> None:
        if self._judge:
            self._judge.rules.ask(request)


class DedupSpiderMiddleware(Component):
    """Tells the pipeline which items are exempt, and hands it the response that gave an item.

    With ``DEDUP_SOURCE = "response"`` an item stands for its response if it is the only one that the
    callback gave, so the first is held back until the callback yields a second item or ends; requests
    pass at once.  A verdict given on the response before its callback is settled here, when the callback
    has ended.
    """

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the requests that rules gave back, then what the spider starts with."""
        for request in self._judge.rules.released() if self._judge else ():
            yield request
        async for output in start:
            yield output

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        if (pipeline := self._pipeline) is None:
            async for output in result:
                yield output
            return
        exempt, exchange = is_exempt(response), exchange_of(response)
        rules = pipeline.judge.rules
        watch, marks, has_ended = None if exempt else rules.watch(response), rules.marks, False
        try:
            if (verdict := exchange.verdict) and verdict.kept:
                exchange.row = verdict.row
            hand_over = partial(self._hand_over, response, exempt=exempt)
            by_response = not exempt and self._settings.source == "response"
            # As far as is known, it is not that of an errback.
            notes = self._crawler.get_spider_middleware(DedupResponseMiddleware) if by_response else None
            is_held_back = by_response and (exchange.is_given or notes is None)
            async for output in one_held_back(result, hand_over) if is_held_back else result:
                if isinstance(output, Request):
                    if watch:
                        watch.links.append(output.url)
                    if marks:
                        output.meta[LINK] = output.url
                elif not is_held_back and output is not None:
                    hand_over(output)
                yield output
            has_ended = True
        finally:  # the callback may have failed, or another middleware
            exchange.has_ended = True
            self._settle(pipeline, exchange, kept=has_ended)
            rules.settled(exchange, is_whole=has_ended)
            if isinstance(response, TextResponse):  # it and its selector hold each other, and the tree
                response._cached_selector = None

    def _hand_over(self, response: Response, item: Any, *, exempt: bool, is_only: bool = False) -> None:
        assert self._pipeline
        exchange = exchange_of(response)
        verdict = exchange.verdict
        is_restored = verdict is not None and verdict.is_restored
        token = Token(item, exchange, is_only, exempt, is_restored)
        # The verdict on its response was given without its key.
        if is_only and not key_of(item, self._settings.fields):
            exchange.verdict = exchange.row = None
            if verdict and verdict.row is not None:
                token.is_only, token.verdict = False, verdict
        self._pipeline.tracker.hand_over(token, response)

    def _settle(self, pipeline: DedupPipeline, exchange: Exchange, *, kept: bool) -> None:
        """Settle a response that was judged before its callback, unless its items decide later.

        Where the links of its copies are skipped, everything is lost if its own items are.
        """
        verdict, exchange.verdict = exchange.verdict, None
        if verdict is None:
            return
        pipeline.judge.rules.judged(exchange, verdict, is_page=True)
        if not kept and verdict.kept and verdict.row is not None:
            pipeline.judge.settler.note_fate(verdict.row, kept=False)
            exchange.row = None
        pipeline.settle_page(exchange)


async def one_held_back(
    result: AsyncIterator[Any], hand_over: Callable[..., None]
) -> AsyncIterator[Any]:
    """Yield all of *result*, and hand over its items; a single one comes last, with *is_only*."""
    held: list[Any] = []
    is_only, failure = True, None
    try:
        async for output in result:
            if output is None or isinstance(output, Request):
                yield output
            elif is_only and not held:
                # A callback may fill the same dict again while this one waits; of other types nothing
                # is known, so they are not copied.
                held.append(dict(output) if type(output) is dict else output)
            else:
                is_only = False
                for item in [*held, output]:
                    hand_over(item)
                    yield item
                held.clear()
    except GeneratorExit:
        raise
    except BaseException as error:  # even a cancelled callback: what it yielded before is not lost
        failure = error
    for item in held:
        hand_over(item, is_only=failure is None)
        yield item
    if failure:
        raise failure


def is_exempt(response: Response) -> bool:
    """Return whether the request of *response* has ``meta={"dedup": False}``."""
    return response.request is not None and response.request.meta.get("dedup") is False


class DedupResponseMiddleware(Component):
    """Judges responses, and skips the links of those that are copies.

    Unless ``DEDUP_ACTION`` is "skip" it judges none, and only reads them before a callback can change
    their trees: with ``DEDUP_SOURCE = "item"`` those whose items will probably hold their text.  Start
    pages and a share of the copies (`EXPLORED`, chosen by URL, the same ones each time) are followed
    nevertheless, so that a crawl does not run out of links.  A response that repeats one whose callback
    is still running is not judged.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        super().__init__(crawler, settings)
        # The canonicals that this crawl has not met, but a copy of which was followed.
        self._followed: set[int] = set()
        self._saved: set[str] = set()
        if not settings.skips_links:
            # Scrapy passes the output of a callback through each middleware that has this method.
            self.process_spider_output = None  # type: ignore[assignment, method-assign]

    def process_spider_input(self, response: Response, spider: Any = None) -> None:
        judge = self._judge
        if judge is None or is_exempt(response):
            return
        if not self._settings.skips_links:
            self._read(response)
        elif judge.index.is_remote:
            self._judge_later(response, judge)
        else:
            question = self._question(response, judge)
            self._act(response, judge, judge.ask(question) if question else None)

    def _read(self, response: Response) -> None:
        assert self._pipeline
        reader, timed = self._pipeline.reader, self._pipeline.judge.counts.timed
        with suppress(Exception):  # the pipeline tries again, and reports it
            if self._settings.source == "item":
                timed("parse", reader.read_ahead, response)
            else:
                exchange_of(response).is_given = True
                timed("parse", page_from_response, response)

    def _judge_later(self, response: Response, judge: Judge) -> None:
        """Replace the callback of the response with one that runs it when there is a verdict.

        The callback is put back before it runs, so that requests made from its request do not hold ours.
        """
        request, spider = response.request, self._crawler.spider
        assert request is not None
        assert spider is not None
        own = request.callback

        async def judged(response: Response, **given: Any) -> Any:
            request.callback = own
            question = self._question(response, judge)
            # It need not wait: what leans on a pending page is followed.
            self._act(response, judge, await judge.ask_in_turn(question) if question else None)
            return await done((own or spider._parse)(response, **given))

        request.callback = judged

    def _question(self, response: Response, judge: Judge) -> Question | None:
        try:
            page = judge.counts.timed("parse", page_from_response, response)
            if page is None:
                return None
            page = located(judged_part(page, self._settings.ignore, lambda: response.text), response)
            # There are no rows of this response yet.
            siblings: set[int] | None = set() if is_asked_for(response, page.url) else None
            return judge.prepared(Question(page, "page", siblings=siblings, response=response))
        except Exception:
            # A page that we cannot read is our error: a traceback is logged, and it is followed.
            logger.exception("A response could not be judged and is followed")
            return None

    def _act(self, response: Response, judge: Judge, verdict: Verdict | None) -> None:
        judge.counts.add("responses/seen")
        exchange = exchange_of(response)
        exchange.is_given, exchange.verdict = True, verdict
        if verdict is None:
            judge.counts.add("responses/not_judged")
            return
        judge.counts.add(f"responses/{verdict.reason}" if verdict.row else "responses/undecided")
        if verdict.row is not None and self._skips(response, verdict, judge):
            logger.info("Skipped the links of %s", DuplicatePage(response.url, verdict))
            exchange.is_cut = True

    def _skips(self, response: Response, verdict: Verdict, judge: Judge) -> bool:
        if not verdict.repeats_another or verdict.kept:
            return False
        # Where no copy was followed either, the links of a site that has moved would never be found;
        # where all were, a trap there would never end.
        if not verdict.canonical_was_met and verdict.canonical not in self._followed:
            judge.counts.add("responses/canonical_not_met")
            exchange_of(response).leads_for = verdict.canonical
            return False
        if response.request is None or not response.request.meta.get("depth"):
            return False
        if murmur3(response.url) < EXPLORED * 2**64:
            judge.counts.add("responses/explored")
            return False
        return True

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """Yield what the callback yields, without the requests of a copy."""
        exchange = exchange_of(response)
        judge = self._judge if exchange.is_cut else None
        verdict = exchange.verdict if judge else None
        led: list[str] = []
        try:
            async for output in result:
                if judge and isinstance(output, Request):
                    led.append(output.url)
                else:
                    yield output
            if exchange.leads_for and len(self._followed) < _REMEMBERED:
                self._followed.add(exchange.leads_for)
        finally:
            if judge:
                if watch := judge.rules.watch(response):
                    watch.links += led
                links = [url for url in dict.fromkeys(map(url_key, led)) if url not in self._saved]
                self._saved.update(links[: _REMEMBERED - len(self._saved)])
                if links:
                    judge.counts.add("requests_saved", len(links))
                if verdict and verdict.row is not None:
                    judge.withhold(links)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Any = None
    ) -> Iterable[Any] | None:
        """Release a page whose callback failed."""
        judge, exchange = self._judge, exchange_of(response)
        exchange.is_cut = exchange.is_given = False
        verdict, exchange.verdict = exchange.verdict, None
        if judge and verdict and verdict.kept and verdict.row is not None:
            judge.settler.note_fate(verdict.row, kept=False)
        return None
