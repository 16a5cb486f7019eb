"""Text to tokens: the words of any script in document order.

Where a script separates words, a token is a word.  Chinese is cut into words by jieba's dictionary.
Japanese, Thai, Lao, Khmer and Burmese are cut into runs of a few characters instead (J. McCarley,
S. Roukos and others on n-gram indexing; P. McNamee, J. Mayfield, Character n-gram tokenization for
European language text retrieval, 2004).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from unicodedata import category, combining, normalize

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.model.hashes import Hashes, hashes_of
from dedup.native import _pages as native
from dedup.native._pages import JAPANESE_NGRAM, MOST_MARKS, UNSPACED_NGRAM

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    + KANA
)
# Letters, vowel signs and digits: Thai, Lao, Burmese, Khmer; Tai Le, New Tai Lue, Buginese, Tai Tham,
# Balinese, Batak, Bopomofo, Yi, Vai, Javanese, Tai Viet; Ahom, cuneiform and other pictures, Tangut,
# Khitan, Nushu.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0edf"
    "\u1000-\u1049\u1050-\u109d\uaa60-\uaa7f\ua9e0-\ua9fe\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"
    "\u1950-\u1974\u1980-\u19da\u1a00-\u1a1b\u1a20-\u1a99\u1aa7\u1b00-\u1b4c\u1b50-\u1b59\u1bc0-\u1bf3"
    "\u3105-\u312f\u31a0-\u31bf\ua000-\ua48c\ua500-\ua60c\ua610-\ua62b\ua980-\ua9c0\ua9cf-\ua9d9"
    "\uaa80-\uaac2\uaadb-\uaadd\U00011700-\U0001173b\U00012000-\U0001467f\U00017000-\U00018cff"
    "\U0001b170-\U0001b2ff"
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
# Nobody sees them, and a word with them is the one without: soft hyphens, joiners of letters (those of
# pictures make others of them), marks of direction and of where a line may break, variation selectors.
_UNSEEN = (
    "\xad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef"
)
# Persian and Arabic have letters of their own for one sound, and their writers type either; in Turkish
# and in German headings in capitals have others than their small letters tell.
SAME_LETTERS = dict(
    zip("\u06cc\u06a9\u0130\u0131\xdf\u1e9e", ("\u064a", "\u0643", "I", "i", "ss", "SS"), strict=True)
)

UNSPACED = HAN + _UNSPACED  # a character class without brackets: scripts with no spaces between words

LETTER = re.compile(r"[^\W\d_]")  # a letter of any script

JOINER = "\u200d"
UNSEEN = re.compile(rf"[{_UNSEEN}]+|{JOINER}(?={LETTER.pattern})|(?<={LETTER.pattern}){JOINER}")

_IS_HAN = re.compile(f"[{HAN}]")
_IS_KANA = re.compile(f"[{KANA}]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_IS_POINT = re.compile(f"[{POINTS}]")
# The signs of programs and formulas: `operator<` is not `operator<<`, C is neither C++ nor C#.
SIGNS = "#$%&*+<=>@\\^|~"
# What is in no word beside ASCII: spaces, quotation marks, stops, dashes and bullets, and what cannot be
# seen.  Every other character is one that a reader sees, and belongs to a token.
PARTING = (
    r"\s\x00-\x1f\x7f-\xa1\xab\xad\xb6\xb7\xbb\xbf"
    "\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05c6\u05f3\u05f4"
    "\u060c\u061b-\u061f\u06d4\u0964\u0965\u0970\u0e4f\u0e5a\u0e5b\u0f04-\u0f12\u0f14"
    "\u104a-\u104f\u1361-\u1368\u16eb-\u16ed\u17d4-\u17d6\u17d8-\u17da\u1800-\u180a\u180e"
    "\u2000-\u2015\u2017-\u201f\u2022-\u202f\u2039\u203a\u203c\u203d\u2043\u2047-\u2049\u2060-\u206f\u2e00-\u2e2e\u2e30-\u2e4f\u2e52-\u2e7f"
    "\u3000-\u3003\u3008-\u3011\u3014-\u301f\u3030\u303d\u30fb\ud800-\udfff\ufe00-\ufe0f"
    "\ufeff\uff61-\uff65\ufff9-\ufffb\U000e0100-\U000e01ef"
)
_PLAIN = f"0-9A-Za-z_{re.escape(SIGNS)}"
IN_WORDS = f"(?:[{_PLAIN}{MARKS}{POINTS}]|[^\\x00-\\x7f{PARTING}{HAN}{_UNSPACED}])"
"""A pattern of one character: of a word, or a sign."""
# What NFKC would take for plain letters and digits: raised, lowered and circled ones, and fractions.
_FORMS = re.compile(
    "([\xaa\xb2\xb3\xb9\xba\xbc-\xbe\u02b0-\u02b8\u02e0-\u02e4\u10fc\u1d2c-\u1d6a\u1d78\u1d9b-\u1dbf"
    "\u2070-\u209c\u2120\u2122\u2150-\u215f\u2189\u2460-\u2473\u24b6-\u24ea\u2c7c\u2c7d\u2d6f"
    "\u3192-\u319f\u3244-\u3247\u3251-\u325f\u3260-\u327e\u3280-\u32bf\u32d0-\u32fe"
    "\ua69c\ua69d\ua770\ua7f2-\ua7f4\ua7f8\ua7f9\uab5c-\uab5f\uab69\U00010780-\U000107ba"
    "\U0001f12b-\U0001f12e\U0001f16a-\U0001f16c\U0001f250\U0001f251]+)"
)
# Normalization sorts the marks of a letter in quadratic time, so there is a limit to them.  No mark is
# a letter, but two letters become marks: the sound marks of halfwidth kana.
_HALFWIDTH_MARKS = "\uff9e\uff9f"
_MARK_FLOOD = re.compile(
    rf"(?<![^\w\s!-~])(?<![{_HALFWIDTH_MARKS}])"
    rf"(?:[^\w\s!-~]|[{_HALFWIDTH_MARKS}]){{{MOST_MARKS + 1},}}+"
)
_PART, _WORD_PART = re.compile(f"{IN_WORDS}++"), re.compile(r"\w")
_SIGMA = "\u03a3"  # its small letter depends on what is beside it in the word
_BLOCK = 256

Segmenter = Callable[[str], Iterable[str]]

# Chinese words, and how frequent they are: the tables of jieba.  The recipe of an index has a digest of
# each, because another table gives other tokens and other weights.
DICTIONARY, FREQUENCIES = ("dict.txt",), ("analyse", "idf.txt")
# The digest of jieba 0.42.1's dictionary: rjieba has it compiled in and does not give it out.
RJIEBA_DICTIONARY = "f3f7c0333926b8449b067e099aae47aa"
# The tags that jieba.analyse takes for topics: nouns, place names, verbs.
_TOPICAL_TAGS = frozenset(("n", "ns", "v", "vn"))


@cache
def table_digest(*path: str) -> str:
    """Return the digest of one of jieba's tables in hexadecimal digits."""
    # MurmurHash3, and in parts: each crawl pays for it, and BLAKE2b of the whole takes ten times longer.
    found = mmh3.mmh3_x64_128()
    with _table(*path).open("rb") as table:
        while part := table.read(1 << 16):
            found.update(part)
    return found.digest().hex()


def segment(text: str) -> Iterable[str]:
    """Return the words of *text*, in Han: by rjieba if its words are the same, or by jieba.

    Both run without the hidden Markov model, whose guesses at unknown words would cut equal passages
    in different ways, and leave the user's own jieba (`jieba.dt`) alone.  They are loaded now.
    """
    return _segmenter()(text)


@cache
def _segmenter() -> Segmenter:
    if table_digest(*DICTIONARY) == RJIEBA_DICTIONARY:
        try:
            import rjieba
        except ImportError:
            pass
        else:
            return lambda text: rjieba.cut(text, hmm=False)
    return jieba_segmenter()


@cache
def jieba_segmenter() -> Segmenter:
    """Return jieba's own segmenter, loaded once (a second or so)."""
    import jieba

    tokenizer: Any = jieba.Tokenizer()
    # As `initialize` does, but not from its cache in the folder of temporary files, where anyone writes.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return lambda text: tokenizer.cut(text, HMM=False)


def han_frequencies(hashes: Hashes) -> NDArray[np.float64]:
    """Return jieba's inverse document frequencies of the words with these *hashes*.

    A word that is not in the table has the median value, as in jieba.
    """
    known, values, unknown = _frequencies()
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[places] == hashes, values[places], unknown)


@cache
def _frequencies() -> tuple[Hashes, NDArray[np.float64], float]:
    """Return the table as sorted hashes (3 MB, not 40), their values, and the median of these."""
    parts, numbers = [], []
    number = cache(float)  # few of them are different
    with _table(*FREQUENCIES).open(encoding="utf-8") as lines:  # all at once they take 100 MB
        while part := (lines.read(1 << 15) + lines.readline()).split():
            parts.append(hashes_of(part[::2]))
            numbers.append(np.fromiter(map(number, part[1::2]), np.float64))
    hashes, values = np.concatenate(parts), np.concatenate(numbers)
    order, middle = np.argsort(hashes), len(values) // 2
    return hashes[order], values[order], float(np.partition(values, middle)[middle])


@cache
def topical_words() -> frozenset[str]:
    """Return the words that jieba's dictionary tags as nouns, place names or verbs."""
    lines = _table(*DICTIONARY).read_text("utf-8").splitlines()
    return frozenset(word for word, _, tag in map(str.split, lines) if tag in _TOPICAL_TAGS)


def _table(*path: str) -> Traversable:
    # Not `files("jieba")`, which imports jieba, and that imports pkg_resources: a tenth of a second.
    spec: Any = find_spec("jieba")
    tables: Traversable = spec.loader.get_resource_reader("jieba").files()
    return tables.joinpath(*path)


def tokens(text: str, *, segment: Segmenter = segment) -> list[str]:
    """Return the tokens of *text*, normalised and in lower case, in their order.

    A token is a run of letters with their marks, digits, underscores and signs: whatever is in no list
    of what parts words.  A dot, comma or colon between two digits belongs to the number, and so does a
    dash or dot before it that is behind no word.  A single letter of ASCII keeps its case: an option
    ``-a`` is another than ``-A``.  A run of Han characters is cut further by *segment*; one with kana
    gives its runs of two characters, one of Thai or its like its runs of three.  Points of Arabic and
    Hebrew are left out, and so is what cannot be seen.  A text of signs alone has no tokens.

    >>> tokens("Don't panic: Café №5 at 10:30, for 1,000.50")
    ['don', 't', 'panic', 'café', 'no5', 'at', '10:30', 'for', '1,000.50']
    >>> tokens("C++ has operator<; run it with -A | 'more'")
    ['c++', 'has', 'operator<', 'run', 'it', 'with', 'A', '|', 'more']
    """
    return native.tokens(text, segment)


def normalized(text: str) -> str:
    """Return *text* in Unicode's form NFKC in lower case, but for `_FORMS`, without what is `UNSEEN`.

    A line break is put into more than `MOST_MARKS` marks in a row, which no script has.
    """
    return _normal_form(text).lower()


def _normal_form(text: str) -> str:
    if any(map(is_mark, text[MOST_MARKS::MOST_MARKS])):
        text = _MARK_FLOOD.sub(_parted, text)
    text = UNSEEN.sub("", text)
    return "".join(map(normal_form, _FORMS.split(text))) if _FORMS.search(text) else normal_form(text)


def normal_form(part: str) -> str:
    """Return a *part* of a text in form NFKC, one of `_FORMS` as it is."""
    if _FORMS.match(part):
        return part
    part = normalize("NFKC", part)
    for letter, same in SAME_LETTERS.items():
        part = part.replace(letter, same)
    return part


def is_mark(character: str) -> bool:
    """Return whether *character* is a mark, or becomes one in normal form."""
    return category(character)[0] == "M" or character in _HALFWIDTH_MARKS


def _parted(flood: re.Match[str]) -> str:
    marks = flood[0]
    return "\n".join(marks[start : start + MOST_MARKS] for start in range(0, len(marks), MOST_MARKS))


def word_count(tokens: int, of_kana: int, of_unspaced: int) -> int:
    """Return how many words so many *tokens* stand for: of Japanese two, of Thai and its like three."""
    more = round(of_kana * (1 - 1 / JAPANESE_NGRAM)) + round(of_unspaced * (1 - 1 / UNSPACED_NGRAM))
    return tokens - more


def words_in(tokens: Sequence[str]) -> int:
    """Return how many words *tokens* stand for."""
    of_kana, of_unspaced = (
        sum(map(bool, map(script.search, tokens))) for script in (_IS_KANA, _IS_UNSPACED)
    )
    return word_count(len(tokens), of_kana, of_unspaced)


def is_han(token: str) -> bool:
    """Return whether *token* begins with a Han character or kana."""
    return bool(_IS_HAN.match(token))


def _prepared(text: str) -> str:
    text = _normal_form(text)
    if _SIGMA not in text:
        return text
    return _PART.sub(lambda part: part[0].lower() if _SIGMA in part[0] else part[0], text)


def described(block: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return flags, and kinds and codes in normal form, of each character of a *block* of 256."""
    return [_described(chr(code)) for code in range(block * _BLOCK, (block + 1) * _BLOCK)]


def _described(character: str) -> tuple[int, tuple[int, ...]]:
    flags = native.IS_SPACE * character.isspace() | native.IS_MARK * is_mark(character)
    flags |= native.IS_UNSPACED * bool(_IS_HAN.match(character) or _IS_UNSPACED.match(character))
    flags |= native.IS_LETTER * bool(LETTER.match(character))
    flags |= native.IS_HAN * bool(_IS_HAN.match(character))
    normal = "" if UNSEEN.match(character) or character == JOINER else normal_form(character)
    flags |= native.IS_STRANGE * any(map(_is_strange, character + normal if normal else ""))
    return flags, tuple(map(_kind_and_code, normal))


def _kind_and_code(character: str) -> int:
    """Return kind << 24 | code of a normalized *character*; letters are small but for those of ASCII."""
    kind = native.SAYS * bool(_WORD_PART.match(character))
    if _IS_HAN.match(character):
        kind |= native.KANA if _IS_KANA.match(character) else native.HAN
    elif _IS_UNSPACED.match(character):
        kind |= native.UNSPACED
    elif _IS_POINT.match(character):
        kind = native.POINT
    elif _PART.match(character):
        kind |= native.LETTER if kind else native.SIGN
        character = character if character.isascii() else character.lower()
    return kind << 24 | ord(character[0])


def _is_strange(character: str) -> bool:
    """Return whether the normal form of *character* may depend on what is beside it."""
    code = ord(character)
    return (
        category(character)[0] == "M"
        or combining(character) > 0
        or 0x1100 <= code <= 0x11FF  # the parts of Korean syllables
        # Letters of rare scripts may be composed.
        or (code >= 0x10000 and bool(LETTER.match(character)) and not _IS_HAN.match(character))
        or character == _SIGMA
    )


native.take_characters(described, _prepared)
