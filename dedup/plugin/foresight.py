"""Which responses are worth reading before their callback: those whose items will hold their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Response

# To read a response for nothing costs four times what is saved by reading one only once.
_COST = 4
# The most that a callback can save up: after five responses in vain no more are read.
_MOST = 5 * _COST


class Foresight:
    """Tells by the items of a callback whether its next response is worth reading.

    A callback that lists links and one that makes items differ in this, so each has a credit of its
    own, under its name.  It begins with nothing: what its items hold is known without reading ahead.
    """

    def __init__(self) -> None:
        self._credits: dict[str, int] = {}

    def is_worth_reading(self, response: Response) -> bool:
        """Return whether to read *response*, which its callback pays for."""
        name = _callback_of(response)
        credit = self._credits.get(name, 0)
        if credit < _COST:
            return False
        self._credits[name] = credit - _COST
        return True

    def note(self, response: Response, *, was_read: bool) -> None:
        """Note an item with the text of *response*; what was paid if it *was_read* comes back."""
        name = _callback_of(response)
        credit = self._credits.get(name, 0) + 1 + (_COST if was_read else 0)
        self._credits[name] = min(credit, _MOST)


def _callback_of(response: Response) -> str:
    callback = response.request.callback if response.request is not None else None
    return getattr(callback, "__qualname__", "")
