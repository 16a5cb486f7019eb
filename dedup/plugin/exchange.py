"""What is known of one response, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dedup.reading.page import Page
from dedup.values.fingerprint import Fingerprint
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
class Exchange:
    """What is known of one response; nothing in it may lead to the response, which would live on.

    *page* is what was read of it, *is_well_decoded* whether its text is what its bytes say.  *verdict*
    is one given before the callback, *is_given* says that the response reached its callback, and that it
    has not failed, *is_cut* that its requests are withheld.  *followed* is the canonical of a copy that
    is followed, with its own fingerprint.  *rows* are those of its items, *watch* is what rules for URLs
    learn from.
    """

    page: Page | None = None
    is_well_decoded: bool | None = None
    verdict: Verdict | None = None
    is_given: bool = False
    is_cut: bool = False
    followed: tuple[int, Fingerprint] | None = None
    rows: set[int] | None = None
    watch: Watch | None = None


# A response can hold no attribute of ours.
_exchanges: WeakKeyDictionary[Response, Exchange] = WeakKeyDictionary()


def exchange_of(response: Response) -> Exchange:
    """Return what is known of *response*, nothing at first."""
    found = _exchanges.get(response)
    if found is None:
        found = _exchanges[response] = Exchange()
    return found
