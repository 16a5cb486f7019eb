"""Chinese words, and how frequent they are: the tables of jieba.

The recipe contains the digest of each, because another table gives other tokens and other weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.model.hashes import Hashes, hashes_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Segmenter = Callable[[str], Iterable[str]]

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
