"""A page to its fingerprint, by the recipe of a configuration; and all that this depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from functools import lru_cache, partial
from itertools import chain

from dedup.native import give_up
from dedup.reading.compiled import TRIAL
from dedup.reading.dictionary import dictionary_digest, file_digest, frequencies_digest
from dedup.reading.page import Page
from dedup.reading.sentences import sentences_digest
from dedup.reading.tokens import word_count
from dedup.recipes.compiled import folding
from dedup.recipes.config import FILES, HASHERS, STRUCTURES, TERMS, WEIGHTS, DedupConfig
from dedup.recipes.functions import own_function
from dedup.recipes.pairs import pairs
from dedup.recipes.sample import count_different, sample
from dedup.recipes.simhash import fold
from dedup.recipes.sketch import ordered_shingles, sketch_of
from dedup.recipes.structure import structure_hashes
from dedup.recipes.terms import Terms, terms_of, token_lines_of
from dedup.recipes.traits import traits
from dedup.recipes.weights import weights_of
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import Hasher, Murmur3, digest

Fingerprinter = Callable[[Page], Fingerprint]

# The version of everything that a fingerprint depends on and no field says.
RECIPE_VERSION = 9

_DEFAULT = DedupConfig()
_OURS = {"terms": TERMS, "weights": WEIGHTS, "structure": STRUCTURES, "hasher": HASHERS}


def fingerprint(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine."""
    return _fingerprinter(config)(page)


def fingerprint_in_python(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return what `fingerprint` does, without compiled code."""
    lines = token_lines_of(page.text, config)
    tokens = list(chain.from_iterable(lines))
    vocabulary = Terms.from_tokens(tokens)
    hasher = hasher_of(config)
    hashes = vocabulary.hashes(hasher)
    terms, term_hashes = vocabulary, hashes
    if config.terms != "words" or config.stop_words:
        terms = Terms.from_tokens(terms_of(page.text, config, tokens))
        term_hashes = terms.hashes(hasher)
    shingles = ordered_shingles(hashes[vocabulary.sequence], config.shingle)
    spaced = " ".join(page.text.split())
    return Fingerprint(
        content_simhash=fold(term_hashes, weights_of(terms, config), tie=config.tie),
        structure_simhash=fold(*structure_hashes(page, config, hasher), tie=config.tie),
        sketch=sketch_of(shingles),
        body_digest=page.body_digest,
        # Of all that a reader sees, but for how much white space there is: texts are equal by that.
        token_digest=digest(spaced.encode("utf-8", "surrogatepass") if tokens else b""),
        tokens=len(tokens),
        words=word_count(vocabulary.names, vocabulary.counts),
        shingles=count_different(shingles),
        sample=sample(shingles),
        inside=page.inside,
        traits=traits(
            page.title,
            pairs(vocabulary.names, hashes, vocabulary.sequence, list(map(len, lines))),
        ),
    )


def content_weights(page: Page, config: DedupConfig = _DEFAULT) -> dict[str, float]:
    """Return what the content simhash of *page* is folded from: its terms and their whole weights."""
    terms = Terms.from_tokens(terms_of(page.text, config))
    return dict(zip(terms.names, weights_of(terms, config).tolist(), strict=True))


def fingerprinter_of(config: DedupConfig = _DEFAULT) -> Fingerprinter:
    """Return the function that makes fingerprints by *config*.

    Raises `ConfigError` where a file or a function that *config* names is not available.
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
    """Raise `ConfigError` if a file or a function that *config* names is not available."""
    _file_digests(config)
    for field, ours in _OURS.items():
        if (name := getattr(config, field)) not in ours:
            own_function(field, name)


def recipe_of(config: DedupConfig) -> dict[str, str]:
    """Return all that a fingerprint depends on, as text; an index holds one such recipe only.

    A function of the user's is known by its path, a file of the user's by its digest.  Raises
    `ConfigError` where a file or a function is not available.
    """
    require_recipe(config)
    return {
        "recipe": str(RECIPE_VERSION),
        "terms": config.terms,
        "weights": config.weights,
        "structure": config.structure,
        "shingle": str(config.shingle),
        "hasher": config.hasher,
        "hash_seed": str(config.hash_seed),
        "tie": str(config.tie),
        "jieba_dictionary": dictionary_digest(),
        "jieba_frequencies": frequencies_digest(),
        **_file_digests(config),
    }


def hasher_of(config: DedupConfig) -> Hasher:
    """Return the function that hashes features."""
    if config.hasher in HASHERS:
        return Murmur3(config.hash_seed)
    return own_function("hasher", config.hasher)


def _file_digests(config: DedupConfig) -> dict[str, str]:
    return {name: file_digest(name, path) for name in FILES if (path := getattr(config, name))}
