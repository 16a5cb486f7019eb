"""Which responses are worth reading before their callback: those whose items will hold their text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Response

# Responses whose items may still be on their way; more without such an item, and no more are read.
_UNDER_WAY = 16
# To read a response in vain costs a third of what is saved by reading one that has such an item, in
# Python three times as much.  So they are read where two of three have one.
_SHARE = 2 / 3
# Of older responses half are forgotten.
_REMEMBERED = 256


@dataclass(slots=True)
class _Tally:
    """The responses that a callback got, the items that had the text of theirs, and responses since."""

    given: int = 0
    met: int = 0
    since: int = 0


class Foresight:
    """Tells by the items of a callback whether its next response is worth reading.

    A callback that lists links and one that makes items differ in this, so each, by its name, is counted
    by itself.  What its items hold is known whether responses are read ahead or not.
    """

    def __init__(self) -> None:
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)

    def is_worth_reading(self, response: Response) -> bool:
        """Return whether to read *response*, which its callback is given next."""
        tally = self._tallies[_callback_of(response)]
        if tally.given >= _REMEMBERED:
            tally.given //= 2
            tally.met //= 2
        tally.given += 1
        tally.since += 1
        return 0 < tally.met >= _SHARE * (tally.given - _UNDER_WAY) and tally.since <= _UNDER_WAY

    def note(self, response: Response) -> None:
        """Note an item that holds the text of *response*."""
        tally = self._tallies[_callback_of(response)]
        tally.met = min(tally.met + 1, tally.given)
        tally.since = 0


def _callback_of(response: Response) -> str:
    callback = response.request.callback if response.request is not None else None
    return getattr(callback, "__qualname__", "")
