"""Tables from outside: jieba's words and their frequencies, and the user's own files.

The recipe contains the digest of each, because another table gives other tokens and other weights.
A user's file is read once in a process, so that no fingerprint changes in the middle of a crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError
from dedup.model.hashes import Hashes, digest, hashes_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Segmenter = Callable[[str], Iterable[str]]

# The digest of jieba 0.42.1's dictionary: rjieba has it compiled in and does not give it out.
RJIEBA_DICTIONARY = "f3f7c0333926b8449b067e099aae47aa"

# The tags that jieba.analyse takes for topics: nouns, place names, verbs.
_TOPICAL_TAGS = frozenset(("n", "ns", "v", "vn"))


@cache
def dictionary_digest() -> str:
    """Return the digest of jieba's dictionary in hexadecimal digits."""
    return _digest_of("dict.txt")


@cache
def frequencies_digest() -> str:
    """Return the digest of jieba's table of inverse document frequencies in hexadecimal digits."""
    return _digest_of("analyse", "idf.txt")


@cache
def file_bytes(field: str, path: str) -> bytes:
    """Return the bytes of the user's file at *path*, read once; a `ConfigError` names *field*."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{field} ({path!r}) must be a file that can be read: {error}") from error


def file_lines(field: str, path: str) -> list[str]:
    """Return the lines of the user's file at *path*, which must be UTF-8, without empty ones."""
    try:
        lines = file_bytes(field, path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{field} ({path!r}) must be a text in UTF-8: {error}") from error
    return [line.strip() for line in lines if line.strip()]


def file_digest(field: str, path: str) -> str:
    """Return the digest of the user's file at *path* in hexadecimal digits."""
    return digest(file_bytes(field, path)).hex()


@cache
def segmenter(user_dictionary: str = "") -> Segmenter:
    """Return a function that cuts Han text into words: rjieba's if its words are the same, or jieba's.

    Both run without the hidden Markov model, whose guesses at unknown words would cut equal passages
    in different ways, and leave the user's own jieba (`jieba.dt`) alone.  They are loaded at the first
    call, a *user_dictionary* now.
    """
    return jieba_segmenter(user_dictionary) if user_dictionary else _cut


def _cut(text: str) -> Iterable[str]:
    return _usual_segmenter()(text)


@cache
def _usual_segmenter() -> Segmenter:
    if dictionary_digest() == RJIEBA_DICTIONARY:
        try:
            import rjieba
        except ImportError:
            pass
        else:
            return lambda text: rjieba.cut(text, hmm=False)
    return jieba_segmenter()


@cache
def jieba_segmenter(user_dictionary: str = "") -> Segmenter:
    """Return jieba's own segmenter, loaded once (a second or so) at its first call.

    *user_dictionary* is the path of a file with more words in jieba's
    format: a word on each line, with or without its frequency and tag.
    """
    tokenizer = _tokenizer(user_dictionary)
    return lambda text: tokenizer.cut(text, HMM=False)


@cache
def _tokenizer(user_dictionary: str) -> Any:
    import jieba

    tokenizer = jieba.Tokenizer()
    # As `initialize` does, but not from its cache in the folder of temporary files, where anyone writes.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    if user_dictionary:
        _add_words(tokenizer, user_dictionary)
    return tokenizer


def _add_words(tokenizer: Any, path: str) -> None:
    try:
        tokenizer.load_userdict(file_lines("user_dictionary", path))
    except ValueError as error:
        raise ConfigError(f"user_dictionary ({path!r}) must be in jieba's format: {error}") from error


@cache
def han_frequencies() -> InverseFrequencies:
    """Return jieba's inverse document frequencies of Han words, loaded once."""
    hashes, values = [], []
    number = cache(float)  # few of them are different
    with _table("analyse", "idf.txt").open(encoding="utf-8") as lines:  # all at once they take 100 MB
        while part := (lines.read(1 << 15) + lines.readline()).split():
            hashes.append(hashes_of(part[::2]))
            values.append(np.fromiter(map(number, part[1::2]), np.float64))
    return InverseFrequencies(np.concatenate(hashes), np.concatenate(values))


@cache
def topical_words() -> frozenset[str]:
    """Return the words that jieba's dictionary tags as nouns, place names or verbs."""
    lines = _table("dict.txt").read_text("utf-8").splitlines()
    return frozenset(word for word, _, tag in map(str.split, lines) if tag in _TOPICAL_TAGS)


class InverseFrequencies:
    """A frozen table of idf values, held as sorted hashes: 3 MB for 270,000 words, not 40.

    A word that is not in the table has the median value, as in jieba.
    """

    def __init__(self, hashes: Hashes, values: NDArray[np.float64]) -> None:
        order, middle = np.argsort(hashes), len(values) // 2
        self._hashes = hashes[order]
        self._values = values[order]
        self._unknown = float(np.partition(values, middle)[middle])

    def __getitem__(self, words: Sequence[str]) -> NDArray[np.float64]:
        return self.of(hashes_of(words))

    def of(self, hashes: Hashes) -> NDArray[np.float64]:
        """Return the values of the words that have these *hashes*."""
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        return np.where(self._hashes[places] == hashes, self._values[places], self._unknown)


def _digest_of(*path: str) -> str:
    # MurmurHash3, and in parts: each crawl pays for it, and BLAKE2b of the whole takes ten times longer.
    found = mmh3.mmh3_x64_128()
    with _table(*path).open("rb") as table:
        while part := table.read(1 << 16):
            found.update(part)
    return found.digest().hex()


def _table(*path: str) -> Traversable:
    # Not `files("jieba")`, which imports jieba, and that imports pkg_resources: a tenth of a second.
    spec: Any = find_spec("jieba")
    tables: Traversable = spec.loader.get_resource_reader("jieba").files()
    return tables.joinpath(*path)
