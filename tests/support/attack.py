"""A page without one word of its victim's that passes for a copy of it: all that is public is known.

Hashes are taken from a pool one by one.  Each makes one more shingle, which falls into one bin: taken
is a word whose shingle puts the victim's byte there, of those the one whose own hash brings the
content simhash nearest.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dedup import Fingerprint, Page, fingerprint
from dedup.model.hashes import Hashes, hashes_of, mixed
from tests.support.pages import text

POOL = 1 << 16
SIZE = 4
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NOTHING = np.uint64(2**64 - 1)

VICTIM = Page.from_text(text(1, 900), url="http://victim/")


@cache
def attack() -> Page:
    """Return a page that passes for `VICTIM` wherever only simhashes and sketches are compared."""
    return Page.from_text(" ".join(forged(fingerprint(VICTIM))), url="http://evil/")


def forged(victim: Fingerprint) -> list[str]:
    """Return the words of a page with the content simhash and the sketch of *victim*, or nearly."""
    # Words of consonants, which no text has.
    digits = (f"{number * 0x9E3779B1 % 2**32:08x}" for number in range(POOL))
    names = [word.translate(str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")) for word in digits]
    words = hashes_of(names)
    nearness = np.bitwise_count(~(words ^ np.uint64(victim.content_simhash)))
    wanted = np.frombuffer(victim.sketch, np.uint8)
    shift = np.uint64(65 - len(wanted).bit_length())
    smallest = np.full(len(wanted), _NOTHING)
    taken = list(range(SIZE - 1))
    while True:
        is_made = (_values(smallest) == wanted) & (smallest < _NOTHING)
        shingles = _shingled(words[taken[1 - SIZE :]], words)
        bins = (shingles >> shift).astype(np.int64)
        helps = (_values(shingles) == wanted[bins]) & (shingles < smallest[bins]) & ~is_made[bins]
        helps[taken] = False
        if is_made.sum() >= 0.95 * np.count_nonzero(wanted) or not helps.any():
            return [names[number] for number in taken]
        found = int(np.argmax(np.where(helps, nearness, 0)))
        taken.append(found)
        smallest[bins[found]] = shingles[found]


def _shingled(state: Hashes, pool: Hashes) -> Hashes:
    hashes = state[:1]
    for number in range(1, SIZE - 1):
        hashes = mixed(hashes) * _STEP + state[number : number + 1]
    return mixed(mixed(hashes) * _STEP + pool)


def _values(hashes: Hashes) -> NDArray[np.uint64]:
    return hashes % np.uint64(255) + np.uint64(1)
