"""A page to its fingerprint, by the recipe of a configuration; and all that this depends on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.sketch import SHINGLE
from dedup.model.fingerprint import HALF, Fingerprint
from dedup.model.hashes import Hashes, digest
from dedup.model.urls import host_of
from dedup.native._pages import Content, structure
from dedup.prints.config import DedupConfig
from dedup.prints.samples import MOST, MOST_PAIRS, ONE_IN, traits
from dedup.reading.chinese import (
    dictionary_digest,
    file_digest,
    frequencies_digest,
    han_frequencies,
    segmenter,
)
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED, tokens, word_count

# A block of fewer words is no sentence, but a label, a menu or a clock.
MIN_WORDS = 8
# Tags in a run, and 256 times what a run weighs by the depth of its outermost tag, the root at depth 0:
# sums are whole numbers, and every machine agrees on them.  What lies deeper than 255 weighs no less.
RUN = 5
WEIGHTS_BY_DEPTH = [round(256 * 0.97**depth) for depth in range(256)]
# So many characters of a script without spaces are a word.
_CHARACTERS = 2
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
# What may stand in an address, but for quotes and brackets.
_ADDRESS = re.compile(r"https?://[!#-&*-;=?-Z_a-z~]+")
_MOMENT = re.compile(r"\b(?:\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b")


def sentences_digest(text: str) -> bytes:
    """Return two digests of *text*, 8 bytes each.

    The first is that of its sentences: its blocks of eight words or more, each once, in any order,
    without times and dates; where there are none, that of all its blocks.  The second is that of all
    blocks, of which only sentences may be in another order: what is short, such as a score, says
    something by where it stands.

    >>> one, other = "The sun rises over the hills at dawn.", "The rain falls on the hills at night."
    >>> sentences_digest(f"12 visitors\\n{one}")[:8] == sentences_digest(f"{one}\\n13 visitors")[:8]
    True
    >>> sentences_digest(one)[:8] == sentences_digest(other)[:8]
    False
    >>> sentences_digest(f"{one}\\n{other}") == sentences_digest(f"{other}\\n{one}")
    True
    """
    short: list[str] = []
    long: list[str] = []
    for block in text.splitlines():
        is_long = len(block) > MIN_WORDS and _words_in(_MOMENT.sub("", block)) >= MIN_WORDS
        (long if is_long else short).append(" ".join(block.split()))
    said = {" ".join(_MOMENT.sub("", block).split()) for block in long}
    halves = sorted(said) or short, [*filter(None, short), "", *sorted(long)]
    texts = ("\n".join(["", *one]).encode("utf-8", "surrogatepass") or b"-" for one in halves)
    return b"".join(digest(text)[:HALF] for text in texts)


def _words_in(block: str) -> int:
    return len(_WORD.findall(block)) + len(_UNSPACED.findall(block)) // _CHARACTERS


def without_own_addresses(text: str, url: str) -> str:
    """Return *text* without the addresses in it that are of the host of *url*.

    A page for print names the address that it was made from: no two words that stand beside each other
    are new because of that.

    >>> without_own_addresses("Printed from https://a.example/7 today", "https://a.example/p/7").split()
    ['Printed', 'from', 'today']
    """
    if "://" not in text or not (host := host_of(url)):
        return text
    return _ADDRESS.sub(lambda found: "\n" if host_of(found[0]) == host else found[0], text)


Fingerprinter = Callable[[Page], Fingerprint]

# The version of everything that a fingerprint depends on and no field says.
RECIPE_VERSION = 14

_DEFAULT = DedupConfig()


def fingerprint(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine."""
    return _fingerprinter(config)(page)


def tokens_of(text: str, config: DedupConfig = _DEFAULT) -> list[str]:
    """Return the tokens of *text* in their order."""
    return tokens(text, segment=segmenter(config.user_dictionary))


def fingerprinter_of(config: DedupConfig = _DEFAULT) -> Fingerprinter:
    """Return the function that makes fingerprints by *config*.

    Raises `ConfigError` where a file that *config* names is not available.
    """
    require_recipe(config)
    return _fingerprinter(config)


@lru_cache(maxsize=8)
def _fingerprinter(config: DedupConfig) -> Fingerprinter:
    content = Content(
        segmenter(config.user_dictionary),
        _roots,
        shingle=SHINGLE,
        one_in=ONE_IN,
        most_sampled=MOST,
        most_pairs=MOST_PAIRS,
    )
    weights = np.array(WEIGHTS_BY_DEPTH, np.int32)

    def make(page: Page) -> Fingerprint:
        simhash, sketch, spaced, tokens, of_kana, of_unspaced, shingles, sample, pairs = content(
            page.text
        )
        if (rest := without_own_addresses(page.text, page.url)) != page.text:
            *_, pairs = content(rest)
        return Fingerprint(
            content_simhash=simhash,
            structure_simhash=structure(page.tags, page.depths, weights, RUN),
            sketch=sketch,
            body_digest=page.body_digest,
            # Of all that a reader sees, but for how much white space there is: texts are equal by that.
            token_digest=digest(spaced),
            tokens=tokens,
            words=word_count(tokens, of_kana, of_unspaced),
            shingles=shingles,
            sample=sample,
            inside=page.inside,
            traits=traits(page.title, pairs, page.variant, page.record),
            # Only who drops what is unchanged asks whether sentences differ.
            sentences=sentences_digest(page.text) if config.unchanged == "drop" else b"",
        )

    return make


def _roots(hashes: Hashes) -> NDArray[np.float64]:
    """Return the square root of the inverse document frequency of each word of Han, given its hash."""
    roots: NDArray[np.float64] = np.sqrt(han_frequencies().of(hashes))
    return roots


def require_recipe(config: DedupConfig) -> None:
    """Raise `ConfigError` if a file that *config* names is not available."""
    _file_digests(config)


def recipe_of(config: DedupConfig) -> dict[str, str]:
    """Return all that a fingerprint depends on, as text; an index holds one such recipe only.

    A file of the user's is known by its digest.  Raises `ConfigError` where it is not available.
    """
    return {
        "recipe": str(RECIPE_VERSION),
        "jieba_dictionary": dictionary_digest(),
        "jieba_frequencies": frequencies_digest(),
        **_file_digests(config),
    }


def _file_digests(config: DedupConfig) -> dict[str, str]:
    path = config.user_dictionary
    return {"user_dictionary": file_digest("user_dictionary", path)} if path else {}
