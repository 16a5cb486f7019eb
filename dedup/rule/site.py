"""What the rule may know about the site of a page: what is on the pages of it that were kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.model.fingerprint import Fingerprint
from dedup.prints.fingerprinter import SAMPLED_BYTES, of_site, pairs_in, sampled, title_in

Flags = NDArray[np.bool_]
Counted = NDArray[np.int64]

# Shingles on so many pages of a site, and on this share of them, are its frame.
COMMON_PAGES, COMMON_SHARE = 5, 0.02


class SiteContext:
    """What is on the pages of a site that were kept before the page that is judged: here, nothing.

    A site is a host.  An index reads it in the transaction that decides, and hands it on in
    `dedup.rule.decide.Past`: a verdict depends on the pages before it alone.  A *sample* is one of
    shingles or of traits (`dedup.prints.fingerprinter`); each of its hashes has a flag or a number.
    """

    is_known = False
    """Whether anything can be known of the site here."""

    @property
    def pages(self) -> int:
        """How many kept pages of the site are known."""
        return 0

    def on(self, sample: bytes) -> Counted:
        """Return on how many kept pages of the site each of *sample* is."""
        return np.zeros(len(sampled(sample)), np.int64)

    def unknown(self, sample: bytes) -> Flags:
        """Return what of *sample* is on no kept page of the site."""
        return np.asarray(self.on(sample) == 0)

    def common(self, sample: bytes) -> Flags:
        """Return what of *sample* is common on the site: the frame of its pages, not their text."""
        return np.zeros(len(sampled(sample)), bool)

    def seen(self, told: bytes) -> Counted:
        """Return how many pages tell what is *told*, dropped near copies too.

        It is a title, or the `cluster_name` the page that they were dropped for.
        """
        return self.on(told)

    def beside(self, host: str) -> SiteContext:  # noqa: ARG002
        """Return what is known beside a page of *host*: what is common there counts as common, too."""
        return self


NO_SITE = SiteContext()


def told_by(sample: bytes, traits: bytes) -> bytes:
    """Return the hashes that a page tells its site: those of its shingles, title and pairs."""
    return of_site(sample) + title_in(traits) + pairs_in(traits)


def told_by_copy(traits: bytes, token_digest: bytes) -> bytes:
    """Return what a dropped page tells: its title, and the name of the page it was dropped for.

    *token_digest* is that of the page that was kept.
    """
    return title_in(traits) + token_digest[:SAMPLED_BYTES].ljust(SAMPLED_BYTES, b"\0")


def cluster_name(kept: Fingerprint) -> bytes:
    """Return the name under which the copies of a page that was *kept* are counted."""
    return told_by_copy(kept.traits, kept.token_digest)[-SAMPLED_BYTES:]


def is_common(counts: NDArray[Any], pages: int) -> Flags:
    """Return which shingles are the frame of a site of so many *pages*, by how many have each."""
    return np.asarray(counts >= max(COMMON_PAGES, COMMON_SHARE * pages))
