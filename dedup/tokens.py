"""Text to tokens: words of any script in document order, Han and kana runs cut by jieba."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from unicodedata import normalize

from dedup.dictionary import Segmenter, segmenter

_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_IS_HAN = re.compile(f"[{_HAN}]")
_RUNS = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]+")
# Spaces for the ASCII bytes that are in no word; bytes of other characters stay.
_ASCII_WORDS = bytes(
    code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256)
)
_BETWEEN = "\n"


def tokens(text: str, *, segment: Segmenter | None = None) -> list[str]:
    """Return the words of *text*, NFKC-normalised and in lower case, in their order.

    A word is a run of letters, digits and underscores; a run of Han characters or kana is cut
    further by *segment* (default: jieba's dictionary, see `dedup.dictionary.segmenter`).

    >>> tokens("Don't panic: Café №5")
    ['don', 't', 'panic', 'café', 'no5']
    """
    if text.isascii():
        return _pieces(text.lower())
    found: list[str | None] = []
    han: list[str] = []
    for piece in _pieces(normalize("NFKC", text).lower()):
        if piece.isascii():
            found.append(piece)
            continue
        for run in _RUNS.findall(piece):
            if _IS_HAN.match(run):
                han.append(run)
                found.append(None)  # its words come from one call for all runs, which is faster
            else:
                found.append(run)
    return list(_merged(found, _segmented(han, segment)))


def is_han(token: str) -> bool:
    """Return whether *token* begins with a Han character or kana."""
    return bool(_IS_HAN.match(token))


def _pieces(text: str) -> list[str]:
    data = text.encode("utf-8", "surrogatepass").translate(_ASCII_WORDS)
    return data.decode("utf-8", "surrogatepass").split()


def _segmented(han: list[str], segment: Segmenter | None) -> Iterator[str]:
    return iter((segment or segmenter())(_BETWEEN.join(han)))


def _merged(found: list[str | None], words: Iterator[str]) -> Iterator[str]:
    for token in found:
        if token is None:
            yield from takewhile(_BETWEEN.__ne__, words)
        else:
            yield token
