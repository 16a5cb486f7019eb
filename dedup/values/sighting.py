"""A page that was seen: its fingerprint, and where and when."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dedup.values.fingerprint import Fingerprint
from dedup.values.limits import MAX_REDIRECTS, MAX_TITLE, MAX_URL
from dedup.values.urls import bounded_url, host_of, valid


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page that was seen: its fingerprint, and where and when.

    *item_key* identifies an item in a later crawl, whatever its URL, "" for what has only its URL.
    *is_dry* says that it was seen by a dry run, so that nothing is dropped because of it.
    *redirects* are the URLs that led to it, the first one first, *seen_on* is the host where an item
    was seen, or the folder of a file, None where that is the host of its URL.
    *unjudged* is what fields of an item hold that were not judged, as JSON by name, "" for nothing.
    """

    fingerprint: Fingerprint
    url: str
    url_key: str
    kind: str
    scope: str
    run: int
    time: float
    title: str = ""
    canonical_link: str = ""
    item_key: str = ""
    is_dry: bool = False
    redirects: tuple[str, ...] = ()
    seen_on: str | None = None
    unjudged: str = ""

    @property
    def host(self) -> str:
        """The host where a crawl would meet it again."""
        return host_of(self.url) if self.seen_on is None else self.seen_on

    @property
    def is_named(self) -> bool:
        """Whether it has a key or a URL; what has none is identified by its text."""
        return bool(self.item_key or self.url_key)

    @property
    def identity(self) -> tuple[str, str | bytes]:
        """What identifies it in a later crawl: a field of it, or of its fingerprint, and the value.

        Its key, or else its URL; with neither, the digest of its tokens, or, if it has none, of its
        bytes.
        """
        if self.item_key:
            return "item_key", self.item_key
        if self.url_key:
            return "url_key", self.url_key
        seen = self.fingerprint
        if seen.tokens:
            return "token_digest", seen.token_digest
        return "body_digest", seen.body_digest

    def bounded(self) -> Sighting:
        """Return it as an index stores it: URL, link and title are valid and of bounded length."""
        link = self.canonical_link if len(self.canonical_link) <= MAX_URL else ""
        texts = bounded_url(self.url), valid(self.title[:MAX_TITLE]), valid(link)
        redirects = tuple(map(bounded_url, self.redirects[:MAX_REDIRECTS]))
        if (*texts, redirects) == (self.url, self.title, self.canonical_link, self.redirects):
            return self
        url, title, link = texts
        return replace(self, url=url, title=title, canonical_link=link, redirects=redirects)
