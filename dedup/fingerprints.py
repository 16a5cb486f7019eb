"""A page folded into a few numbers: all that an index ever sees of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.config import DedupConfig
from dedup.hashing import digest
from dedup.page import Page
from dedup.simhashing import fold
from dedup.sketch import check_sketch, sketch
from dedup.structure import structure_words
from dedup.terms import Terms, terms_of, words_of
from dedup.weighting import weights_of

# The fields of a `Fingerprint` that are words.
WORD_FIELDS = ("content", "structure")

_DEFAULT = DedupConfig()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The words, sketch and digests of one page.

    *content* and *structure* are unsigned 64-bit words, 0 where there are no tokens or no tags.
    *sketch* is `dedup.sketch.BINS` bytes.  The digests have 16 bytes, or none where there is no
    body or no token; *tokens* is the number of tokens.  *check_sketch* is a second sketch of
    `dedup.sketch.CHECK_BINS` bytes, keyed with the secret of one index, b"" where there is none: it
    means nothing in any other index, and two fingerprints are equal without it.
    """

    content: int
    structure: int
    sketch: bytes
    body_digest: bytes
    token_digest: bytes
    tokens: int
    check_sketch: bytes = field(default=b"", compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing at all: no body but white space."""
        return not self.body_digest


def fingerprint(page: Page, config: DedupConfig = _DEFAULT, *, secret: bytes = b"") -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine.

    With the *secret* of an index it has a check sketch too, which only that index understands:
    `Detector.fingerprint` makes those.
    """
    words = words_of(page.text, config)
    vocabulary = Terms.from_tokens(words)
    hasher = config.hash_function()
    hashes = vocabulary.words(hasher)
    terms, term_hashes = vocabulary, hashes
    if config.terms != "words" or config.stop_words:
        terms = Terms.from_tokens(terms_of(page.text, config, words))
        term_hashes = terms.words(hasher)
    return Fingerprint(
        content=fold(term_hashes, weights_of(terms, page.text, config), tie=config.tie),
        structure=fold(*structure_words(page, config, hasher), tie=config.tie),
        sketch=sketch(hashes[vocabulary.sequence], config.shingle),
        body_digest=page.body_digest,
        token_digest=digest(" ".join(words).encode("utf-8", "surrogatepass")),
        tokens=len(words),
        check_sketch=(
            check_sketch(vocabulary.names, vocabulary.sequence, config.shingle, secret)
            if secret
            else b""
        ),
    )


def content_weights(page: Page, config: DedupConfig = _DEFAULT) -> dict[str, float]:
    """Return what the content word of *page* is folded from: its terms and their whole weights."""
    terms = Terms.from_tokens(terms_of(page.text, config))
    return dict(zip(terms.names, weights_of(terms, page.text, config).tolist(), strict=True))
