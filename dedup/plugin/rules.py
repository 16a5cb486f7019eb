"""The rules for URLs of one crawl: learned from what its pages are judged to be, tested, and used."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec
from weakref import WeakKeyDictionary

from scrapy import Request

from dedup.front.settings import DedupSettings
from dedup.index.index import Index
from dedup.index.url_rules import UrlRules, WithheldRequest, seen_of
from dedup.plugin.notices import CrawlStats
from dedup.plugin.requests import (
    is_link,
    is_open_to_rules,
    kept_request,
    request_again,
    signature_of,
)
from dedup.plugin.tracking import Exchange, exchange_of
from dedup.plugin.waiting import Future, InFlight, Waiter
from dedup.urls.evidence import State
from dedup.urls.learner import OTHER_CONTENT, OTHER_LINKS, Learner, Prediction, RuleRecord
from dedup.urls.learning import MOST_COUNTED, Clarity, Clearness
from dedup.urls.names import clean_params
from dedup.urls.parts import Parts
from dedup.urls.views import Page
from dedup.values.printable import printable
from dedup.values.run import DRY_RUN, Run
from dedup.values.urls import host_of, joined_key
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

Answered = WithheldRequest | Future[WithheldRequest | None] | Waiter | None
"""Why a request is not to be made, now or later; None to make it; a waiter to wait and ask again."""

COUNTED_STATES = (State.CANDIDATE, State.TRIAL, State.ACTIVE, State.SUSPENDED)
# What was learned is stored at most once in so many seconds.
_STORED_EVERY = 5.0
_MOST_ROBOTS = 500_000
_P = ParamSpec("_P")

Do = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""Asks the index, and calls the second function with the answer, None where there is none."""


def _ignored(_: object) -> None:
    """Take an answer that nobody needs."""


def _guarded(
    method: Callable[Concatenate[CrawlRules, _P], None],
) -> Callable[Concatenate[CrawlRules, _P], None]:
    """Return *method* of `CrawlRules` so that it cannot fail: after an error this crawl has no rules.

    Its seconds are counted.
    """

    def guarded(self: CrawlRules, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        begin = perf_counter()
        try:
            method(self, *args, **kwargs)
        except Exception:
            logger.exception("No rules for URLs are learned or used from now on")
            self.give_up()
        self._seconds += perf_counter() - begin

    return wraps(method)(guarded)


@dataclass(slots=True, eq=False)
class Watch:
    """What becomes of a request and of its response, what its items are judged to be, where it leads.

    *signature* says how it was made (see `signature_of`), *predictions* what rules say of its page;
    others wait for it by *key*.  *url* is that of the response, *size* that of its body in bytes,
    *came_by* are the URLs that redirected to it.  *rows* are the kept rows that have its *contents*,
    *pages* how many of them are of the response itself.  *new* are the predictions by which it led to
    something new to this crawl.  Nothing is learned from one that *is_spoiled*.
    """

    signature: str | None
    is_open: bool = False
    key: Parts | None = None
    predictions: Sequence[Prediction] = ()
    url: str = ""
    size: int = 0
    came_by: Sequence[str] = ()
    contents: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    new: set[Prediction] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    pages: int = 0
    clarity: Clarity = Clarity.CLEAR
    is_own: bool = True
    is_spoiled: bool = False


class CrawlRules:
    """The rules of one crawl; in a crawl without any, every method does nothing.

    With ``DEDUP_RULES = "learn"`` nothing in the crawl changes.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings, counts: CrawlStats) -> None:
        self.uses = settings.rules == "use" and not settings.dry_run
        self.learns = settings.rules != "off"
        self._crawler = crawler
        self._settings = settings
        self._counts = counts
        self._learner = Learner()
        self._book: UrlRules | None = None
        self._do: Do = lambda ask, then: then(ask())
        self._run: Run | None = None
        self._knows_all = True
        self._watches: WeakKeyDictionary[Request, Watch] = WeakKeyDictionary()
        # By row: the canonical that a kept page was kept in place of.
        self._represents: dict[int, int] = {}
        self._in_flight = InFlight(crawler.settings.getint("CONCURRENT_REQUESTS") // 2)
        self._clearness = Clearness()
        self._held: list[WithheldRequest] = []
        # URLs withheld as their rule was found wrong: these requests go on, others are made again.
        self._made_at_once: set[str] = set()
        self._stored = 0.0
        self._saved = [0, 0]
        self._seconds = 0.0

    # Beginning and end

    def open(self, index: Index, run: Run, do: Do, *, goes_on: bool) -> None:
        """Begin with what *index* knows; a run that *goes_on* has met pages that nobody remembers.

        From then on the index is asked through *do*: a file at once, a server when it is its turn.
        """
        if not self.learns:
            return
        self._book, self._run, self._do = UrlRules(index.store), run, do
        self._knows_all = not (goes_on or self._settings.crawl)
        self._learner = Learner(self._book.records(run.id), self._changed)
        for page in self._book.take_pages(run.id) if goes_on else ():
            self._learner.page(page)
        self._held = self._book.withheld_requests(run.id) if goes_on else []
        self._stored = monotonic()

    def again(self) -> Iterator[Request]:
        """Yield the requests that an earlier part of this run withheld by rules that no longer act."""
        active = {one.rule.id for one in self._learner.records.values() if one.state is State.ACTIVE}
        withheld_requests, self._held = self._held, []
        for held in withheld_requests:
            if not held.was_made and not active.issuperset(held.rules):
                yield from self._made([held])

    def close(self, reason: str) -> None:
        """Store what was learned, and, for a paused job, which pages were seen."""
        if self._book is None or self._run is None:
            return
        self._replay()
        self._store()
        if self._run.job and reason != "finished":
            book, run = self._book, self._run
            pages = list(self._learner.pages())
            self._do(lambda: book.save_pages(run.id, pages), _ignored)
        states = Counter(record.state for record in self._learner.records.values())
        active = states[State.ACTIVE]
        for state in COUNTED_STATES:
            if found := states[state]:
                self._counts.add(f"rules/{state}", found)
        self._counts.add("rules/seconds", round(self._seconds, 6))
        requests, size = self._saved
        if not self.uses and requests:
            logger.info(
                'DEDUP_RULES = "use" would have saved up to %d requests and %d bytes of this crawl by '
                "%d rules; see `dedup rules`",
                *(requests, size, active),
            )
        self.give_up()

    @_guarded
    def _replay(self) -> None:
        """Learn from the whole crawl what its order has hidden."""
        self._learner.replay()

    def follow_run(self, run: Run) -> None:
        """Go on in *run*, which replaces one that others have ended."""
        self._run = run

    def give_up(self) -> None:
        """Do nothing any more."""
        self._book = None
        self._in_flight.clear()

    def _store(self) -> None:
        if self._book is None or self._run is None or self._run.action == DRY_RUN:
            return
        changed = [record for record in self._learner.changed_records if _is_worth_storing(record)]
        self._learner.changed_records.clear()
        book, run = self._book, self._run
        learner = self._learner

        def saved(is_saved: bool | None) -> None:
            if not is_saved:
                learner.changed_records.update(changed)

        if changed:
            seen = [seen_of(record) for record in changed]
            self._do(lambda: book.save(run.id, seen), saved)
        self._stored = monotonic()

    # Requests

    def ask(self, request: Request, *, can_wait: bool = True) -> Answered:
        """Note *request*, which is about to be made; return why it should not be, or None to make it.

        With an index on a server, the answer may come later.  For a request that *can_wait* it may be a
        waiter: ask again after `wait`.  It cannot fail.
        """
        if self._book is None:
            return None
        begin = perf_counter()
        try:
            return self._answer(request, can_wait=can_wait)
        except Exception:
            # A rule that fails withholds nothing.
            logger.exception("The rules for URLs could not be asked, the request is made")
            return None
        finally:
            self._seconds += perf_counter() - begin

    def _answer(self, request: Request, *, can_wait: bool = True) -> Answered:
        url, signature = request.url, signature_of(request)
        watch = self._watches[request] = Watch(signature)
        if signature is None:
            return None
        watch.is_open = is_open_to_rules(request)
        if not watch.is_open:
            self._note_made_again(request)
            return None
        watch.predictions = self._learner.predictions(url, signature)
        acting = next((one for one in watch.predictions if one.acts), None)
        if acting is None:
            return self._first(request, watch, can_wait=can_wait)
        if not self.uses or not is_link(request):
            return None
        assert self._run is not None
        if self._learner.is_explored(acting, self._run.id):
            self._counts.add("rules/explored")
            return None
        return self._withhold(request, acting)

    def _first(self, request: Request, watch: Watch, *, can_wait: bool) -> Waiter | None:
        """Return a waiter for another page that rules say is the same, None to make *request* now."""
        left = self._learner.left(request.url)
        if left is None:
            return None
        key, is_matched = left
        if self.uses and watch.signature is not None:
            may_wait = is_matched and can_wait and is_link(request)
            if may_wait and (waiter := self._in_flight.waiter(key, watch.signature)):
                return waiter
            if self._in_flight.begin(key, watch.signature):
                watch.key = key
        if is_matched:
            self._counts.add("rules/no_representative")
        return None

    def _note_made_again(self, request: Request) -> None:
        """Let nobody wait for a page that was redirected, or whose request failed and is made again."""
        meta = request.meta
        if not self.uses or not (meta.get("redirect_urls") or meta.get("retry_times")):
            return
        if left := self._learner.left(str((meta.get("redirect_urls") or [request.url])[-1])):
            self._in_flight.ended(left[0])

    def _came(self, watch: Watch) -> None:
        if watch.key is not None:
            self._in_flight.ended(watch.key)

    async def wait(self, waiter: Waiter) -> None:
        """Wait with a *waiter* that `ask` has given."""
        self._counts.add("rules/waited")
        if not await self._in_flight.wait(waiter):
            self._counts.add("rules/waited_in_vain")

    def gone(self, request: Request) -> None:
        """Note that *request* brings no page."""
        if watch := self._watches.get(request):
            self._came(watch)

    def _withhold(self, request: Request, acting: Prediction) -> Answered:
        book, run, page = self._book, self._run, acting.page
        assert book is not None
        assert run is not None
        held = WithheldRequest(
            *(run.id, page.rows[0], request.url, page.url),
            rules=tuple(record.rule.id for record in acting.records),
            request="" if request.errback else kept_request(request, self._crawler),
            size=page.size,
        )
        answers: list[WithheldRequest | None] = []
        later: list[Future[WithheldRequest | None]] = []

        def answered(is_recorded: bool | None) -> None:
            answer = self._withheld(held, acting) if is_recorded else None
            if later:
                later[0].come(answer)
            answers.append(answer)

        self._do(lambda: book.withhold(held, page.rows), answered)
        if answers:
            return answers[0]
        later.append(Future())
        return later[0]

    def _withheld(self, held: WithheldRequest, acting: Prediction) -> WithheldRequest | None:
        """Count what was recorded as withheld; return None if a rule was found wrong meanwhile."""
        if any(record.state is not State.ACTIVE for record in acting.records):
            self._made_at_once.add(held.url)
            self._note_made([held])
            return None
        self._learner.count_withheld(acting.records)
        self._counts.add("rules/withheld")
        self._counts.add("rules/withheld_bytes", held.size)
        return held

    def words(self, held: WithheldRequest) -> str:
        """Return why a request is not made, for people."""
        acting = (one.rule for one in self._learner.records.values() if one.state is State.ACTIVE)
        known = {rule.id: rule for rule in acting}
        why = " and ".join(known[rule].words for rule in held.rules if rule in known)
        return f"<{printable(held.url)}> is <{printable(held.page)}> again: {why}"

    @_guarded
    def robots(self, url: str, body: bytes) -> None:
        """Learn what a robots.txt says of parameters."""
        if self._book and (found := clean_params(body[:_MOST_ROBOTS].decode("utf-8", "replace"))):
            self._learner.declare(host_of(url), found)

    # Responses

    @property
    def marks(self) -> bool:
        """Whether requests that a callback yields are to be marked, as rules may withhold them."""
        return self.uses and self._book is not None

    def watch(self, response: Response) -> Watch | None:
        """Return the `Watch` of *response*, None where nothing is to be learned from it."""
        if self._book is None or response.request is None or not 200 <= response.status < 300:
            return None
        exchange, request = exchange_of(response), response.request
        if exchange.watch is None:
            watch = self._watches.get(request)
            if watch is None or watch.signature is None:
                return None
            exchange.watch, watch.url, watch.size = watch, response.url, len(response.body)
            watch.came_by = tuple(map(str, request.meta.get("redirect_urls") or ()))
            if watch.is_open and not watch.predictions and not watch.came_by:
                # The page that this one may repeat was still under way; it may have come by now.
                watch.predictions = self._learner.predictions(request.url, watch.signature)
        return exchange.watch

    @_guarded
    def links(self, watch: Watch | None, urls: list[str]) -> None:
        """Note the *urls* that a page leads to."""
        if self._book is None or not urls:
            return
        new = self._learner.meet(urls, watch.predictions if watch else ())
        if watch:
            watch.new |= new
            watch.links += urls

    @_guarded
    def judged(self, exchange: Exchange, verdict: Verdict, *, is_page: bool = False) -> None:
        """Note the verdict on an item of a response, or on the response, if no item stands for it."""
        if (watch := exchange.watch) is None:
            return
        watch.pages += is_page
        content = self._content(verdict)
        if verdict.row is None or content is None:
            watch.is_spoiled = True
            return
        if verdict.kept and verdict.represents:
            if len(self._represents) >= MOST_COUNTED:  # its copies will say that a rule is wrong
                del self._represents[next(iter(self._represents))]
            self._represents[verdict.row] = verdict.represents
        watch.contents.append(content)
        row = verdict.row
        if verdict.repeats_another:
            # It may be a login page or an error: others may show more, unless all rules that there are
            # say that this is the same page.
            row, url = verdict.canonical or row, watch.url
            watch.is_own = watch.is_own and self._learner.are_one(url, verdict.canonical_url)
        watch.rows.append(row)
        watch.clarity = min(watch.clarity, self._clarity(watch.url, verdict, content))

    def _content(self, verdict: Verdict) -> int | None:
        """Return the canonical that a page is or repeats."""
        found = verdict.represents or verdict.canonical or verdict.row
        return None if found is None else self._represents.get(found, found)

    def _clarity(self, url: str, verdict: Verdict, content: int) -> Clarity:
        """Return how far it is beyond doubt what a page shows."""
        copy_of = content if verdict.repeats_another else None
        return self._clearness.of(url, verdict.reason, verdict.words, verdict.similarity, copy_of)

    @_guarded
    def declared(self, url: str, canonical_link: str) -> None:
        """Learn that a page names another URL as its canonical one."""
        if self._book:
            self._learner.same(url, joined_key(url, canonical_link))

    @_guarded
    def settled(self, exchange: Exchange, *, is_whole: bool) -> None:
        """Note that an item is settled, or that a callback has ended; it failed unless it *is_whole*.

        What is known of a response is learned as soon as that is all.
        """
        watch = exchange.watch
        if self._book is None or watch is None:
            return
        watch.is_spoiled = watch.is_spoiled or not is_whole
        if exchange.is_open:
            return
        try:
            self._learn(watch, exchange.items)
        finally:
            self._came(watch)
        if monotonic() - self._stored > _STORED_EVERY:
            self._store()

    def _learn(self, watch: Watch, items: int) -> None:
        predictions, watch.predictions = watch.predictions, ()
        is_whole = 0 < len(watch.rows) == items + watch.pages and not watch.is_spoiled
        clarity = watch.clarity if is_whole else Clarity.DOUBTFUL
        content = tuple(sorted(watch.contents))
        for earlier in watch.came_by:
            self._learner.same(earlier, watch.url)
            if self._knows_all:
                self._learner.visited(earlier, None, [watch.url])
        for one in predictions:
            least = Clarity.WALL if one.is_of_few else Clarity.CLEAR
            self._score(one, watch, content if clarity >= least and not watch.came_by else None)
        page, is_wall = None, clarity is Clarity.WALL
        if clarity and watch.signature is not None:
            rows = tuple(dict.fromkeys(watch.rows))  # items of a page may repeat each other
            page = Page(watch.url, content, rows, watch.signature, watch.size)
            self._learner.page(page, can_stand=watch.is_own, is_wall=is_wall)
        if self._knows_all:
            self._learner.visited(watch.url, page, watch.links, can_stand=watch.is_own, is_wall=is_wall)

    def _score(self, one: Prediction, watch: Watch, content: tuple[int, ...] | None) -> None:
        """Count whether what a rule predicted of a page was right."""
        is_right = content == one.page.content
        # Where other runs meet pages too, or too many are met to remember, what looks new may not be.
        may_be_met = not self._knows_all or self._learner.is_full
        url = watch.url
        if content is None or (is_right and one in watch.new and may_be_met):
            self._counts.add("rules/predicted_unclear")
            self._learner.unclear(one)
        elif is_right and one not in watch.new:
            self._counts.add("rules/predicted_right")
            if one.acts:
                self._saved[0] += 1
                self._saved[1] += one.page.size
            self._learner.right(one)
        else:
            self._counts.add("rules/predicted_wrong")
            if one.acts and self.uses:
                self._counts.add("rules/explored_wrong")
            self._learner.wrong(one, url, OTHER_LINKS if is_right else OTHER_CONTENT)

    # When a rule turns out to be wrong

    def _changed(self, record: RuleRecord, before: State) -> None:
        rule, state = record.rule, record.state
        if state is State.ACTIVE:
            logger.info(
                "A rule for %s acts from now on: %s (%s)", printable(rule.host), rule.words, rule.id
            )
        elif before is State.ACTIVE:
            wrong = record.evidence.wrongs[-1] if record.evidence.wrongs else None
            logger.warning(
                "A rule for %s acts no more (%s): %s; <%s> is not <%s>",
                *(printable(rule.host), state, rule.words),
                *(printable(wrong.url) if wrong else "", printable(wrong.other) if wrong else ""),
            )
            self._resume(rule.id)

    def _resume(self, rule: str) -> None:
        """Make the requests that were withheld by *rule* in this run."""
        book, run = self._book, self._run
        if book is None or run is None:
            return

        def found(held: list[WithheldRequest] | None) -> None:
            again = [
                one
                for one in held or ()
                if rule in one.rules and not one.was_made and one.url not in self._made_at_once
            ]
            for request in self._made(again):
                assert self._crawler.engine is not None
                self._crawler.engine.crawl(request)

        self._do(lambda: book.withheld_requests(run.id), found)

    def _made(self, held: Iterable[WithheldRequest]) -> Iterator[Request]:
        """Yield the requests of what was withheld, where they can be made; then note that they were."""
        made: list[WithheldRequest] = []
        for one in held:
            if one.request and (request := request_again(one.request, self._crawler)):
                yield request
                self._counts.add("rules/resumed")
                made.append(one)
        self._note_made(made)

    def _note_made(self, held: list[WithheldRequest]) -> None:
        if held and (book := self._book):
            self._do(lambda: book.note_made(held), _ignored)


def _is_worth_storing(record: RuleRecord) -> bool:
    """Return whether a later run needs it: most of what is seen is chance, and about one page only."""
    if record.state is not State.SEEN and record.state is not State.REFUTED:
        return True
    evidence = record.evidence
    return bool(evidence.groups and evidence.wrongs) or evidence.withheld > 0
