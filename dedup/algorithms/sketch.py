"""One-permutation MinHash of shingles of tokens: how much of their text two pages share.

P. Li, A. Owen, C.-H. Zhang, One permutation hashing, NIPS 2012; one byte a bin as in P. Li,
C. König, b-bit minwise hashing, WWW 2010.  A sketch is BINS bytes: the top bits of a shingle's
hash choose its bin, the smallest hash of a bin gives a byte 1 to 255, and 0 is an empty bin.
`dedup.native._search.similarity` compares two of them.

Signatures are cut into bands of a few rows; sets that overlap are likely to have an equal band:
P. Indyk, R. Motwani, Approximate nearest neighbors, STOC 1998; J. Leskovec, A. Rajaraman, J. Ullman,
Mining of Massive Datasets, ch. 3.4.

    signature  |  band 0: rows 0 to 2  |  band 1: rows 3 to 5  |  ...  ->  one key for each band
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dedup.model.errors import ConfigError
from dedup.model.hashes import Hashes, mixed

# Tokens in a shingle of a crawl's sketches.
SHINGLE = 4
BINS = 256
EMPTY = bytes(BINS)
# Every place of the signature of a set with too few members has this value.
NOTHING = np.uint64(2**64 - 1)

_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Banding:
    """A signature's cut into *bands* of *rows* places each (1 or more); sets with an equal band meet.

    >>> banding = Banding(bands=20, rows=5)
    >>> round(banding.s_curve(0.2), 4), round(banding.s_curve(0.8), 4)
    (0.0064, 0.9996)
    """

    bands: int
    rows: int

    def __post_init__(self) -> None:
        for name, value in (("bands", self.bands), ("rows", self.rows)):
            if value < 1:
                raise ConfigError(f"{name} ({value}) must be 1 or more")

    @property
    def length(self) -> int:
        """How many places of a signature the bands take."""
        return self.bands * self.rows

    def s_curve(self, similarity: float) -> float:
        """Return how likely (0 to 1) two sets of that Jaccard similarity (0 to 1) have an equal band."""
        return float(1 - (1 - similarity**self.rows) ** self.bands)


def band_keys(signature: Hashes, banding: Banding) -> Hashes:
    """Return one key for each band of *signature*, none if it is the signature of nothing.

    Equal keys are equal bands at the same place.  Places after the last band are not used.  Raises
    `ConfigError` if there are too few.
    """
    if len(signature) < banding.length:
        raise ConfigError(f"bands ({banding.bands}) times rows must be at most {len(signature)}")
    if signature[0] == NOTHING:
        return signature[:0]
    steps = np.arange(1, banding.length + 1, dtype=np.uint64) * _STEP
    places = mixed(signature[: banding.length] + steps)
    return mixed(places.reshape(banding.bands, banding.rows).sum(axis=1, dtype=np.uint64))
