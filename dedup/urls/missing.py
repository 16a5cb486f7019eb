"""Pages that stand in the place of a missing one: a site may answer "not found" with status 200."""

from __future__ import annotations

import re
from urllib.parse import unquote, urljoin

from dedup.values.hashes import digest
from dedup.values.urls import host_of

LIKE = 0.8
"""The share (0 to 1) of the words of both that such a page has in common with the answer."""
_FEWEST = 4
_MOST_HOSTS = 2_000
_WORD = re.compile(r"\w+")


class Missing:
    """What each host answers for an address that cannot exist, as the words of that page."""

    def __init__(self) -> None:
        self._words: dict[str, frozenset[str]] = {}

    def probe_for(self, url: str) -> str:
        """Return an address that cannot exist on the host of *url*, "" if it was asked for."""
        host = host_of(url)
        if host in self._words or len(self._words) >= _MOST_HOSTS:
            return ""
        self._words[host] = frozenset()
        return urljoin(url, f"/there-is-no-such-page-{digest(host.encode()).hex()[:16]}.html")

    def learn(self, url: str, text: str) -> None:
        """Note the *text* that was the answer for the address *url*; one of few words says nothing."""
        words = _words_of(url, text)
        if len(words) >= _FEWEST:
            self._words[host_of(url)] = words

    def is_like(self, url: str, text: str) -> bool:
        """Return whether the page at *url*, with this *text*, is like that answer."""
        if not (missing := self._words.get(host_of(url))):
            return False
        words = _words_of(url, text)
        return len(words & missing) >= LIKE * len(words | missing)


def _words_of(url: str, text: str) -> frozenset[str]:
    """Return the words of *text* without those of its address, which such a page may repeat."""
    address = frozenset(_WORD.findall(unquote(url).lower()))
    return frozenset(_WORD.findall(text.lower())) - address
