"""What an index keeps of a page: its fingerprint, and where and when it was seen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dedup.model.urls import bounded_url, host_of, valid

MAX_TITLE = 500  # a title is cut after so many characters
MAX_REDIRECTS = 20  # so many URLs of a chain of redirects are kept, the first ones
SIMHASH_FIELDS = ("content", "structure")  # the simhashes of a `Fingerprint`
BINS = 256  # the size of a sketch
# As many words are *inside* a record whose HTML says no more than a name, and other fields the rest.
NAMED = 0
HALF = 8  # the size of each of the two digests in `Fingerprint.sentences`


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The simhashes, sketch and digests of one page."""

    content_simhash: int  #: an unsigned 64-bit integer, 0 where there are no tokens
    structure_simhash: int  #: the same, 0 where there are no tags
    #: A one-permutation MinHash of the shingles in `BINS` bytes: the top bits of a shingle's hash choose
    #: its bin, the smallest hash of a bin gives a byte 1 to 255, 0 is an empty bin (P. Li, A. Owen,
    #: C.-H. Zhang, NIPS 2012; P. Li, C. König, b-bit minwise hashing, WWW 2010).
    sketch: bytes
    body_digest: bytes  #: 16 bytes, none where there is no body
    token_digest: bytes  #: of the whole text, white space as single spaces; none where there is no token
    tokens: int  #: how many there are
    words: int = 0  #: how many they stand for
    shingles: int = 0  #: how many different ones there are
    sample: bytes = b""  #: a part of these
    sentences: bytes = b""  #: two digests, of sentences and of all blocks, b"" where nobody asked
    inside: int | None = None  #: that of `dedup.reading.page.Page`
    traits: bytes = b""  #: tell it from its like, b"" where not known (`dedup.prints.fingerprinter`)
    #: A part of the page was left out; not stored: only the later page is asked.
    left_out: bool = field(default=False, compare=False)

    def simhash(self, field: str) -> int:
        """Return the simhash of *field*, "content" or "structure"."""
        return self.content_simhash if field == "content" else self.structure_simhash

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing at all: no body but white space."""
        return not self.body_digest


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page that was seen: its fingerprint, and where and when."""

    fingerprint: Fingerprint
    url: str
    url_key: str
    kind: str
    scope: str
    run: int
    time: float
    title: str = ""
    item_key: str = ""  #: identifies an item in a later crawl, whatever its URL, "" where only that does
    is_dry: bool = False  #: seen by a dry run, so that nothing is dropped because of it
    redirects: tuple[str, ...] = ()  #: the URLs that led to it, the first one first
    #: The host where an item was seen, or the folder of a file, None where that is the host of its URL.
    seen_on: str | None = None
    unjudged: str = ""  #: what fields of an item hold that were not judged, as JSON by name

    @property
    def group(self) -> tuple[str, str]:
        """Its kind and its scope: pages are compared within one group only."""
        return self.kind, self.scope

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
        """What identifies it in a later crawl: a field of it or of its fingerprint, and the value."""
        if self.is_named:
            return ("item_key", self.item_key) if self.item_key else ("url_key", self.url_key)
        seen = self.fingerprint
        digest = seen.token_digest if seen.tokens else seen.body_digest
        return "token_digest" if seen.tokens else "body_digest", digest

    def bounded(self) -> Sighting:
        """Return it as an index stores it: URLs and title are valid and of bounded length."""
        url, title = bounded_url(self.url), valid(self.title[:MAX_TITLE])
        redirects = tuple(map(bounded_url, self.redirects[:MAX_REDIRECTS]))
        if (url, title, redirects) == (self.url, self.title, self.redirects):
            return self
        return replace(self, url=url, title=title, redirects=redirects)


class PageToRecord(NamedTuple):
    """A page to be judged and recorded; *page* is stored with its row, for `Index.page_of`.

    A page that repeats one whose fate in a run of *wait_for* is open is not recorded: its verdict has no
    row, and it can be asked about again when the row that its standing names is settled.  What
    *is_restored* is kept, whatever it repeats.  *siblings* are the rows of the same response, where that
    was requested by the URL of the page: if another request of this run gave it before, it is `updated`,
    or else `unchanged` and dropped.
    """

    sighting: Sighting
    page: bytes = b""
    is_restored: bool = False
    siblings: Collection[int] | None = None
    wait_for: Collection[int] = ()
