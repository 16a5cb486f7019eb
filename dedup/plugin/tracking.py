"""What is known of each response, and of each item on its way through pipelines.

A canonical counts only when its item was kept to the end, and Scrapy says so by signals:
`item_scraped` brings the object that came out of the last pipeline, `item_dropped` and
`item_error` the one that went into the first.  Pipelines may replace items, so every item gets a
token before all of them, which is found again by the identity of the item, or else through the
context in which Scrapy runs the chain and sends the signals.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary, WeakSet, ref

from scrapy.http import Response

from dedup.model.verdict import Verdict
from dedup.plugin.question import Question
from dedup.reading.page import Page


@dataclass(slots=True, eq=False)
class Watch:
    """What rules for URLs learn from a response."""

    urls: list[str]  # by which it was asked for
    signature: str | None  # how it was made, see `signature_of`
    shows: list[int] = field(default_factory=list)  # canonicals
    links: list[str] = field(default_factory=list)
    pages: int = 0  # the verdicts on the response itself among those on what it shows
    more: bool = False  # words that are not on the pages that it shows
    stands: bool = True  # for others: it is at its own URL
    is_spoiled: bool = False


@dataclass(slots=True, eq=False)
class Exchange:
    """What is known of one response; nothing in it may lead to the response, which would live on."""

    page: Page | None = None  # what was read of it
    is_well_decoded: bool | None = None  # whether its text is what its bytes say
    verdict: Verdict | None = None  # given before its callback
    is_given: bool = False  # it has reached its callback, which has not failed
    is_cut: bool = False  # its requests are withheld
    beside: str | None = None  # what the first item with all of it says in other fields
    leads_for: int | None = None  # the canonical of a copy that is followed, which was not met
    watch: Watch | None = None
    items: int = 0
    settled: int = 0  # items whose fate is known
    delivered: int = 0  # those that came through all pipelines, or repeat one that did
    has_ended: bool = False  # its callback
    rows: set[int] = field(default_factory=set)  # of its items
    row: int | None = None  # of the page itself, where its items are judged, too: it is lost with them

    @property
    def is_open(self) -> bool:
        """Whether its callback, or one of its items, is still under way."""
        return not self.has_ended or self.settled < self.items


# A response can hold no attribute of ours.
_exchanges: WeakKeyDictionary[Response, Exchange] = WeakKeyDictionary()


def exchange_of(response: Response) -> Exchange:
    """Return what is known of *response*, nothing at first."""
    found = _exchanges.get(response)
    if found is None:
        found = _exchanges[response] = Exchange()
    return found


@dataclass(slots=True, eq=False)
class Token:
    """One item, from the callback that gave it until its fate is known."""

    item: Any
    exchange: Exchange | None = None
    is_only: bool = False  # its response is judged in its place
    is_exempt: bool = False
    is_restored: bool = False  # its page was restored
    verdict: Verdict | None = None  # already given, on its response
    source: ref[Response] | None = None
    tracker: TrackingPipeline | None = None
    response: Response | None = None  # held from its arrival in the pipelines
    question: Question | None = None
    judged: Any = None  # the object that our pipeline saw
    row: int | None = None
    is_settled: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that are lost with it: its own, and that of its page."""
        page = self.exchange.row if self.exchange else None
        return tuple(row for row in (self.row, page) if row is not None)


def is_asked_for(response: Response | None, url: str) -> TypeGuard[Response]:
    """Return whether a spider has asked for *response* by *url*, and would do so again.

    A redirect or a link to a start page has only led there.
    """
    if response is None or response.url != url or (request := response.request) is None:
        return False
    return request.method == "GET" and request.dont_filter and not request.meta.get("redirect_urls")


def rows_of(response: Response | None, url: str) -> set[int] | None:
    """Return the rows of the items of *response*; None if it was not requested by *url*."""
    return exchange_of(response).rows if is_asked_for(response, url) else None


CURRENT: ContextVar[Token | None] = ContextVar("dedup_token", default=None)
# Items that never came are forgotten when there are twice as many as then, and so many more.
_SLACK = 100


class TrackingPipeline:
    """The pipeline before all others: gives every item of a crawler its token, and finds it again."""

    def __init__(self) -> None:
        self._coming: dict[int, Token] = {}  # Scrapy holds a response until all its items are through
        self._most_coming = _SLACK
        self._exempt: WeakSet[Response] = WeakSet()
        self._tokens: dict[int, Token] = {}

    def process_item(self, item: Any, spider: Any = None) -> Any:
        self.begin(item)
        return item

    def hand_over(self, token: Token, response: Response) -> None:
        """Keep what the spider middleware knows of an item of *response* until the item arrives."""
        token.source = ref(response)
        self._coming[id(token.item)] = token
        if len(self._coming) > self._most_coming:  # others have removed items
            alive = {id(one.item): one for one in self._coming.values() if one.source and one.source()}
            self._coming, self._most_coming = alive, 2 * len(alive) + _SLACK
        if token.is_exempt:
            self._exempt.add(response)
        if token.exchange:
            token.exchange.items += 1

    def begin(self, item: Any) -> Token:
        """Return the token of an item that enters the pipelines."""
        token = self._coming.pop(id(item), None)
        response = token.source() if token and token.source else None
        if token is None or response is None:
            # Another component has replaced it, so it may be of any response under way.
            token = Token(item, is_exempt=len(self._exempt) > 0)
        token.tracker, token.response = self, response
        # Set before anybody can drop the item: its fate is that of the row.
        if token.verdict and token.verdict.kept:
            token.row = token.verdict.row
        self._tokens[id(item)] = token
        CURRENT.set(token)
        return token

    def judged(self, item: Any) -> Token:
        """Return the token of *item* as our pipeline sees it, a new one if it has none."""
        token = self._tokens.get(id(item)) or self._current()
        if token is None or token.judged is not None:
            token = self.begin(item)
        token.judged = item
        self._tokens[id(item)] = token
        return token

    def take(self, item: Any) -> Token | None:
        """Return the token of an item whose fate is known, and forget it; None for none."""
        token = self._current()
        if token is None or (token.item is not item and token.judged is not item):
            token = self._tokens.get(id(item)) or token
        if token is None:
            return None
        token.is_settled = True
        for known in (token.item, token.judged):
            if self._tokens.get(id(known)) is token:
                del self._tokens[id(known)]
        return token

    def _current(self) -> Token | None:
        """Return the token of this context if it is ours (crawlers may share a thread) and under way."""
        token = CURRENT.get()
        return token if token and token.tracker is self and not token.is_settled else None
