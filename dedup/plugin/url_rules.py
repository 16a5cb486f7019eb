"""The rules for URLs of one crawl: those that it obeys, and those that it proposes at its end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from dedup.index.index import Detector
from dedup.index.notes import UrlRules
from dedup.index.rows import IS_WANTED_BACK
from dedup.model.errors import counted, printable
from dedup.model.urls import url_key
from dedup.model.verdict import Verdict
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.requests import BY_RULE, is_of_link, kept_request, parked, request_read, signature_of
from dedup.plugin.tracking import Exchange, Watch, exchange_of
from dedup.urls import rule as url_rule
from dedup.urls.rule import MOST_URLS, Counterexample, KnownPage, Obeyed, Proposal, Rule, Rules, UrlVisit

logger = logging.getLogger(__name__)

_MOST_LINKS = 4_000_000  # that are remembered; of a larger crawl nothing is proposed
_AND = " and "


class RequestWithheld(IgnoreRequest):
    """The request would bring the *page* again that this crawl has; see `dedup.urls.rule.KnownPage`."""

    def __init__(self, url: str, page: KnownPage) -> None:
        why = " and ".join(rule.words for rule in sorted(page.rules))
        super().__init__(f"<{printable(url)}> is <{printable(page.url)}> again: {why}")
        self.page = page


class CrawlRules:
    """The rules of one crawl.  Without any, and with ``DEDUP_RULES = "propose"``, nothing changes."""

    def __init__(self, index: CrawlIndex) -> None:
        self._index, self._counts = index, index.counts
        self._crawler, self._settings = index.crawler, index.settings
        file = Path(self._settings.rules)
        self._read = url_rule.read_rules(file) if self._settings.obeys_file else []
        self._obeyed = Obeyed()
        self._accepted: dict[Rule, Proposal] = {}
        self._is_open = False
        # What others have met, or an earlier part of this crawl, nobody knows here.
        self._knows_all = True
        self._wanted: frozenset[str] = frozenset()
        self._signatures: WeakKeyDictionary[Request, str | None] = WeakKeyDictionary()
        self._urls: dict[str, str] = {}  # each once
        self._visits: list[UrlVisit] = []
        self._links = 0
        # By row: the canonical that a kept page was kept in place of.
        self._represents: dict[int, int] = {}

    def open(self, at: Detector) -> None:
        settings = self._settings
        if settings.rules == "off":
            return
        self._is_open, self._knows_all = True, not (self._index.goes_on or settings.crawl)
        if settings.rules == "propose" or settings.is_dry:
            return
        book = UrlRules(at.index.store)
        if settings.rules == "use":
            self._accepted = {one.rule: one for one in book.accepted(at.run.spider)}
        rules, wrong = self._read or list(self._accepted), book.wrong()
        for one in (wrong[rule] for rule in rules if rule in wrong):
            logger.warning("A rule stays switched off: %s; see `dedup rules`", _against(one))
        acting = [rule for rule in rules if rule not in wrong]
        self._obeyed = Obeyed(acting, at.run.id, knows_all=self._knows_all)
        self._wanted = frozenset(row.sighting.url_key for row in at.index.store.rows(IS_WANTED_BACK))
        obeyed = counted(len(acting), "rule for URLs is", "rules for URLs are")
        logger.info("%s obeyed", obeyed)

    def released(self) -> Iterator[Request]:
        """Yield the requests that were withheld, earlier in this job too, by rules that act no more."""
        held = parked(self._crawler)
        for why in held.counts():
            named = why.removeprefix(BY_RULE).split(_AND) if why.startswith(BY_RULE) else []
            if not self._obeyed.rules.all.issuperset(Rule(*rule.split(" ", 2)) for rule in named):
                for one in held.take(why):
                    if request := request_read(one.request, self._crawler):
                        self._counts.add("rules/asked_again")
                        yield request

    def close(self) -> None:
        with self._guarded():
            self._propose()
        self._give_up()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let nothing inside fail: after an error this crawl has no rules."""
        try:
            yield
        except Exception:
            logger.exception("No rules for URLs are proposed or obeyed from now on")
            self._give_up()
            self._resume()

    def _give_up(self) -> None:
        self._is_open, self._obeyed = False, Obeyed()

    def _propose(self) -> None:
        if not self._is_open or not self._knows_all or self._is_full:
            return
        found = {one.rule: one for one in url_rule.propose(self._visits)}
        for rule in self._obeyed.rules.all & self._accepted.keys():  # nothing was against them
            found[rule] = self._accepted[rule]
        if found:
            self._counts.add("rules/proposed", len(found))
        if found and self._settings.rules == "propose":
            normal = Rules(found).normal
            saved = len(self._visits) - len({normal(one.url) for one in self._visits})
            logger.info(
                "%s proposed, which would have saved %s of this crawl; see `dedup rules`",
                counted(len(found), "rule for URLs is", "rules for URLs are"),
                counted(saved, "request"),
            )
        if not self._settings.is_dry:
            new = list(found.values())
            self._index.do(lambda at: UrlRules(at.index.store).propose(at.run.id, at.run.spider, new))

    @property
    def marks(self) -> bool:
        """Whether requests that a callback yields are to be marked, as rules may withhold them."""
        return bool(self._obeyed.rules.all)

    def ask(self, request: Request) -> None:
        """Raise `RequestWithheld` for a request that is not to be made."""
        if not self.marks:
            return
        held = None
        try:
            # Later there are the headers of Scrapy's middlewares.
            signature = self._signatures[request] = signature_of(request)
            if signature is None or not is_of_link(request):
                return
            if url_key(request.url) in self._wanted:
                return
            page = self._obeyed.page_for(request.url, signature)
            if page and (kept := kept_request(request, self._crawler)):
                why = BY_RULE + _AND.join(" ".join(rule) for rule in sorted(page.rules))
                parked(self._crawler).add(why, request.url, kept)
                self._counts.add("rules/withheld")
                held = RequestWithheld(request.url, page)
                logger.info("Withheld: %s", held)
        except Exception:
            # A rule that fails withholds nothing.
            logger.exception("The rules for URLs could not be asked, the request is made")
        if held:
            raise held

    def watch(self, response: Response) -> Watch | None:
        """Return the `Watch` of *response*, None where nothing is to be learned from it."""
        if not self._is_open or response.request is None or not 200 <= response.status < 300:
            return None
        exchange, request = exchange_of(response), response.request
        if exchange.watch is None:
            urls = [*map(str, request.meta.get("redirect_urls") or ()), response.url]
            exchange.watch = Watch(urls, self._signatures.get(request))
        return exchange.watch

    def judged(self, exchange: Exchange, verdict: Verdict, *, is_page: bool = False) -> None:
        """Note the verdict on an item of a response, or on the response, if no item stands for it."""
        if (watch := exchange.watch) is None:
            return
        with self._guarded():
            watch.pages += is_page
            shown = verdict.represents or verdict.canonical or verdict.row
            if verdict.row is None or shown is None:
                watch.is_spoiled = True
                return
            if verdict.kept and verdict.represents:
                self._represents[verdict.row] = verdict.represents
            watch.shows.append(self._represents.get(shown, shown))
            watch.more = watch.more or bool(verdict.lost)
            if verdict.repeats_another:  # it may be a login page, where there will be another one
                urls = watch.urls[-1], verdict.canonical_url
                keys = {self._obeyed.rules.normal(url)[0] for url in urls}
                watch.stands = watch.stands and len(keys) == 1

    def settled(self, exchange: Exchange, *, is_whole: bool) -> None:
        """Note that an item is settled, or that a callback has ended; it failed unless it *is_whole*."""
        watch = exchange.watch if self._is_open else None
        if watch is None:
            return
        watch.is_spoiled = watch.is_spoiled or not is_whole
        if exchange.is_open:
            return
        exchange.watch = None
        with self._guarded():
            is_known = 0 < len(watch.shows) == exchange.items + watch.pages and not watch.is_spoiled
            shows = tuple(sorted(watch.shows)) if is_known else None
            watch.links = [*dict.fromkeys(map(url_rule.without_anchor, watch.links))]
            self._note(watch, shows)
            if self.marks and watch.signature is not None:
                self._check(watch, watch.signature, shows)

    def _note(self, watch: Watch, shows: tuple[int, ...] | None) -> None:
        self._links += len(watch.links)
        if self._is_full or not self._knows_all:
            self._visits.clear()
            return
        known = self._urls.setdefault
        links = tuple(map(known, watch.links, watch.links))
        self._visits += [UrlVisit(known(url, url), shows, links, watch.more) for url in watch.urls]

    @property
    def _is_full(self) -> bool:
        return len(self._urls) > MOST_URLS or self._links > _MOST_LINKS

    def _check(self, watch: Watch, signature: str, shows: tuple[int, ...] | None) -> None:
        wrong = self._obeyed.learn(watch.urls, signature, shows, watch.links, counts=watch.stands)
        for found in wrong:
            logger.warning("A rule is switched off: %s", _against(found))
            self._counts.add("rules/switched_off")
        if wrong:
            self._index.do(lambda at: UrlRules(at.index.store).note_wrong(at.run.id, wrong))
            self._resume()

    def _resume(self) -> None:
        assert self._crawler.engine is not None
        for request in self.released():
            self._crawler.engine.crawl(request)


def _against(one: Counterexample) -> str:
    pair = f"<{printable(one.url)}> is not <{printable(one.other)}>"
    return f"{printable(one.rule.host)}: {one.rule.words}; but {pair}: {printable(one.reason)}"
