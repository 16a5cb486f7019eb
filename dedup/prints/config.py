"""What can be chosen: thresholds, what is compared, and how fingerprints are made and compared."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from dedup.model.errors import ConfigError, shown
from dedup.model.marks import NO_EXCEPTIONS, Exceptions

SCOPES = ("spider", "host", "domain", "global")
UNCHANGED = ("keep", "drop")

# The largest Hamming distance within which simhashes are searched for.
MAX_DISTANCE = 12

_RANGES: dict[str, tuple[int, int]] = {
    "max_distance": (0, MAX_DISTANCE),
    "max_lost_words": (0, 100_000),
    "store_first": (0, 1_000_000),
}
_NAMES = {"scope": SCOPES, "unchanged": UNCHANGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """The choices of a deduplication; checked when made, `ConfigError` names value and rule.

    Thresholds are inclusive.
    """

    max_lost_words: int = 40
    """A page may lose about so many words (0 to 100,000) that are not on the page kept, if that page is
    like it in more than what is common on their site; never more than a third of its words."""
    scope: str = "spider"
    """Pages are compared within one `spider`, `host`, `domain` or all (`global`); public suffixes of
    domains are those of registries (com) and of hosters (github.io)."""
    unchanged: str = "keep"
    """What becomes of a page that a later run finds unchanged: `keep` or `drop`."""
    store_pages: bool = False
    """Whether the index keeps the text and the tags of every page, compressed, so that `dedup explain`
    and reports can show what agrees and what differs."""
    store_first: int = field(default=0, compare=False, repr=False)  # no verdict depends on it
    """Of so many pages, the first of an index in a file (0 to 1,000,000), it keeps them though
    `store_pages` is off, in 50 MB at most.  Where ``DEDUP_STORE_PAGES`` is not set these are 500."""
    exceptions: Exceptions = NO_EXCEPTIONS
    """Pairs of pages that are different, or of which one is a copy, whatever the rule says.  A crawl
    has those of the file beside its index, which the HTML report writes."""

    max_distance: int = 10
    """A page within this many bits (0 to 12) of a canonical's content simhash is a candidate."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value, wanted = getattr(self, one.name), type(one.default)
            if type(value) is not wanted:
                raise ConfigError(f"{one.name} ({shown(value)}) must be of type {wanted.__name__}")
        for name, (low, high) in _RANGES.items():
            if not low <= (value := getattr(self, name)) <= high:
                raise ConfigError(f"{name} ({shown(value)}) must be {low} to {high}")
        for name, known in _NAMES.items():
            if (value := getattr(self, name)) not in known:
                raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(known)}")
