"""Samples of a text: of its shingles, which may be on other pages too, and its pairs of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.model.hashes import Hashes, hashes_of
from dedup.model.marks import MARKED
from dedup.native._pages import OF_NUMBERS

ONE_IN = 4
# Of texts of more than some 131,000 words it is less than one in four: the smallest hashes.
MOST = 32_768
SAMPLED_BYTES = 4
# By so many of a page, the smallest, a site is known: its memory must not grow with the pages.
MOST_OF_SITE = 1024

Sampled = NDArray[np.uint32]


def of_site(sample: bytes) -> bytes:
    """Return that part of a *sample* by which pages of a site are known."""
    return sample[: MOST_OF_SITE * SAMPLED_BYTES]


def sampled(sample: bytes) -> Sampled:
    """Return the hashes of a *sample*, in order."""
    return np.frombuffer(sample, "<u4")


def places(hashes: Sampled, among: Sampled) -> NDArray[np.intp]:
    """Return where each of *hashes* is in the ordered *among*, -1 where it does not."""
    if not len(among):
        return np.full(len(hashes), -1)
    found = among.searchsorted(hashes)
    found[found == len(among)] = 0
    return np.where(among[found] == hashes, found, -1)


def comparable(one: bytes, other: bytes, most: int = MOST) -> tuple[Sampled, Sampled]:
    """Return the parts of two samples that are comparable: one of *most* says nothing beyond its end."""
    both = sampled(one), sampled(other)
    if ends := [hashes[-1] for hashes in both if len(hashes) == most]:
        first, second = (hashes[: hashes.searchsorted(min(ends), "right")] for hashes in both)
        return first, second
    return both


# Of a page with more of them, those with the smallest hashes: the memory of a site must not grow with
# its longest pages.
MOST_PAIRS = 1024
# So many words of a title are known, each with one of its pairs.
MOST_TITLED = 16
_HALF, _IS_MARKED = np.uint64(32), np.uint32(1)


def without_numbers(pairs: bytes) -> bytes:
    """Return those of *pairs* that no number is in, but that of a date or a code."""
    told = sampled(pairs)
    found: bytes = told[told & np.uint32(OF_NUMBERS) == 0].tobytes()
    return found


# Traits of a page are 32-bit hashes: those of its variant, its record and its title; how many words of
# the title its text says, and of each its hash and its lowest pair; then its pairs.
_RECORD, _TITLE, _COUNT, _TITLED = (place * SAMPLED_BYTES for place in (1, 2, 3, 4))
_NO_PAIR = np.uint32(2**32 - 1)


def traits(
    title: str, pairs: bytes = b"", variant: str = "", record: str = "", titled: bytes = b""
) -> bytes:
    """Return the traits of a page; *titled* is what `titled_of` returns."""
    own = (hashes_of([variant, record, title]) >> _HALF).astype("<u4")
    own[0] = own[0] & ~_IS_MARKED | variant.startswith(MARKED)
    count = len(titled) // (2 * SAMPLED_BYTES)
    named: bytes = own.tobytes() + count.to_bytes(SAMPLED_BYTES, "little")
    return named + titled + pairs


def titled_of(words: Hashes, lowest: bytes) -> bytes:
    """Return the hashes of *words* of a title that have pairs in a text, each with its *lowest* one."""
    both = np.stack([(words >> _HALF).astype("<u4"), sampled(lowest)], axis=1)
    found: bytes = both[both[:, 1] != _NO_PAIR].tobytes()
    return found


def other_names(kept: bytes, page: bytes) -> Sampled:
    """Return a pair of each word of its title that only *page* says, if *kept* says one alone, too."""
    there, here = (sampled(one[_TITLED : _pairs_begin(one)]) for one in (kept, page))
    words, others = there[:-1:2], here[:-1:2]
    if np.isin(words, others).all():
        return sampled(b"")
    found: Sampled = here[1::2][~np.isin(others, words)]
    return found


def _pairs_begin(traits: bytes) -> int:
    return _TITLED + 2 * SAMPLED_BYTES * int.from_bytes(traits[_COUNT:_TITLED], "little")


def title_in(traits: bytes) -> bytes:
    """Return the hash of the title in *traits*."""
    return traits[_TITLE:_COUNT]


def known_by(traits: bytes) -> bytes:
    """Return those of *traits* that are counted on a site: title and pairs."""
    return title_in(traits) + pairs_in(traits)


def are_variants(kept: bytes, page: bytes) -> bool:
    """Return whether pages with these traits are for different languages or regions, and say so."""
    return _differ(kept[:_RECORD], page[:_RECORD])


def are_records(kept: bytes, page: bytes) -> bool:
    """Return whether pages with these traits name different records."""
    return _differ(kept[_RECORD:_TITLE], page[_RECORD:_TITLE])


def names_record(traits: bytes) -> bool:
    """Return whether the page with these *traits* names the record that it shows."""
    return traits[_RECORD:_TITLE] not in {_NOTHING, b""}


def _differ(one: bytes, other: bytes) -> bool:
    return one != other and {one, other}.isdisjoint((_NOTHING, b""))


def is_apart(kept: bytes, page: bytes) -> bool:
    """Return whether the page with the traits *page* says something else in places that are marked.

    A page kept that was read before anybody marked them says nothing there.
    """
    is_marked = page[:1] != b"" and bool(page[0] & int(_IS_MARKED))
    return is_marked and kept[:_RECORD] != page[:_RECORD]


def other_pairs(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those pairs of *page* that are not in the traits of *kept*."""
    here, there = comparable(pairs_in(page), pairs_in(kept), MOST_PAIRS)
    found: bytes = here[places(here, there) < 0].tobytes()
    return found


def pairs_in(traits: bytes) -> bytes:
    """Return the pairs in *traits*."""
    return traits[_pairs_begin(traits) :]


_NOTHING = traits("")[:_RECORD]
UNTITLED = title_in(traits(""))
"""The hash of the title of a page that has none."""
