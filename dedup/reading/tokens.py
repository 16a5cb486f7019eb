"""Text to tokens: the words of any script in document order.

Where a script separates words, a token is a word.  Chinese is cut into words by jieba's dictionary.
Japanese, Thai, Lao, Khmer and Burmese are cut into runs of a few characters instead (J. McCarley,
S. Roukos and others on n-gram indexing; P. McNamee, J. Mayfield, Character n-gram tokenization for
European language text retrieval, 2004).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from dedup.reading.dictionary import Segmenter, segmenter

KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    + KANA
)
# Thai, Lao, Burmese, Khmer: letters, vowel signs and digits.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0edf"
    "\u1000-\u1049\u1050-\u109d\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"
)
# The vowel signs and accents of a word, which `\w` does not have: general ones, then the Indian
# blocks, which are laid out alike, then Sinhala and Tibetan.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f"
    + "".join(
        f"{chr(block)}-{chr(block + 0x03)}{chr(block + 0x3A)}-{chr(block + 0x57)}"
        f"{chr(block + 0x62)}{chr(block + 0x63)}"
        for block in range(0x0900, 0x0E00, 0x80)
    )
    + "\u0dd8-\u0ddf\u0df2\u0df3\u0f71-\u0f84\u0f86\u0f87\u0f8d-\u0fbc"
)
# Hebrew and Arabic points, and the tatweel: the same word is written with and without.
POINTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
)
_OPTIONAL = re.compile(f"[{POINTS}]")

UNSPACED = HAN + _UNSPACED
"""A character class, without its brackets: the scripts that put no spaces between words."""

JAPANESE_NGRAM = 2
UNSPACED_NGRAM = 3

_IS_HAN = re.compile(f"[{HAN}]")
_HAS_KANA = re.compile(f"[{KANA}]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# The signs of programs and formulas: `operator<` is not `operator<<`, C is neither C++ nor C#.
SIGNS = "#$%&*+<=>@\\^|~"
# Possessive: to backtrack in an endless word would take 100 bytes of memory for each character.
_RUNS = re.compile(
    rf"(?P<han>[{HAN}]++)|(?P<unspaced>[{_UNSPACED}]++)"
    rf"|(?:[^\W{HAN}{_UNSPACED}]|[{MARKS}{POINTS}{re.escape(SIGNS)}]|(?<=[0-9])[.,:](?=[0-9]))++"
)
# Normalization sorts the marks of a letter in quadratic time, so there is a limit to them.  No mark is
# a letter, but two letters become marks: the sound marks of halfwidth kana.
MOST_MARKS = 200
_HALFWIDTH_MARKS = "\uff9e\uff9f"
_MARK_FLOOD = re.compile(
    rf"(?<![^\w\s!-~])(?<![{_HALFWIDTH_MARKS}])"
    rf"(?:[^\w\s!-~]|[{_HALFWIDTH_MARKS}]){{{MOST_MARKS + 1},}}+"
)
# What each byte becomes: bytes of ASCII that are in no word a space, capitals small letters.
_ASCII_WORDS = bytes(
    code if code > 127 or chr(code).isalnum() or chr(code) in f"_{SIGNS}" else 32 for code in range(256)
).lower()
# Two exceptions keep the byte in their middle: a dot, comma or colon (.) between digits (d), and a
# capital (A) without a sign, letter or digit of ASCII (a) beside it.
_NUMERIC = bytes(
    ord("d" if chr(code).isdigit() and code < 128 else "." if code in b".,:" else " ")
    for code in range(256)
)
_LETTERS = bytes(
    ord("A" if 65 <= code <= 90 else " " if code > 127 or _ASCII_WORDS[code] == 32 else "a")
    for code in range(256)
)
_KEPT = ((_NUMERIC, b"d.d"), (_LETTERS, b" A "))
# What NFKC changes in nearly every Chinese page.
_COMMON = (("\u3000", " "), ("\xa0", " "), *((chr(code + 0xFEE0), chr(code)) for code in b"!(),:;?"))
_BETWEEN = "\n"


def tokens(text: str, *, segment: Segmenter | None = None) -> list[str]:
    """Return the tokens of *text*, NFKC-normalised and in lower case, in their order.

    A token is a run of letters with their marks, digits, underscores and the signs of programs; a
    dot, comma or colon between two digits belongs to the number.  A single letter of ASCII keeps its
    case: an option ``-a`` is another than ``-A``.  A run of Han characters is cut further by *segment*
    (default: jieba's dictionary, see `dedup.reading.dictionary.segmenter`); one with kana gives its runs
    of two characters, one of Thai, Lao, Khmer or Burmese its runs of three.  Points of Arabic and
    Hebrew are left out.  A text of signs alone has no tokens.

    >>> tokens("Don't panic: Café №5 at 10:30, for 1,000.50")
    ['don', 't', 'panic', 'café', 'no5', 'at', '10:30', 'for', '1,000.50']
    >>> tokens("C++ has operator<; run it with -A | 'more'")
    ['c++', 'has', 'operator<', 'run', 'it', 'with', 'A', '|', 'more']
    """
    found = _pieces(text) if text.isascii() else _words(_normal_form(text), segment)
    # Lines, stars and the bars between pictures say nothing: a page of them is one without words.
    return found if any(token.strip(SIGNS) for token in found) else []


def _words(text: str, segment: Segmenter | None) -> list[str]:
    has_kana = bool(_HAS_KANA.search(text))
    cut_tokens: list[str | None] = []
    han: list[str] = []
    cut: dict[str, tuple[list[str | None], list[str]]] = {}
    for piece in _pieces(text):
        if piece.isascii():
            cut_tokens.append(piece)
            continue
        if piece not in cut:
            cut[piece] = _cut(piece, has_kana)
        parts, runs = cut[piece]
        cut_tokens += parts
        han += runs
    return _merged(cut_tokens, iter((segment or segmenter())(_BETWEEN.join(han)) if han else ()))


def _cut(piece: str, has_kana: bool) -> tuple[list[str | None], list[str]]:
    """Return the tokens of *piece*, with None for each run of Han, and these runs."""
    cut_tokens: list[str | None] = []
    han: list[str] = []
    for match in _RUNS.finditer(piece):
        run, kind = match[0], match.lastgroup
        if kind == "han" and has_kana and _HAS_KANA.search(run):
            cut_tokens += _ngrams(run, JAPANESE_NGRAM)
        elif kind == "han":
            han.append(run)
            cut_tokens.append(None)  # its words come from one call for all runs, which is faster
        elif kind == "unspaced":
            cut_tokens += _ngrams(run, UNSPACED_NGRAM)
        elif run := _OPTIONAL.sub("", run):
            cut_tokens.append(run if len(run) == 1 and run.isascii() else run.lower())
    return cut_tokens, han


def normalized(text: str) -> str:
    """Return *text* in Unicode's form NFKC and in lower case.

    A line break is put into more than `MOST_MARKS` marks in a row, which no script has.
    """
    return _normal_form(text).lower()


def _normal_form(text: str) -> str:
    if any(map(is_mark, text[MOST_MARKS::MOST_MARKS])):
        text = _MARK_FLOOD.sub(_parted, text)
    # Most Chinese text needs only these changes; to normalize in full costs ten times as much.
    for common, plain in _COMMON:
        text = text.replace(common, plain)
    return normalize("NFKC", text)


def is_mark(character: str) -> bool:
    """Return whether *character* is a mark, or becomes one in normal form."""
    return category(character)[0] == "M" or character in _HALFWIDTH_MARKS


def _parted(flood: re.Match[str]) -> str:
    marks = flood[0]
    return _BETWEEN.join(marks[start : start + MOST_MARKS] for start in range(0, len(marks), MOST_MARKS))


def word_count(tokens: Sequence[str], counts: NDArray[np.intp]) -> int:
    """Return how many words *tokens* stand for, each of which occurs as often as *counts* says.

    A word of Japanese has some two characters, and so two runs of two that begin in it; one of Thai,
    Lao, Khmer or Burmese has some three.
    """
    words = int(counts.sum())
    everything = "".join(tokens)
    if everything.isascii():
        return words
    for script, characters in ((_HAS_KANA, JAPANESE_NGRAM), (_IS_UNSPACED, UNSPACED_NGRAM)):
        if script.search(everything):
            of_it = [place for place, token in enumerate(tokens) if script.search(token)]
            words -= round(int(counts[of_it].sum()) * (1 - 1 / characters))
    return words


def is_han(token: str) -> bool:
    """Return whether *token* begins with a Han character or kana."""
    return bool(_IS_HAN.match(token))


def _pieces(text: str) -> list[str]:
    """Return the parts of *text* between spaces and ASCII punctuation, ASCII letters in lower case."""
    data = f" {text} ".encode("utf-8", "surrogatepass")
    words = bytearray(data.translate(_ASCII_WORDS))
    for table, kept in _KEPT:
        kinds = data.translate(table)
        place = kinds.find(kept)
        while place >= 0:
            words[place + 1] = data[place + 1]
            place = kinds.find(kept, place + 1)
    return words.decode("utf-8", "surrogatepass").split()


def _ngrams(run: str, size: int) -> list[str]:
    return [run[start : start + size] for start in range(max(1, len(run) - size + 1))]


def _merged(cut_tokens: list[str | None], words: Iterator[str]) -> list[str]:
    """Return *cut_tokens* with the words of a run, up to `_BETWEEN`, in place of each None."""
    merged: list[str] = []
    for token in cut_tokens:
        if token is None:
            merged.extend(takewhile(_BETWEEN.__ne__, words))
        else:
            merged.append(token)
    return merged
