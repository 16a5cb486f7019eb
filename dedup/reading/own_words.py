"""Words that a record says beside its HTML: those of its long texts that stand nowhere in the markup.

Only words of a language count.  Numbers, times, addresses, ids and encoded bytes are none: they differ
from one visit to the next and say nothing.
"""

from __future__ import annotations

import re
from collections import UserString
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from itertools import groupby
from typing import Any

from dedup.reading.tokens import MARKS, POINTS, UNSPACED, normalized

# A shorter text is a name, a title, a price or a date.
LONG_TEXT = 20
# Strings of a list are the paragraphs or lines of one text if they are as long as this on average;
# titles of other pages are shorter.
MEAN_LINE = 12
# A list of so many words is a text whatever its lines are: a transcript, a poem, all comments.
LONG_LIST = 300
# Of scripts without spaces a word is a run of so many characters.
_NGRAM = 2
# What nests deeper is no text of an item.
_DEEPEST = 8
_NUMBERS = frozenset([int, float, bool, type(None)])
# What stands between words, in bytes.  What touches a digit, or another sign of ASCII, is no word, but a
# part of an address, a time, an id or encoded bytes.
_BETWEEN = bytes(
    32 if code < 32 or chr(code) in "<>\"={}[]|!,;:()*`'-" else code for code in range(256)
).lower()
_SIGNS = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3030]"
)
_RUN = re.compile(rf"[{UNSPACED}]++|(?:[^\W\d_{UNSPACED}]|[{MARKS}{POINTS}])++")
_SPOKEN = re.compile(rf"(?:[^\W\d_]|[{MARKS}{POINTS}])++")
_ODD = re.compile(r"[\w/%#&@+\\]")
_LONGEST_WORD = 40
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_TAG = re.compile(r"<[^<>]*+>")
# Its words, between hyphens, are those of a title, or of nothing.
_ADDRESS = re.compile(r"(?<![\w+.-])\w[\w+.-]*+://\S*+|(?<!\S)/\S*+")
_MARKUP = re.compile(r"<[A-Za-z/!?]")
# Strings in scripts: characters by number, and those that separate words, also where a string stands in
# another one.
_ESCAPED = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrtbf/\"'])")
# A text is mostly known to be long by its beginning.
_BEGINNING = 2000


def words_of(text: str) -> list[str]:
    """Return the words of *text*, in small letters and in their order.

    Of scripts without spaces they are runs of two characters.

    >>> words_of("The tide's at 10:30, see https://a.example/tides?id=7 or e3b0c44298fc")
    ['the', 'tide', 's', 'at', 'see', 'or']
    >>> words_of('{"headline":"Low tide","id":"aGVsbG8gd29ybGQ="}')
    ['headline', 'low', 'tide', 'id']
    """
    pieces = _pieces(text)
    if _is_spaced(text):
        return pieces
    return [part for piece in pieces for part in _parts(piece)]


def decoded(markup: str) -> str:
    """Return *markup* with its character references, and the escapes of strings in scripts, decoded.

    >>> decoded('<p>caf&eacute; <script>"caf\\\\u00e9\\\\nbar"')
    '<p>café <script>"café bar"'
    """
    plain = unescape(markup) if "&" in markup else markup
    return _ESCAPED.sub(_unescaped, plain) if "\\" in plain else plain


def words_in_markup(markup: str) -> set[str]:
    """Return all words that stand anywhere in *markup*: text, frame, scripts, attributes; others too."""
    plain = decoded(markup)
    if _is_spaced(plain):
        return set(_chunks(plain))
    words = set(_pieces(plain))
    words.update(_pieces(_TAG.sub("", plain)))  # a tag may stand between two characters of a word
    return {part for piece in words for part in _parts(piece)} | words


def own_words(texts: Iterable[str], markup: str) -> list[str]:
    """Return the words of *texts* that stand nowhere in *markup*, in their order.

    >>> own_words(["The tide is low", "灯塔建成"], "<p>The <b>tide</b> was low, 灯塔</p>")
    ['is', '塔建成']
    """
    known = words_in_markup(markup)
    pieces = (piece for text in texts for piece in _pieces(plain_text(text)))
    return [own for piece in pieces if piece not in known for own in _unknown(piece, known)]


def long_texts(record: Mapping[str, object], without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the long texts in the fields of *record* but those *without*, in the order of their names.

    A long text is a string of `LONG_TEXT` words or more that is made of words for the most part, or a
    list of strings that have so many and `MEAN_LINE` on average, or `LONG_LIST` in all, wherever it
    stands: in lists, mappings and items as well.  What mappings in a list have by one name is a list.

    >>> long_texts({"title": "Sea", "lead": "The tide. " * 10, "seen": "2026-11-01T10:30:00Z"})[0][:9]
    'The tide.'
    """
    skipped = frozenset(without)
    found: list[str] = []
    for name in sorted(record, key=str):
        value = record[name]
        if name not in skipped and not (isinstance(value, str) and len(value) < 2 * LONG_TEXT):
            _collect(value, found, 0)
    return tuple(found)


def plain(value: Any) -> Any:
    """Return a text of any type as `str` or `bytes`, anything else as it is."""
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return str(value) if isinstance(value, UserString) else value


def plain_text(text: str) -> str:
    """Return *text*, which may be markup, without tags and addresses."""
    plain = _TAG.sub(" ", decoded(text)) if _MARKUP.search(text) else text
    return _ADDRESS.sub(" ", plain) if "/" in plain else plain


def _collect(value: object, found: list[str], depth: int) -> None:
    value = plain(value)
    if isinstance(value, bytes):
        value = _text_of(value)
    if isinstance(value, str):
        if is_long(value, LONG_TEXT):
            found.append(value)
        return
    if type(value) in _NUMBERS or depth > _DEEPEST:
        return
    from dedup.reading.fields import parts_of

    parts = parts_of(value)
    each = parts.values() if isinstance(parts, dict) else parts or ()
    others = [part for part in each if type(part) not in _NUMBERS]  # there may be thousands
    if isinstance(parts, list):
        others = [*_columns(others), *others] if others and isinstance(others[0], Mapping) else others
        lines = [part for part in others if isinstance(part, str)]
        text = "\n".join(lines)
        if lines and is_long(text, min(LONG_LIST, max(LONG_TEXT, MEAN_LINE * len(lines)))):
            found.append(text)
            others = [part for part in others if not isinstance(part, str)]
    for part in others:
        _collect(part, found, depth + 1)


def _columns(mappings: Iterable[object]) -> list[list[object]]:
    """Return the strings that *mappings* have by one name, each time as the lines of a text."""
    columns: dict[str, list[object]] = {}
    for one in mappings:
        for name, value in one.items() if isinstance(one, Mapping) else ():
            if isinstance(value, str):
                columns.setdefault(str(name), []).append(value)
    return [lines for lines in columns.values() if len(lines) > 1]


def _text_of(value: bytes) -> str:
    """Return the text that *value* is, "" where it is none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return ""


def is_long(text: str, words: int) -> bool:
    """Return whether *text* has so many *words*, and is made of words for the most part."""
    # A word is a character at least, with what separates it from the next.
    if len(text) < 2 * words:
        return False
    if len(text) > _BEGINNING and is_long(text[:_BEGINNING], words):
        return True
    plain = plain_text(text)
    pieces = _pieces(plain)
    # Of bytes that are written with spaces, and of tables of numbers, the smaller part are words.
    is_said = 2 * sum(map(len, pieces)) >= len("".join(plain.split()))
    return is_said and (len(pieces) >= words or sum(map(_length, pieces)) >= words)


def _length(piece: str) -> float:
    """Return how many words *piece* is."""
    return len(piece) / _NGRAM if not piece.isascii() and _IS_UNSPACED.match(piece) else 1


def _pieces(text: str) -> list[str]:
    """Return the words of *text*, of scripts without spaces whole runs."""
    chunks = _chunks(text)
    if _is_spaced(text):
        return [
            word
            for word in chunks
            if (word.isalpha() or (not word.isascii() and _SPOKEN.fullmatch(word)))
            and len(word) <= _LONGEST_WORD
        ]
    cut = {chunk: _cut(chunk) for chunk in set(chunks)}
    return [piece for chunk in chunks for piece in cut[chunk]]


def _is_spaced(text: str) -> bool:
    return text.isascii() or not _IS_UNSPACED.search(text)


def _chunks(text: str) -> list[str]:
    """Return what stands between spaces and most signs of *text*, words and others."""
    plain = text if text.isascii() else _SIGNS.sub(" ", normalized(text))
    data = plain.encode("utf-8", "surrogatepass").replace(b"://", b"/").translate(_BETWEEN) + b" "
    return data.replace(b". ", b" ").replace(b"? ", b" ").decode("utf-8", "surrogatepass").split()


def _cut(word: str) -> Sequence[str]:
    """Return the words, or runs of scripts without spaces, in *word*, none in what is no word."""
    if word.isascii():
        return (word,) if word.isalpha() and len(word) <= _LONGEST_WORD else ()
    if _ODD.search("".join(_RUN.split(word))):
        return ()
    return [run for run in _RUN.findall(word) if len(run) <= _LONGEST_WORD or _IS_UNSPACED.match(run)]


def _parts(piece: str) -> Sequence[str]:
    if piece.isascii() or not _IS_UNSPACED.match(piece):
        return (piece,)
    return [piece[start : start + _NGRAM] for start in range(max(1, len(piece) - _NGRAM + 1))]


def _unknown(piece: str, known: set[str]) -> Sequence[str]:
    """Return what of *piece* is not *known*, of a run the stretches that are not."""
    parts = _parts(piece)
    if len(parts) == 1:
        return () if piece in known else (piece,)
    found = groupby(parts, key=known.__contains__)
    stretches = [list(run) for is_known, run in found if not is_known]
    return ["".join([first, *(part[-1] for part in rest)]) for first, *rest in stretches]


def _unescaped(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2]
    if code:
        return chr(int(code, 16))
    return escaped[0][-1] if escaped[0][-1] in "/\"'" else " "
