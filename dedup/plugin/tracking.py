"""Follows items on their way through the pipelines of others.

A canonical counts only when its item was kept to the end, and Scrapy says so by signals:
`item_scraped` brings the object that came out of the last pipeline, `item_dropped` and
`item_error` the one that went into the first.  Pipelines may replace items, so every item gets a
token before all of them, which is found again by the identity of the item, or else through the
context in which Scrapy runs the chain and sends the signals.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakSet, ref

from dedup.plugin.exchange import Delivery, exchange_of
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.http import Response

    from dedup.plugin.rules import Watch

# Items that never came are forgotten when there are twice as many as then, and so many more.
_SLACK = 100


@dataclass(slots=True, eq=False)
class Token:
    """One item, from the callback that gave it until its fate is known.

    *is_only* says that its response is to be judged in its place, *is_exempt* that nothing is to be
    judged, *is_restored* that its page was restored.  *verdict* is one already given, on the page *url*;
    *delivery* is that of its page, if the item has a part in it, *watch* what rules for URLs learn from.
    It holds its *response* from its arrival in the pipelines until it is settled.  *judged* is the
    object that the pipeline saw, *row* its pending row.
    """

    item: Any
    is_only: bool = False
    is_exempt: bool = False
    is_restored: bool = False
    verdict: Verdict | None = None
    url: str = ""
    delivery: Delivery | None = None
    watch: Watch | None = None
    source: ref[Response] | None = None
    tracker: Tracker | None = None
    response: Response | None = None
    judged: Any = None
    row: int | None = None
    is_settled: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that are lost with it: its own, and that of the page that it has a part in."""
        own = () if self.row is None else (self.row,)
        return (*own, self.delivery.row) if self.delivery else own


def is_asked_for(response: Response | None, url: str) -> TypeGuard[Response]:
    """Return whether somebody has asked for *response* by *url*, and was not led to it."""
    if response is None or response.url != url or (request := response.request) is None:
        return False
    return request.method == "GET" and not request.meta.get("redirect_urls")


def rows_of(response: Response | None, url: str) -> set[int] | None:
    """Return the rows of the items of *response*; None if it was not requested by *url*."""
    if not is_asked_for(response, url):
        return None
    exchange = exchange_of(response)
    if exchange.rows is None:
        exchange.rows = set()
    return exchange.rows


_current: ContextVar[Token | None] = ContextVar("dedup_token", default=None)


class Tracker:
    """The items of one crawler that are under way."""

    def __init__(self) -> None:
        # Scrapy holds a response until all its items are through.
        self._coming: dict[int, Token] = {}
        self._most_coming = _SLACK
        self._exempt: WeakSet[Response] = WeakSet()
        self._tokens: dict[int, Token] = {}

    def hand_over(self, token: Token, response: Response) -> None:
        """Keep what the spider middleware knows of an item of *response* until the item arrives."""
        token.source = ref(response)
        self._coming[id(token.item)] = token
        if len(self._coming) > self._most_coming:
            self._forget()
        if token.is_exempt:
            self._exempt.add(response)
        if token.delivery:
            token.delivery.items += 1
        if token.watch:
            token.watch.items += 1

    def _forget(self) -> None:
        """Forget the items that another component has removed."""
        alive = {number: token for number, token in self._coming.items() if _response_of(token)}
        self._coming = alive
        self._most_coming = 2 * len(alive) + _SLACK

    def begin(self, item: Any) -> Token:
        """Return the token of an item that enters the pipelines."""
        token = self._coming.pop(id(item), None)
        response = _response_of(token) if token else None
        if token is None or response is None:
            # Another component has replaced it, so it may be of any response under way.
            token = Token(item, is_exempt=len(self._exempt) > 0)
        token.tracker, token.response = self, response
        # Set before anybody can drop the item: its fate is that of the row.
        if token.verdict and token.verdict.kept:
            token.row = token.verdict.row
        self._tokens[id(item)] = token
        _current.set(token)
        return token

    def judged(self, item: Any) -> Token:
        """Return the token of *item* as the pipeline sees it, a new one if it has none."""
        token = self._tokens.get(id(item)) or self._current()
        if token is None or token.judged is not None:
            token = self.begin(item)
        token.judged = item
        self._tokens[id(item)] = token
        return token

    def settle(self, item: Any) -> Token | None:
        """Return the token of an item whose fate is known, and forget it; None for none."""
        current = self._current()
        if current is not None and (current.item is item or current.judged is item):
            token: Token | None = current
        else:
            token = self._tokens.get(id(item)) or current
        if token is None:
            return None
        token.is_settled = True
        for known in (token.item, token.judged):
            if self._tokens.get(id(known)) is token:
                del self._tokens[id(known)]
        return token

    def _current(self) -> Token | None:
        """Return the token of this context if it is ours (crawlers may share a thread) and under way."""
        token = _current.get()
        return token if token and token.tracker is self and not token.is_settled else None


def _response_of(token: Token) -> Response | None:
    return token.source() if token.source else None


class TrackingPipeline:
    """The pipeline before all others; it only gives every item its token."""

    def __init__(self) -> None:
        self.tracker = Tracker()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        self.tracker.begin(item)
        return item
