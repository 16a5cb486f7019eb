"""A simhash is one unsigned 64-bit integer; 0 stands for "there was nothing to hash"."""

from __future__ import annotations

SIMHASH_BITS = 64
_SIGN = 1 << 63
_SPAN = 1 << 64


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits (0 to 64) in which two simhashes differ.

    >>> hamming_distance(0b1011, 0b0010)
    2
    """
    return (a ^ b).bit_count()


def simhash_distance(a: int, b: int) -> int | None:
    """Return the Hamming distance of two simhashes, None if either is 0, that is, none.

    >>> simhash_distance(5, 4), simhash_distance(5, 0)
    (1, None)
    """
    return (a ^ b).bit_count() if a and b else None


def signed(simhash: int) -> int:
    """Return *simhash* as a signed 64-bit integer with the same bits, as databases store it.

    >>> signed(2**64 - 1)
    -1
    """
    return simhash - _SPAN if simhash & _SIGN else simhash


def unsigned(number: int) -> int:
    """Return the simhash behind a signed 64-bit integer; the inverse of `signed`."""
    return number + _SPAN if number < 0 else number


def simhash_hex(simhash: int) -> str:
    """Return *simhash* as 16 hexadecimal digits.

    >>> simhash_hex(255)
    '00000000000000ff'
    """
    return f"{simhash:016x}"
