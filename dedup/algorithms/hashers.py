"""Other hashes of features than MurmurHash3."""

from __future__ import annotations

from dataclasses import dataclass

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Fnv:
    """The 64-bit FNV-1 or FNV-1a hash of a feature in UTF-8 (Fowler, Noll, Vo; RFC 9923).

    Of the two, FNV-1a (*xor_first*) spreads its last byte over more bits.  A *seed* other than 0
    is hashed in front of every feature, as four bytes, the lowest first.

    >>> hex(fnv1("")), hex(fnv1a("a"))
    ('0xcbf29ce484222325', '0xaf63dc4c8601ec8c')
    """

    xor_first: bool
    seed: int = 0

    def __call__(self, feature: str) -> int:
        """Return the hash of *feature*."""
        data = feature.encode("utf-8", "surrogatepass")
        if self.seed:
            data = self.seed.to_bytes(4, "little") + data
        value = _OFFSET
        for byte in data:
            if self.xor_first:
                value = (value ^ byte) * _PRIME & _MASK
            else:
                value = (value * _PRIME & _MASK) ^ byte
        return value


fnv1 = Fnv(xor_first=False)
fnv1a = Fnv(xor_first=True)
