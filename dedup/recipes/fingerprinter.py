"""A page to its fingerprint, by the recipe of a configuration."""

from __future__ import annotations

from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.simhash import fold
from dedup.recipes.sketch import check_sketch, sketch
from dedup.recipes.structure import structure_hashes
from dedup.recipes.terms import Terms, terms_of, tokens_of
from dedup.recipes.weights import weights_of
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import digest

_DEFAULT = DedupConfig()


def fingerprint(page: Page, config: DedupConfig = _DEFAULT, *, secret: bytes = b"") -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine.

    With the *secret* of an index it has a check sketch too, which only that index understands:
    `Detector.fingerprint` makes those.
    """
    tokens = tokens_of(page.text, config)
    vocabulary = Terms.from_tokens(tokens)
    hasher = config.hash_function()
    hashes = vocabulary.hashes(hasher)
    terms, term_hashes = vocabulary, hashes
    if config.terms != "words" or config.stop_words:
        terms = Terms.from_tokens(terms_of(page.text, config, tokens))
        term_hashes = terms.hashes(hasher)
    return Fingerprint(
        content_simhash=fold(term_hashes, weights_of(terms, page.text, config), tie=config.tie),
        structure_simhash=fold(*structure_hashes(page, config, hasher), tie=config.tie),
        sketch=sketch(hashes[vocabulary.sequence], config.shingle),
        body_digest=page.body_digest,
        token_digest=digest(" ".join(tokens).encode("utf-8", "surrogatepass")),
        tokens=len(tokens),
        check_sketch=(
            check_sketch(vocabulary.names, vocabulary.sequence, config.shingle, secret)
            if secret
            else b""
        ),
    )


def content_weights(page: Page, config: DedupConfig = _DEFAULT) -> dict[str, float]:
    """Return what the content simhash of *page* is folded from: its terms and their whole weights."""
    terms = Terms.from_tokens(terms_of(page.text, config))
    return dict(zip(terms.names, weights_of(terms, page.text, config).tolist(), strict=True))
