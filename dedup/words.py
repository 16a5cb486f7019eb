"""A word is one unsigned 64-bit integer; 0 stands for "there was nothing to hash"."""

from __future__ import annotations

WORD_BITS = 64
_SIGN = 1 << 63
_SPAN = 1 << 64


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits (0 to 64) in which two words differ.

    >>> hamming_distance(0b1011, 0b0010)
    2
    """
    return (a ^ b).bit_count()


def word_distance(a: int, b: int) -> int | None:
    """Return the Hamming distance of two words, None if either is 0, that is, none.

    >>> word_distance(5, 4), word_distance(5, 0)
    (1, None)
    """
    return (a ^ b).bit_count() if a and b else None


def signed(word: int) -> int:
    """Return *word* as a signed 64-bit integer with the same bits, as databases store it.

    >>> signed(2**64 - 1)
    -1
    """
    return word - _SPAN if word & _SIGN else word


def unsigned(number: int) -> int:
    """Return the word behind a signed 64-bit integer; the inverse of `signed`."""
    return number + _SPAN if number < 0 else number


def word_hex(word: int) -> str:
    """Return *word* as 16 hexadecimal digits.

    >>> word_hex(255)
    '00000000000000ff'
    """
    return f"{word:016x}"
