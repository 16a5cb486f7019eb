"""A page without one word of its victim's that passes for a copy of it: all that is public is known.

Hashes are taken from a pool one by one.  Each makes one more shingle, which falls into one bin: taken
is a word whose shingle puts the victim's byte there, of those the one whose own hash brings the
content simhash nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dedup import Fingerprint, Page, fingerprint
from dedup.values.hashes import Hashes, hashes_of, keyed_hashes, mixed
from tests.pages import text

POOL = 1 << 16
SIZE = 4
_LETTERS = "bcdfghjklmnpqrst"
_STEP = np.uint64(0x9E3779B97F4A7C15)

_NOTHING = np.uint64(2**64 - 1)

VICTIM = Page.from_text(text(1, 900), url="http://victim/")

Flags = NDArray[np.bool_]
Shingled = Callable[[Hashes, Hashes], Hashes]


@cache
def attack() -> Page:
    """Return a page that passes for `VICTIM` wherever only what is public is compared."""
    return Page.from_text(" ".join(forged(fingerprint(VICTIM))), url="http://evil/")


def nonsense(count: int = POOL) -> list[str]:
    """Return so many words of consonants, which no text has."""
    digits = (f"{number * 0x9E3779B1 % 2**32:08x}" for number in range(count))
    return [word.translate(str.maketrans("0123456789abcdef", _LETTERS)) for word in digits]


def mixed_each(state: Hashes, pool: Hashes) -> Hashes:
    """Return the shingles of *state* and each word of the pool, as a public sketch has them."""
    hashes = state[:1]
    for number in range(1, SIZE - 1):
        hashes = mixed(hashes) * _STEP + state[number : number + 1]
    return mixed(mixed(hashes) * _STEP + pool)


def mixed_once(state: Hashes, pool: Hashes) -> Hashes:
    """Return the same as a check sketch has them."""
    hashes = state[:1]
    for number in range(1, SIZE - 1):
        hashes = hashes * _STEP + state[number : number + 1]
    return mixed(hashes * _STEP + pool)


@dataclass
class Target:
    """A sketch to be made again of the hashes of a pool; *smallest* is what each bin has so far."""

    sketch: bytes
    pool: Hashes
    shingled: Shingled
    smallest: Hashes = field(init=False)

    def __post_init__(self) -> None:
        self.smallest = np.full(len(self.sketch), _NOTHING)
        self._restored = np.frombuffer(self.sketch, np.uint8)
        self._shift = np.uint64(65 - len(self.sketch).bit_length())

    def look(self, taken: list[int]) -> None:
        """See what each word of the pool would do after those that were taken."""
        self.shingles = self.shingled(self.pool[taken[1 - SIZE :]], self.pool)
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


def forged(victim: Fingerprint, *, secret: bytes = b"", share: float = 0.95) -> list[str]:
    """Return the words of a page that passes for *victim*.

    *secret* is what the attacker takes for the secret of the check sketch of *victim*.  That sketch is
    made first, of the smallest hashes that there are, which what comes later leaves alone.
    """
    names = nonsense()
    words = hashes_of(names)
    public = Target(victim.sketch, words, mixed_each)
    check = Target(victim.check_sketch, keyed_hashes(names, secret), mixed_once) if secret else None
    targets = [check, public] if check else [public]
    nearness = np.bitwise_count(~(words ^ np.uint64(victim.content_simhash)))
    taken = list(range(SIZE - 1))
    for target in targets:
        while not target.is_made(share):
            for each in targets:
                each.look(taken)
            useful = target.helps & ~np.any([each.harms for each in targets], axis=0)
            useful[taken] = False
            if not useful.any():
                break
            order = nearness if target is public else ~(target.shingles << np.uint64(6))
            found = int(np.argmax(np.where(useful, order, 0)))
            taken.append(found)
            for each in targets:
                each.take(found)
    return [names[number] for number in taken]


def _values(hashes: Hashes) -> NDArray[np.uint64]:
    return hashes % np.uint64(255) + np.uint64(1)
