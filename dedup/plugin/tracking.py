"""Follows items on their way through the pipelines of others.

A canonical counts only when its item was kept to the end, and Scrapy says so by signals:
`item_scraped` brings the object that came out of the last pipeline, `item_dropped` and
`item_error` the one that went into the first.  Pipelines may replace items, so every item gets a
token before all of them, which is found again by the identity of the item, or else through the
context in which Scrapy runs the chain and sends the signals.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakKeyDictionary, WeakSet, finalize, ref

from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.http import Response

    from dedup.plugin.rules import Watch


@dataclass(slots=True, eq=False)
class Delivery:
    """What becomes of a page whose items are judged by themselves; *row* is its own, pending row.

    It is lost if it gave items and none of them was *delivered*, that is, came through all pipelines
    or repeats one that did.
    """

    row: int
    items: int = 0
    settled: int = 0
    delivered: int = 0
    has_ended: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its callback, or one of its items, is still under way."""
        return not self.has_ended or self.settled < self.items

    @property
    def is_lost(self) -> bool:
        """Whether nothing of it came through."""
        return self.items > 0 and not self.delivered


@dataclass(slots=True, eq=False)
class Handed:
    """What the spider middleware knows of an item.

    *is_only* says that its response is to be judged in its place, *is_exempt* that nothing is to be
    judged, *is_restored* that its page was restored.  *verdict* is one already given, on the page *url*;
    *delivery* is that of its page, if the item has a part in it, *watch* what rules for URLs learn from.
    """

    item: Any
    is_only: bool = False
    is_exempt: bool = False
    is_restored: bool = False
    verdict: Verdict | None = None
    url: str = ""
    delivery: Delivery | None = None
    watch: Watch | None = None


@dataclass(slots=True, eq=False)
class Token:
    """One item under way, of *response* until it is judged.

    *judged* is the object that the pipeline saw, *row* its pending row.
    """

    tracker: Tracker
    item: Any
    handed: Handed
    response: Response | None = None
    judged: Any = None
    row: int | None = None
    is_settled: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that are lost with it: its own, and that of the page that it has a part in."""
        own = () if self.row is None else (self.row,)
        return (*own, self.handed.delivery.row) if self.handed.delivery else own


def is_asked_for(response: Response | None, url: str) -> TypeGuard[Response]:
    """Return whether somebody has asked for *response* by *url*, and was not led to it."""
    if response is None or response.url != url or (request := response.request) is None:
        return False
    return request.method == "GET" and not request.meta.get("redirect_urls")


_current: ContextVar[Token | None] = ContextVar("dedup_token", default=None)


class Tracker:
    """The items of one crawler that are under way."""

    def __init__(self) -> None:
        # Scrapy holds a response until all its items are through; items that another component has
        # removed are forgotten with it.
        self._handed: WeakKeyDictionary[Response, dict[int, Handed]] = WeakKeyDictionary()
        self._responses: dict[int, ref[Response]] = {}
        self._exempt: WeakSet[Response] = WeakSet()
        self._tokens: dict[int, Token] = {}
        self._rows: WeakKeyDictionary[Response, set[int]] = WeakKeyDictionary()

    def rows_of(self, response: Response | None, url: str) -> set[int] | None:
        """Return the rows of the items of *response*; None if it was not requested by *url*."""
        if not is_asked_for(response, url):
            return None
        return self._rows.setdefault(response, set())

    def hand_over(self, handed: Handed, response: Response) -> None:
        """Keep what the spider middleware knows of an item of *response* until the item arrives."""
        items = self._handed.get(response)
        if items is None:
            items = self._handed[response] = {}
            finalize(response, self._forget, items).atexit = False
        items[id(handed.item)] = handed
        self._responses[id(handed.item)] = ref(response)
        if handed.is_exempt:
            self._exempt.add(response)
        if handed.delivery:
            handed.delivery.items += 1
        if handed.watch:
            handed.watch.items += 1

    def _forget(self, items: Iterable[int]) -> None:
        for item in items:
            if item in self._responses and self._responses[item]() is None:
                del self._responses[item]

    def _received(self, item: Any) -> tuple[Handed, Response | None]:
        place = self._responses.pop(id(item), None)
        response = place() if place else None
        handed = self._handed[response].pop(id(item), None) if response else None
        if handed is None:
            # Another component has replaced it, so it may be of any response under way.
            return Handed(item, is_exempt=len(self._exempt) > 0), None
        return handed, response

    def begin(self, item: Any) -> Token:
        """Return the token of an item that enters the pipelines."""
        handed, response = self._received(item)
        # Set before anybody can drop the item: its fate is that of the row.
        row = handed.verdict.row if handed.verdict and handed.verdict.kept else None
        token = Token(self, item, handed, response, row=row)
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


class TrackingPipeline:
    """The pipeline before all others; it only gives every item its token."""

    def __init__(self) -> None:
        self.tracker = Tracker()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        self.tracker.begin(item)
        return item
