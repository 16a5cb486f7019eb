"""When a page takes the place of a shorter one that was kept before it: it has its text, and more."""

from __future__ import annotations

from dedup.recipes.config import DedupConfig
from dedup.rule.loss import words_of
from dedup.rule.match import match
from dedup.values.fingerprint import Fingerprint

# A page is longer if it has this share of words more, and so many.
LEAST_SHARE, LEAST_WORDS = 0.2, 50
# So often at most a page of one cluster takes the place of another one in a crawl.
MOST_REPLACED = 2


def is_longer(page: Fingerprint, kept: Fingerprint) -> bool:
    """Return whether *page* has at least 20 % and 50 words more than the page *kept*."""
    words = words_of(kept)
    return words_of(page) >= max(words * (1 + LEAST_SHARE), words + LEAST_WORDS)


def has_all_of(page: Fingerprint, kept: Fingerprint, config: DedupConfig) -> bool:
    """Return whether the page *kept* would be dropped for *page*, if that had come first.

    Nothing is asked of their site: the words of a page that was kept stand on it by that page alone.
    """
    return match(page, kept, config).is_duplicate
