"""What is on the pages of sites, counted once: the same for every page that is judged.

A crawl learns its sites as it goes; many machines that judge at the same time cannot.  What is frozen is
counted before the first verdict, on pages that are kept whatever the verifier says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.recipes.sample import Sampled, places, sampled
from dedup.rule.site import Counted, Flags, is_common
from dedup.values.hashes import digest

Counts = NDArray[np.uint16]

# About so many pages of one host are counted at most: 6 bytes for each different shingle that was
# sampled and each pair of words, 34 MB for a blog of pages of 450 words, and at most 250 MB.
MOST_PAGES = 20_000
_MOST_COUNT = 2**16 - 1


class HostCounts(NamedTuple):
    """How many of *pages* of a host have each of *hashes*, which are distinct and sorted."""

    pages: int
    hashes: Sampled
    counts: Counts

    def of(self, hashes: Sampled) -> Counts:
        """Return on how many pages each of *hashes* is."""
        found = places(hashes, self.hashes)
        if not len(self.hashes):
            return np.zeros(len(hashes), np.uint16)
        return np.where(found >= 0, self.counts[found], 0).astype(np.uint16)

    def common(self, sample: bytes) -> Flags:
        """Return what of *sample* is common on the host."""
        return is_common(self.of(sampled(sample)), self.pages)

    def unknown(self, sample: bytes) -> Flags:
        """Return what of *sample* is on none of the pages."""
        flags: Flags = self.of(sampled(sample)) == 0
        return flags


NOTHING = HostCounts(0, np.zeros(0, "<u4"), np.zeros(0, np.uint16))


def counted(told: Iterable[bytes]) -> HostCounts:
    """Return how many of the pages have each shingle, by what each has `told_by` it.

    >>> counts = counted([np.array([3, 8], "<u4").tobytes(), np.array([8], "<u4").tobytes()])
    >>> counts.pages, counts.hashes.tolist(), counts.counts.tolist()
    (2, [3, 8], [1, 2])
    """
    all_of_them = [sampled(one) for one in told]
    if not all_of_them:
        return NOTHING
    hashes, counts = np.unique(np.concatenate(all_of_them), return_counts=True)
    least = np.minimum(counts, _MOST_COUNT).astype(np.uint16)
    return HostCounts(len(all_of_them), hashes, least)


@dataclass(frozen=True, slots=True)
class FrozenSites:
    """What is known of all sites, by host; of other hosts no page is known.

    *name* tells two of these apart: it is a digest of what they were read from.
    """

    hosts: Mapping[str, HostCounts]
    name: str = ""

    def site(self, host: str) -> FrozenSite:
        """Return what is known of *host*."""
        counts = self.hosts.get(host, NOTHING)
        return FrozenSite(self, host, counts, (counts,))


@dataclass(frozen=True, slots=True)
class FrozenSite:
    """See `dedup.rule.site.SiteContext`; of *host*, beside another one where *compared* has two."""

    sites: FrozenSites
    host: str
    counts: HostCounts
    compared: tuple[HostCounts, ...]

    is_known = True

    @property
    def pages(self) -> int:
        """See `SiteContext`."""
        return self.counts.pages

    def common(self, sample: bytes) -> Flags:
        """See `SiteContext`."""
        flags = self.compared[0].common(sample)
        for counts in self.compared[1:]:
            flags = flags | counts.common(sample)
        return flags

    def unknown(self, sample: bytes) -> Flags:
        """See `SiteContext`."""
        return self.counts.unknown(sample)

    def on(self, sample: bytes) -> Counted:
        """See `SiteContext`; dropped copies are not known here."""
        return self.counts.of(sampled(sample)).astype(np.int64)

    def beside(self, host: str) -> FrozenSite:
        """See `SiteContext`."""
        if host == self.host:
            return self
        there = self.sites.hosts.get(host, NOTHING)
        return FrozenSite(self.sites, self.host, self.counts, (self.counts, there))


def name_of(hosts: Mapping[str, HostCounts]) -> str:
    """Return a digest of what is known of *hosts*, whatever their order."""
    parts = (
        f"{host}\0{counts.pages}".encode("utf-8", "surrogatepass")
        + counts.hashes.tobytes()
        + counts.counts.tobytes()
        for host, counts in sorted(hosts.items())
    )
    return digest(b"".join(map(digest, parts))).hex()
