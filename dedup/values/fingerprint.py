"""What an index keeps of the content of a page."""

from __future__ import annotations

from dataclasses import dataclass, field

# The simhashes of a `Fingerprint`.
SIMHASH_FIELDS = ("content", "structure")
# As many words stand *inside* a record whose HTML says no more than a name, and other fields the rest.
NAMED = 0
# The size of each of the two digests in `Fingerprint.sentences`.
HALF = 8


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The simhashes, sketch and digests of one page.

    *content_simhash* and *structure_simhash* are unsigned 64-bit integers, 0 where there are no
    tokens or no tags.  *sketch* has `dedup.algorithms.sketch.BINS` bytes.  The digests have 16 bytes, or
    none where there is no body or no token; *token_digest* is that of the whole text, with white space
    as single spaces.  *tokens* is the number of tokens, *words* that of the
    words they stand for (`dedup.reading.tokens.word_count`), *shingles* that of different shingles.
    *sample* is a part of these, see `dedup.recipes.sample`.  *sentences* are two digests
    (`dedup.reading.sentences`), b"" where nobody asked for them.  *inside* is about how many words
    stand inside the frame of its site where that is text too, else None; or `NAMED`.
    *traits* tell it from its like (`dedup.recipes.pairs`), b"" where they are not known.  *left_out*
    says that something was left out of the page (`dedup.reading.noise`).
    """

    content_simhash: int
    structure_simhash: int
    sketch: bytes
    body_digest: bytes
    token_digest: bytes
    tokens: int
    words: int = 0
    shingles: int = 0
    sample: bytes = b""
    sentences: bytes = b""
    inside: int | None = None
    traits: bytes = b""
    left_out: bool = field(default=False, compare=False)  # not stored: only the later page is asked

    @property
    def blocks(self) -> bytes:
        """A digest of its blocks, for which the order of sentences does not matter, b"" for none."""
        return self.sentences[HALF:]

    def simhash(self, field: str) -> int:
        """Return the simhash of *field*, "content" or "structure"."""
        return self.content_simhash if field == "content" else self.structure_simhash

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing at all: no body but white space."""
        return not self.body_digest
