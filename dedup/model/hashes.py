"""Features to 64-bit hashes, and bytes to digests.  Nothing here depends on Python's salted `hash`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import blake2b

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError

Hashes = NDArray[np.uint64]
Hasher = Callable[[str], int]

DIGEST_SIZE = 16
SIMHASH_BITS = 64  # a simhash is one unsigned 64-bit integer; 0 stands for "there was nothing to hash"
_SPAN = 1 << 64


def murmur3(feature: str) -> int:
    """Return the first 64 bits of MurmurHash3 x64 128 of *feature* in UTF-8 (Appleby 2011).

    >>> hex(murmur3("hello"))
    '0xcbd8a7b341bd9b02'
    """
    return int.from_bytes(mmh3.hash_bytes(_utf8(feature))[:8], "little")


def hashes_of(features: Collection[str], hasher: Hasher = murmur3) -> Hashes:
    """Return the hashes of *features* in their order, one uint64 each.

    Raises `ConfigError` where *hasher* returns anything but an unsigned 64-bit integer.
    """
    if hasher is murmur3:
        # Not str: mmh3 crashes the process on a lone surrogate.
        return np.frombuffer(b"".join(map(mmh3.hash_bytes, map(_utf8, features))), "<u8")[::2]
    try:
        return np.fromiter(map(hasher, features), np.uint64, len(features))
    except (OverflowError, TypeError, ValueError) as error:
        raise ConfigError(f"hasher ({hasher!r}) must return whole numbers of 0 to 2**64 - 1") from error


def mixed(hashes: Hashes) -> Hashes:
    """Return *hashes* with their bits stirred, one to one: MurmurHash3's 64-bit finalizer."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(factor)
    result: Hashes = hashes ^ (hashes >> np.uint64(33))
    return result


def digest(data: bytes) -> bytes:
    """Return a 128-bit BLAKE2b digest of *data*, b"" if there is none."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest() if data else b""


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits (0 to 64) in which two simhashes differ."""
    return (a ^ b).bit_count()


def simhash_distance(a: int, b: int) -> int | None:
    """Return the Hamming distance of two simhashes, None if either is 0, that is, none."""
    return (a ^ b).bit_count() if a and b else None


def signed(simhash: int) -> int:
    """Return *simhash* as a signed 64-bit integer with the same bits, as databases store it."""
    return simhash - _SPAN if simhash >= _SPAN // 2 else simhash


def unsigned(number: int) -> int:
    """Return the simhash behind a signed 64-bit integer; the inverse of `signed`."""
    return number + _SPAN if number < 0 else number
