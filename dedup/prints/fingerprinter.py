"""A page to its fingerprint, by the recipe of a configuration; and all that this depends on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from dedup.algorithms.features import RUN, Terms, hashed_runs, weights_by_depth
from dedup.algorithms.simhash import fold
from dedup.algorithms.sketch import BINS, SHINGLE, ordered_shingles, sketch_of
from dedup.model.fingerprint import HALF, Fingerprint
from dedup.model.hashes import digest
from dedup.native import give_up
from dedup.prints.config import DedupConfig
from dedup.prints.samples import MOST, MOST_PAIRS, ONE_IN, count_different, pairs, sample, traits
from dedup.reading.chinese import (
    dictionary_digest,
    file_digest,
    frequencies_digest,
    han_frequencies,
    segmenter,
)
from dedup.reading.compiled import TRIAL, compiled_pages
from dedup.reading.page import Page
from dedup.reading.tokens import JAPANESE_NGRAM, UNSPACED, token_lines, tokens, word_count

# A block of fewer words is no sentence, but a label, a menu or a clock.
MIN_WORDS = 8
# So many characters of a script without spaces are a word.
_CHARACTERS = 2
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
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


Folding = Callable[[Page], Fingerprint | None]


def folding(config: DedupConfig) -> Folding | None:
    """Return the compiled function that makes fingerprints by *config*, None where there is none.

    It returns None for a page that only Python can do.
    """
    module = _module()
    return None if module is None else _Folding(module, config)


@cache
def _module() -> Any:
    module = compiled_pages()
    if module is not None:
        counts = np.arange(1, module.MOST_COUNTS)
        module.set_logarithms([0.0, *(1 + np.log(counts)).tolist()])
    return module


class _Folding:
    """Makes fingerprints of the pages of one index."""

    def __init__(self, module: Any, config: DedupConfig) -> None:
        weights = weights_by_depth()
        self._content = module.Content(
            segmenter(config.user_dictionary),
            _frequencies,
            shingle=SHINGLE,
            bins=BINS,
            one_in=ONE_IN,
            most_sampled=MOST,
            most_pairs=MOST_PAIRS,
        )
        self._structure = module.structure
        self._of_structure = (weights.astype(np.int32), RUN)

    def __call__(self, page: Page) -> Fingerprint | None:
        content = self._content(page.text)
        structure = self._structure(page.tags, page.depths, *self._of_structure)
        if content is None or structure is None:
            return None
        simhash, sketch, spaced, tokens, of_kana, shingles, sample, pairs = content
        return Fingerprint(
            content_simhash=simhash,
            structure_simhash=structure,
            sketch=sketch,
            body_digest=page.body_digest,
            token_digest=digest(spaced),
            tokens=tokens,
            words=tokens - round(of_kana * (1 - 1 / JAPANESE_NGRAM)),
            shingles=shingles,
            sample=sample,
            inside=page.inside,
            traits=traits(page.title, pairs, page.variant),
        )


@cache
def _frequencies() -> tuple[Any, Any, Any, float]:
    """Return jieba's table for `native/fold.h`: hashes, roots, where each 16 bits begin, unknown."""
    hashes, values, unknown = han_frequencies().table
    edges = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    starts = np.append(hashes.searchsorted(edges), len(hashes)).astype(np.uint32)
    return np.ascontiguousarray(hashes), np.sqrt(values), starts, float(np.sqrt(unknown))


Fingerprinter = Callable[[Page], Fingerprint]

# The version of everything that a fingerprint depends on and no field says.
RECIPE_VERSION = 12

_DEFAULT = DedupConfig()


def fingerprint(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine."""
    return _fingerprinter(config)(page)


def fingerprint_in_python(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return what `fingerprint` does, without compiled code."""
    lines = token_lines(page.text, segment=segmenter(config.user_dictionary))
    terms = Terms.from_tokens([*chain.from_iterable(lines)])
    hashes, count = terms.hashes(), len(terms.sequence)
    shingles = ordered_shingles(hashes[terms.sequence], SHINGLE)
    spaced = " ".join(page.text.split())
    return Fingerprint(
        content_simhash=fold(hashes, terms.weights()),
        structure_simhash=fold(*hashed_runs(page)),
        sketch=sketch_of(shingles),
        body_digest=page.body_digest,
        # Of all that a reader sees, but for how much white space there is: texts are equal by that.
        token_digest=digest(spaced.encode("utf-8", "surrogatepass") if count else b""),
        tokens=count,
        words=word_count(terms.names, terms.counts),
        shingles=count_different(shingles),
        sample=sample(shingles),
        inside=page.inside,
        traits=traits(
            page.title,
            pairs(terms.names, hashes, terms.sequence, list(map(len, lines))),
            page.variant,
        ),
    )


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
    """Return what makes fingerprints; only who drops what is unchanged asks whether sentences differ."""
    make = _made(config)
    if config.unchanged != "drop":
        return make
    return lambda page: replace(make(page), sentences=sentences_digest(page.text))


def _made(config: DedupConfig) -> Fingerprinter:
    plain = partial(fingerprint_in_python, config=config)
    fold_page = folding(config)
    if fold_page is None:
        return plain
    page = Page.from_html(TRIAL)
    if astuple(fold_page(page) or plain(page)) != astuple(plain(page)):
        give_up("_pages", "it folds a page otherwise than Python does")
        return plain
    return lambda page: fold_page(page) or plain(page)


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
