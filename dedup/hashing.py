"""Features to 64-bit words, and bytes to digests.  Nothing here depends on Python's salted `hash`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import blake2b

import mmh3
import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Hasher = Callable[[str], int]

DIGEST_SIZE = 16

_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_MASK = (1 << 64) - 1
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(33)


def murmur3(feature: str) -> int:
    """Return the first 64 bits of MurmurHash3 x64 128 of *feature* in UTF-8 (Appleby 2011)."""
    return int.from_bytes(mmh3.hash_bytes(_utf8(feature))[:8], "little")


def fnv1(feature: str) -> int:
    """Return the 64-bit FNV-1 hash of *feature* in UTF-8 (Fowler, Noll, Vo; RFC 9923).

    >>> hex(fnv1(""))
    '0xcbf29ce484222325'
    """
    word = _FNV_OFFSET
    for byte in _utf8(feature):
        word = (word * _FNV_PRIME & _MASK) ^ byte
    return word


def hash_words(features: Collection[str], hasher: Hasher = murmur3) -> Words:
    """Return the words of *features* in their order, one uint64 each."""
    if hasher is not murmur3:
        return np.fromiter(map(hasher, features), np.uint64, len(features))
    # mmh3 takes str twice as fast as bytes, but crashes the process on a lone surrogate.
    encoded = features if _is_valid(features) else map(_utf8, features)
    return np.frombuffer(b"".join(map(mmh3.hash_bytes, encoded)), "<u8")[::2]


def mixed(words: Words) -> Words:
    """Return *words* with their bits stirred, one to one: MurmurHash3's 64-bit finalizer."""
    words = (words ^ (words >> _HALF)) * _MIX_1
    words = (words ^ (words >> _HALF)) * _MIX_2
    result: Words = words ^ (words >> _HALF)
    return result


def digest(data: bytes) -> bytes:
    """Return a 128-bit BLAKE2b digest of *data*, b"" if there is none."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest() if data else b""


def _is_valid(features: Collection[str]) -> bool:
    try:
        "".join(features).encode()
    except UnicodeEncodeError:
        return False
    return True


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
