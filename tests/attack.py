"""A page without one word of its victim's that passes for a copy of it: all that is public is known.

Hashes are taken from a pool one by one.  Each makes one more shingle, which falls into one bin: taken
is a word whose shingle puts the victim's byte there, of those the one whose own hash brings the
content simhash nearest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dedup import Fingerprint, Page, fingerprint
from dedup.model.hashes import Hashes, hashes_of, mixed
from tests.pages import text

POOL = 1 << 16
SIZE = 4
_LETTERS = "bcdfghjklmnpqrst"
_STEP = np.uint64(0x9E3779B97F4A7C15)

_NOTHING = np.uint64(2**64 - 1)

VICTIM = Page.from_text(text(1, 900), url="http://victim/")

Flags = NDArray[np.bool_]


@cache
def attack() -> Page:
    """Return a page that passes for `VICTIM` wherever only simhashes and sketches are compared."""
    return Page.from_text(" ".join(forged(fingerprint(VICTIM))), url="http://evil/")


def nonsense(count: int = POOL) -> list[str]:
    """Return so many words of consonants, which no text has."""
    digits = (f"{number * 0x9E3779B1 % 2**32:08x}" for number in range(count))
    return [word.translate(str.maketrans("0123456789abcdef", _LETTERS)) for word in digits]


def shingled(state: Hashes, pool: Hashes) -> Hashes:
    """Return the shingles of *state* and each word of the pool."""
    hashes = state[:1]
    for number in range(1, SIZE - 1):
        hashes = mixed(hashes) * _STEP + state[number : number + 1]
    return mixed(mixed(hashes) * _STEP + pool)


@dataclass
class Target:
    """A sketch to be made again of the hashes of a pool; *smallest* is what each bin has so far."""

    sketch: bytes
    pool: Hashes
    smallest: Hashes = field(init=False)

    def __post_init__(self) -> None:
        self.smallest = np.full(len(self.sketch), _NOTHING)
        self._restored = np.frombuffer(self.sketch, np.uint8)
        self._shift = np.uint64(65 - len(self.sketch).bit_length())

    def look(self, taken: list[int]) -> None:
        """See what each word of the pool would do after those that were taken."""
        self.shingles = shingled(self.pool[taken[1 - SIZE :]], self.pool)
        self.bins = (self.shingles >> self._shift).astype(np.int64)
        fits = _values(self.shingles) == self._restored[self.bins]
        counts = self.shingles < self.smallest[self.bins]
        self.helps = fits & counts & ~self.made[self.bins]
        self.harms = ~fits & counts & self.made[self.bins]

    @property
    def made(self) -> Flags:
        """Which bins are as wanted."""
        made: Flags = (_values(self.smallest) == self._restored) & (self.smallest < _NOTHING)
        return made

    def is_made(self, share: float) -> bool:
        return bool(self.made.sum() >= share * np.count_nonzero(self._restored))

    def take(self, number: int) -> None:
        place, shingle = self.bins[number], self.shingles[number]
        self.smallest[place] = min(self.smallest[place], shingle)


def forged(victim: Fingerprint, *, share: float = 0.95) -> list[str]:
    """Return the words of a page with the content simhash and the sketch of *victim*, or nearly."""
    names = nonsense()
    words = hashes_of(names)
    target = Target(victim.sketch, words)
    nearness = np.bitwise_count(~(words ^ np.uint64(victim.content_simhash)))
    taken = list(range(SIZE - 1))
    while not target.is_made(share):
        target.look(taken)
        useful = target.helps.copy()
        useful[taken] = False
        if not useful.any():
            break
        found = int(np.argmax(np.where(useful, nearness, 0)))
        taken.append(found)
        target.take(found)
    return [names[number] for number in taken]


def _values(hashes: Hashes) -> NDArray[np.uint64]:
    return hashes % np.uint64(255) + np.uint64(1)
