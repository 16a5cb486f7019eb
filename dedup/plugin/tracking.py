"""What is known of each response, and of each item on its way through the pipelines of others.

A canonical counts only when its item was kept to the end, and Scrapy says so by signals:
`item_scraped` brings the object that came out of the last pipeline, `item_dropped` and
`item_error` the one that went into the first.  Pipelines may replace items, so every item gets a
token before all of them, which is found again by the identity of the item, or else through the
context in which Scrapy runs the chain and sends the signals.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakKeyDictionary, WeakSet, ref

from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.verdict import Verdict
from dedup.reading.noise import Gap
from dedup.reading.page import Page

if TYPE_CHECKING:
    from scrapy.http import Response


@dataclass(slots=True, eq=False)
class Watch:
    """What becomes of a response: by which *urls* it was asked for, what it shows, where it leads.

    *signature* says how it was made (see `signature_of`); *pages* are the verdicts on the response
    itself among those on what it *shows*.  It *stands* for others if it is at its own URL.
    """

    urls: list[str]
    signature: str | None
    shows: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    pages: int = 0
    stands: bool = True
    is_spoiled: bool = False


@dataclass(slots=True, eq=False)
class Question:
    """What is asked of the index about one *page*, of a *kind*: "page" or "item".

    If it *is_restored*, it is kept, whatever it repeats.  *siblings* are the rows of the same response,
    to which its own is added; None where that was not requested by the URL of the page.  *sighting* is
    made when it is asked.  If it *waits*, it is not recorded as a copy of a row that is pending here.
    *response* is what the page came with, *raw* the page before the *gaps* were left out of it, when
    those *acting* were known; None where nothing can be left out.
    """

    page: Page
    kind: str
    is_restored: bool = False
    siblings: set[int] | None = None
    sighting: Sighting | None = None
    waits: bool = True
    response: Response | None = None
    raw: Page | None = None
    gaps: frozenset[Gap] = frozenset()
    acting: frozenset[Gap] = frozenset()


@dataclass(slots=True, eq=False)
class Exchange:
    """What is known of one response; nothing in it may lead to the response, which would live on.

    *page* is what was read of it, *with_places* says that the places of its lines are asked for,
    *is_well_decoded* whether its text is what its bytes say, *parsing*
    how many processor seconds Scrapy's parser took, which its callback is spared.  *verdict* is given
    before the callback, *is_given* says that the response reached its callback, and that it has not
    failed, *is_cut* that its requests are withheld.  *beside* is what the first item that holds all of
    it says in other fields, None for no item.  *followed* is the canonical of a copy that is followed,
    with its own fingerprint.  *watch* is what rules for URLs learn from, *links* are URLs that its
    callback makes no requests for, as there were some.

    It has given *items*, of which so many are *settled*, and so many of these *delivered*: they came
    through all pipelines, or repeat one that did.  *rows* are theirs.  *row* is that of the page itself,
    where it was kept and its items are judged by themselves: it is lost with them.
    """

    page: Page | None = None
    with_places: bool = False
    is_well_decoded: bool | None = None
    parsing: float = 0.0
    verdict: Verdict | None = None
    is_given: bool = False
    is_cut: bool = False
    beside: str | None = None
    followed: tuple[int, Fingerprint] | None = None
    watch: Watch | None = None
    links: list[str] = field(default_factory=list)
    items: int = 0
    settled: int = 0
    delivered: int = 0
    has_ended: bool = False
    rows: set[int] | None = None
    row: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether its callback, or one of its items, is still under way."""
        return not self.has_ended or self.settled < self.items

    @property
    def is_lost(self) -> bool:
        """Whether it gave items and nothing of it came through."""
        return self.items > 0 and not self.delivered


# A response can hold no attribute of ours.
_exchanges: WeakKeyDictionary[Response, Exchange] = WeakKeyDictionary()


def exchange_of(response: Response) -> Exchange:
    """Return what is known of *response*, nothing at first."""
    found = _exchanges.get(response)
    if found is None:
        found = _exchanges[response] = Exchange()
    return found


# Items that never came are forgotten when there are twice as many as then, and so many more.
_SLACK = 100


@dataclass(slots=True, eq=False)
class Token:
    """One item, from the callback that gave it until its fate is known.

    *exchange* is that of its response.  *is_only* says that its response is to be judged in its place,
    *is_exempt* that nothing is to be judged, *is_restored* that its page was restored.  *verdict* is one
    already given, on the page *url*.  It holds its *response* from its arrival in the pipelines, and the
    *question* about it, until it is settled.  *judged* is the object that the pipeline saw, *row* its
    pending row.
    """

    item: Any
    exchange: Exchange | None = None
    is_only: bool = False
    is_exempt: bool = False
    is_restored: bool = False
    verdict: Verdict | None = None
    url: str = ""
    source: ref[Response] | None = None
    tracker: Tracker | None = None
    response: Response | None = None
    question: Question | None = None
    judged: Any = None
    row: int | None = None
    is_settled: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that are lost with it: its own, and that of its page."""
        own = () if self.row is None else (self.row,)
        page = self.exchange.row if self.exchange else None
        return own if page is None else (*own, page)


def is_asked_for(response: Response | None, url: str) -> TypeGuard[Response]:
    """Return whether a spider has asked for *response* by *url*, and would do so again.

    A redirect or a link to a start page has only led there.
    """
    if response is None or response.url != url or (request := response.request) is None:
        return False
    return request.method == "GET" and request.dont_filter and not request.meta.get("redirect_urls")


def rows_of(response: Response | None, url: str) -> set[int] | None:
    """Return the rows of the items of *response*; None if it was not requested by *url*."""
    if not is_asked_for(response, url):
        return None
    exchange = exchange_of(response)
    if exchange.rows is None:
        exchange.rows = set()
    return exchange.rows


CURRENT: ContextVar[Token | None] = ContextVar("dedup_token", default=None)


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
        if token.exchange:
            token.exchange.items += 1

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
        CURRENT.set(token)
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
        token = CURRENT.get()
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
