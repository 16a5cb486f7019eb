"""Samples of a text: of its shingles, which may stand on other pages too, and its pairs of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.sketch import shingle_hashes
from dedup.model.hashes import Hashes, hashes_of
from dedup.model.marks import MARKED

ONE_IN = 4
# Of texts of more than some 131,000 words it is less than one in four: the smallest hashes.
MOST = 32_768
SAMPLED_BYTES = 4
# By so many of a page, the smallest, a site is known: its memory must not grow with the pages.
MOST_OF_SITE = 1024

Sampled = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)

_REST, _SHIFT = np.uint64(ONE_IN - 1), np.uint64(32)


def sample(shingles: Hashes) -> bytes:
    """Return the sample of *shingles*, hashes in order; at most `MOST` of `SAMPLED_BYTES` each."""
    chosen: Sampled = (shingles[shingles & _REST == 0] >> _SHIFT).astype("<u4")
    return different(chosen)[:MOST].tobytes()


def of_site(sample: bytes) -> bytes:
    """Return that part of a *sample* by which pages of a site are known."""
    return sample[: MOST_OF_SITE * SAMPLED_BYTES]


def sampled(sample: bytes) -> Sampled:
    """Return the hashes of a *sample*, in order."""
    return np.frombuffer(sample, "<u4")


def different(ordered: NDArray[Number]) -> NDArray[Number]:
    """Return the different ones of *ordered* hashes.  (`numpy.unique` hashes them once more.)"""
    return ordered[_firsts(ordered)]


def count_different(ordered: Hashes) -> int:
    """Return how many different ones there are of *ordered* hashes."""
    return int(np.count_nonzero(_firsts(ordered)))


def _firsts(ordered: NDArray[Number]) -> NDArray[np.bool_]:
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def places(hashes: Sampled, among: Sampled) -> NDArray[np.intp]:
    """Return where each of *hashes* stands in the ordered *among*, -1 where it does not."""
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
# Clocks and identifiers of hexadecimal digits are others on each visit: they are in no pair.
_NUMBER = re.compile(r"[^0-9A-Za-z_]*[0-9][0-9.,:]*[A-Za-z]{0,2}[^0-9A-Za-z_]*")
_DIGIT = re.compile(r"[0-9]")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_ID = re.compile(r"(?=.*[a-f])[0-9a-f]{6,}")
# A counter may be any number; a date has a day beside its year.
_DAY = re.compile(r"(?:0?[1-9]|[12][0-9]|3[01])(?:[A-Za-z]{2})?")
IN_NO_PAIR, NUMBER, DAY, YEAR, CODE, WORD = range(6)

_HALF, _IS_MARKED = np.uint64(32), np.uint32(1)
_OF_NUMBERS, _OF_CODES = np.uint64(1), np.uint64(2)


def kind_of(token: str) -> int:
    """Return whether *token* is a `WORD`, a `CODE`, a `YEAR`, a `DAY`, a `NUMBER` or `IN_NO_PAIR`.

    >>> [kind_of(token) for token in "sea gw8704 18.5*7.5 2026 31st 1,200 #639 12:30pm 3fa9c0".split()]
    [5, 4, 4, 3, 2, 1, 1, 0, 0]
    """
    if not _DIGIT.search(token):
        return WORD
    if _YEAR.fullmatch(token):
        return YEAR
    if _ID.fullmatch(token):
        return IN_NO_PAIR
    if _NUMBER.fullmatch(token):
        return IN_NO_PAIR if ":" in token else DAY if _DAY.fullmatch(token) else NUMBER
    return CODE


def pairs(
    names: Sequence[str], hashes: Hashes, sequence: NDArray[np.intp], lines: Sequence[int]
) -> bytes:
    """Return the pairs of a text, 4 bytes each, at most `MOST_PAIRS`.

    *names* are its different tokens, *hashes* theirs; *sequence* is the text as their numbers, and
    *lines* says how many there are on each line, 1 or more.  What is alone on its line is a pair with
    itself.  Two numbers and the token between them are one, too, and a date if one of them is a year and
    the other a day or a year.
    """
    if not lines:
        return b""
    # Most words have letters only: to ask each `kind_of` takes three times as long.
    kinds = np.array([WORD if name.isalpha() else kind_of(name) for name in names], np.uint8)[sequence]
    is_in_one, is_number = kinds != IN_NO_PAIR, (kinds >= NUMBER) & (kinds <= YEAR)
    of_text, ends = hashes[sequence], np.cumsum(lines) - 1
    line = np.repeat(np.arange(len(lines)), lines)
    first = np.delete(np.arange(len(sequence)), ends)
    alone = ends[np.asarray(lines) == 1]
    first, second = np.concatenate((first, alone)), np.concatenate((first + 1, alone))
    both = is_in_one[first] & is_in_one[second]
    first, second = first[both], second[both]
    apart = np.flatnonzero((line[:-2] == line[2:]) & is_number[:-2] & is_in_one[1:-1] & is_number[2:])
    outer = kinds[apart], kinds[apart + 2]
    is_date = (kinds[apart + 1] >= CODE) & (np.maximum(*outer) == YEAR) & (np.minimum(*outer) != NUMBER)
    two = shingle_hashes(np.stack((of_text[first], of_text[second])), 2)[0]
    three = shingle_hashes(np.stack((of_text[apart], of_text[apart + 1], of_text[apart + 2])), 3)[0]
    found = np.concatenate((two, three)) >> _HALF
    has_number = np.concatenate((is_number[first] | is_number[second], ~is_date))
    has_code = np.concatenate(((kinds[first] == CODE) | (kinds[second] == CODE), is_date)) & ~has_number
    told = found & ~(_OF_NUMBERS | _OF_CODES) | has_number * _OF_NUMBERS | has_code * _OF_CODES
    return different(np.sort(told.astype("<u4")))[:MOST_PAIRS].tobytes()


def without_numbers(pairs: bytes) -> bytes:
    """Return those of *pairs* that no number is in, but that of a date or a code."""
    told = sampled(pairs)
    found: bytes = told[told & np.uint32(_OF_NUMBERS) == 0].tobytes()
    return found


# Traits of a page are 32-bit hashes: those of its variant and of its title, then its pairs.
_TITLE, _PAIRS = SAMPLED_BYTES, 2 * SAMPLED_BYTES


def traits(title: str, pairs: bytes = b"", variant: str = "") -> bytes:
    """Return the traits of a page with *title*, of a *variant*, and its *pairs*: 4 bytes each."""
    own = (hashes_of([variant, title]) >> _HALF).astype("<u4")
    own[0] = own[0] & ~_IS_MARKED | variant.startswith(MARKED)
    named: bytes = own.tobytes()
    return named + pairs


def title_in(traits: bytes) -> bytes:
    """Return the hash of the title in *traits*."""
    return traits[_TITLE:_PAIRS]


def known_by(traits: bytes) -> bytes:
    """Return those of *traits* that are counted on a site: title and pairs."""
    return traits[_TITLE:]


def are_variants(kept: bytes, page: bytes) -> bool:
    """Return whether pages with these traits say that they are for different languages, or records."""
    one, other = kept[:_TITLE], page[:_TITLE]
    return one != other and {one, other}.isdisjoint((_NO_VARIANT, b""))


def is_apart(kept: bytes, page: bytes) -> bool:
    """Return whether the page with the traits *page* says something else in places that are marked.

    A page kept that was read before anybody marked them says nothing there.
    """
    is_marked = page[:1] != b"" and bool(page[0] & int(_IS_MARKED))
    return is_marked and kept[:_TITLE] != page[:_TITLE]


def other_pairs(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those pairs of *page* that are not in the traits of *kept*."""
    here, there = comparable(page[_PAIRS:], kept[_PAIRS:], MOST_PAIRS)
    found: bytes = here[places(here, there) < 0].tobytes()
    return found


def count_pairs(traits: bytes) -> int:
    """Return how many pairs are in *traits*."""
    return len(traits[_PAIRS:]) // SAMPLED_BYTES


_NO_VARIANT = traits("")[:_TITLE]
UNTITLED = title_in(traits(""))
"""The hash of the title of a page that has none."""
