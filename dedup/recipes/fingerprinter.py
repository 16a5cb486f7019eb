"""A page to its fingerprint, by the recipe of a configuration; and all that this depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from functools import lru_cache, partial
from itertools import chain

from dedup.algorithms.simhash import fold
from dedup.algorithms.sketch import SHINGLE, ordered_shingles, sketch_of
from dedup.algorithms.structure import hashed_runs
from dedup.algorithms.terms import Terms
from dedup.algorithms.weights import whole_weights
from dedup.native import give_up
from dedup.reading.compiled import TRIAL
from dedup.reading.dictionary import dictionary_digest, file_digest, frequencies_digest, segmenter
from dedup.reading.page import Page
from dedup.reading.sentences import sentences_digest
from dedup.reading.tokens import token_lines, tokens, word_count
from dedup.recipes.compiled import folding
from dedup.recipes.config import DedupConfig
from dedup.recipes.pairs import pairs, traits
from dedup.recipes.sample import count_different, sample
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import digest

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
        content_simhash=fold(hashes, whole_weights(terms)),
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
