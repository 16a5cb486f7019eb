"""Pages that stand in place of others: for one that is missing, for strangers, without scripts.

They are marked, not withheld: an item says what its page is, and the links of such a page come last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from logging import getLogger
from urllib.parse import unquote

from scrapy.http import HtmlResponse, Response
from scrapy.utils.httpobj import urlparse_cached

from dedup import Page

logger = getLogger(__name__)

SOFT_404 = "soft 404"
LOGIN = "login wall"
NO_SCRIPTS = "needs JavaScript"

MOST = 0.1
"""If a larger share (0 to 1) of a host's pages is of a kind, it tells nothing about them."""
ENOUGH_PAGES = 20
"""Before a host has so many pages no share is looked at."""
FEW_WORDS = 80
"""A page with more words than this is no wall, whatever it asks for."""

_WORD = re.compile(r"\w+")
_FEWEST = 4
_MEANINGS = {
    SOFT_404: "what the site answers for an address that cannot exist",
    LOGIN: "a form to log in and little else",
    NO_SCRIPTS: "a request to switch on JavaScript and little else",
}
_ASKS_FOR_SCRIPTS = re.compile(
    r"\b(enable|activate|allow|turn\W+on|switch\W+on|needs?|requires?|without)\W+(\w+\W+){0,3}java\W?script\b"
    r"|\bjava\W?script\W+(\w+\W+){0,4}(disabled|required|enabled|turned\W+off|switched\W+off|needed)\b",
    re.IGNORECASE,
)


class Walls:
    """What stands in place of pages, by host."""

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._found: Counter[tuple[str, str]] = Counter()
        self._linked: Counter[tuple[str, str]] = Counter()
        self._void: set[tuple[str, str]] = set()

    def kind(self, response: Response, page: Page, *, is_start: bool, is_behind: bool) -> str:
        """Return what *page* stands there as, "" for itself.

        A start page is always itself.  What is linked from a wall only, *is_behind*, does not count for
        how many pages of a host are one.
        """
        host, kind = urlparse_cached(response).netloc, _kind_of(response, page)
        if not is_behind:
            self._pages[host] += 1
            self._linked[host, kind] += 1
        if not kind:
            return ""
        many = self._pages[host] >= ENOUGH_PAGES and self._linked[host, kind] > MOST * self._pages[host]
        if (is_start or many) and (host, kind) not in self._void:
            self._void.add((host, kind))
            logger.warning(
                "Pages of %s are not marked as %r (%s): its start page is one, or over %.0f%% of all",
                *(host, kind, _MEANINGS[kind], 100 * MOST),
            )
        if is_start or (host, kind) in self._void:
            return ""
        self._found[host, kind] += 1
        return kind

    def summary(self) -> Iterator[str]:
        """Yield what was marked, a line for each kind and host."""
        for (host, kind), number in sorted(self._found.items()):
            yield f"{number:,} pages of {host} are marked as {kind!r}: {_MEANINGS[kind]}"


def _kind_of(response: Response, page: Page) -> str:
    if SOFT_404 in response.flags:
        return SOFT_404
    if not isinstance(response, HtmlResponse) or len(page.text.split(None, FEW_WORDS)) > FEW_WORDS:
        return ""
    if response.xpath("//input[translate(@type, 'PASWORD', 'pasword') = 'password']"):
        return LOGIN
    # Without the words of its address, which such a page may repeat.
    words = set(_WORD.findall(f"{page.title} {page.text}".lower()))
    says_nothing = len(words.difference(_WORD.findall(unquote(response.url).lower()))) < _FEWEST
    notice = " ".join(response.xpath("//noscript//text()").getall()) if says_nothing else ""
    return NO_SCRIPTS if _ASKS_FOR_SCRIPTS.search(f"{page.text} {notice}") else ""
