"""Many pairs at once: what the rule surely does not confirm is ruled out by whole columns.

It is the rule of `dedup.rule.loss`, to be on the safe side of every rounding; whatever is left is
asked of `dedup.rule.match` pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dedup import native
from dedup.recipes import sketch
from dedup.recipes.config import DedupConfig
from dedup.recipes.sample import MOST, MOST_OF_SITE, places
from dedup.recipes.sketch import BINS
from dedup.rule import loss
from dedup.rule.keys import MIN_EQUAL_TOKENS
from dedup.rule.site import Flags

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Sums in another order may differ by as much, in words.
SLACK = 1e-6
_NO_LIMIT = 2**32
_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of *hashes* in order, one after the other: list n begins at place n of *starts*."""

    hashes: NDArray[np.uint32]
    starts: Numbers

    @classmethod
    def of(cls, column: Any) -> Lists:
        """Return the lists in a *column* of samples (`dedup.recipes.sample`), null for an empty one."""
        parts = [part or b"" for part in column.to_pylist()]
        sizes = np.array([len(part) // 4 for part in parts], np.int64)
        return cls(np.frombuffer(b"".join(parts), "<u4"), np.concatenate(([0], sizes.cumsum())))

    @property
    def sizes(self) -> Numbers:
        """How many hashes each list has."""
        return np.diff(self.starts)

    def limits(self, most: int) -> Numbers:
        """Return up to which hash each list says what is in it: after *most* of them it ends early."""
        is_cut = self.sizes >= most
        last = self.hashes[self.starts[:-1][is_cut] + most - 1]
        found = np.full(len(is_cut), _NO_LIMIT, np.int64)
        found[is_cut] = last
        return found

    def shared(self, a: Numbers, b: Numbers, limits: Numbers) -> Numbers:
        """Return for pairs of lists how many hashes up to *limits* are in *a*, in *b*, in both.

        An array of shape (n, 3).
        """
        found = np.zeros((len(a), 3), np.int64)
        if compiled := native.search():
            compiled.shared_hashes(self.hashes, self.starts, a, b, limits, found)
            return found
        for place, (one, other, limit) in enumerate(zip(a, b, limits, strict=True)):
            of_one, of_other = self._part(one, limit), self._part(other, limit)
            both = int((places(of_one, of_other) >= 0).sum())
            found[place] = len(of_one), len(of_other), both
        return found

    def _part(self, number: int, limit: int) -> NDArray[np.uint32]:
        whole = self.hashes[self.starts[number] : self.starts[number + 1]]
        return whole[: np.searchsorted(whole, limit, "right")] if limit < _NO_LIMIT else whole


@dataclass(frozen=True, slots=True)
class Pages:
    """The columns of pages that pairs are judged by; pairs are places of *a* and of *b* in them.

    *bodies*, *texts* and *hosts* are numbers that are equal where digests and hosts are.  *own*,
    *elsewhere* and *is_big* say what `FACTS` do, where they are *known*.
    """

    sketches: NDArray[np.uint8]
    bodies: Numbers
    texts: Numbers
    hosts: Numbers
    tokens: Numbers
    words: Numbers
    shingles: Numbers
    samples: Lists
    limits: Numbers
    site_limits: Numbers
    own: Lists
    elsewhere: Flags
    is_big: Flags
    known: Flags

    @classmethod
    def of(cls, table: pa.Table) -> Pages:
        """Return the pages of *table*, which has the columns of `SIDES` and `FACTS`."""
        table = table.combine_chunks()
        tokens, words, shingles = (_numbers(table, name) for name in ("tokens", "words", "shingles"))
        samples = Lists.of(table.column("sample"))
        sketches = b"".join(table.column("sketch").to_pylist())
        return cls(
            sketches=np.frombuffer(sketches, np.uint8).reshape(-1, BINS),
            bodies=_codes(table, "body_digest"),
            texts=_codes(table, "token_digest"),
            hosts=_codes(table, "host"),
            tokens=tokens,
            words=np.where(words > 0, words, tokens),
            shingles=np.where(words > 0, shingles, np.maximum(tokens - 3, 0)),
            samples=samples,
            limits=samples.limits(MOST),
            site_limits=samples.limits(MOST_OF_SITE),
            own=Lists.of(table.column("own")),
            elsewhere=flags_of(table, "elsewhere"),
            is_big=flags_of(table, "is_big"),
            known=np.array(table.column("elsewhere").is_valid()),
        )

    def similarities(self, a: Numbers, b: Numbers) -> Floats:
        """Return how alike the sketches of pairs are, 0 to 1: to the bit what one by one says."""
        found = np.zeros(len(a))
        if compiled := native.search():
            compiled.pair_similarities(self.sketches, a, b, found)
            return found
        for start in range(0, len(a), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found[part] = sketch.pair_similarities(self.sketches[a[part]], self.sketches[b[part]])
        return found

    def are_equal(self, a: Numbers, b: Numbers) -> Flags:
        """Return which pairs have equal bytes, or equal tokens and enough of them."""
        texts = (self.texts[a] == self.texts[b]) & (self.tokens[b] >= MIN_EQUAL_TOKENS)
        flags: Flags = (self.bodies[a] == self.bodies[b]) | texts
        return flags

    def may_repeat(self, a: Numbers, b: Numbers, similarities: Floats, config: DedupConfig) -> Flags:
        """Return False where the rule surely does not confirm that *b* repeats *a*, True else.

        Of pages that nothing is known about, no pair is ruled out that is similar.
        """
        may = self.are_equal(a, b)
        alike = similarities >= config.min_similarity
        if config.verifier != "loss" or not self.known.any():
            flags: Flags = may | alike
            return flags
        is_open = ~self.known[b] | self.elsewhere[b]
        may |= alike & is_open
        rest = np.flatnonzero(alike & ~may)
        may[rest] = self._is_little_lost(a[rest], b[rest], similarities[rest], config)
        return may

    def _is_little_lost(self, a: Numbers, b: Numbers, alike: Floats, config: DedupConfig) -> Flags:
        lost, allowed = self.lost_words(a, b, alike), self.allowed_words(b, config)
        few: Flags = ~(lost > np.minimum(loss.FEW_WORDS + 0.5, allowed) + SLACK)
        middle = np.flatnonzero(~few & (lost <= allowed + SLACK) & self.is_big[b])
        few[middle] = self._are_own_alike(a[middle], b[middle])
        return few

    def lost_words(self, a: Numbers, b: Numbers, alike: Floats) -> Floats:
        """Return what `dedup.rule.loss.lost_words` does, but for roundings; *alike* are similarities."""
        of_kept, of_page = self.shingles[a], self.shingles[b]
        both = alike * (of_page + of_kept) / (1 + alike)
        smooth = (alike * BINS + 1) / (BINS + 2)
        slope = (of_page + of_kept) / (1 + smooth) ** 2
        lost, variance = np.maximum(0.0, of_page - both), slope**2 * smooth * (1 - smooth) / BINS
        shared = self.samples.shared(a, b, np.minimum(self.limits[a], self.limits[b]))
        of, gone = shared[:, 1], shared[:, 1] - shared[:, 2]
        with np.errstate(all="ignore"):
            share = (gone + 1) / (of + 2)
            unseen = np.maximum(0.0, 1 - of / np.maximum(of_page, 1))
            other, other_variance = of_page * gone / of, of_page**2 * share * (1 - share) / of * unseen
            weighed = (lost * other_variance + other * variance) / (variance + other_variance)
            words = np.where(of >= loss.LEAST_SAMPLED, weighed, lost)
            words = np.minimum(np.maximum(words, of_page - of_kept), of_page)
            a_token = np.where(self.tokens[b] > 0, self.words[b] / self.tokens[b], 1.0)
            found: Floats = words * a_token
        return found

    def allowed_words(self, b: Numbers, config: DedupConfig) -> Floats:
        """Return what `dedup.rule.loss.allowed_words` does."""
        words = self.words[b]
        most = min(loss.MOST_TIMES * config.max_lost_words, loss.MOST_WORDS)
        share = np.minimum(config.max_lost_share * words, most)
        found: Floats = np.minimum(np.maximum(config.max_lost_words, share), loss.MOST_SHARE * words)
        return found

    def _are_own_alike(self, a: Numbers, b: Numbers) -> Flags:
        """Return False where pairs of one site are surely not alike in what is not common on it."""
        unsure = ~self.known[a] | (self.hosts[a] != self.hosts[b])
        sizes, own_sizes = np.minimum(self.samples.sizes, MOST_OF_SITE), self.own.sizes
        all_own = (sizes[a] == own_sizes[a]) & (sizes[b] == own_sizes[b])
        shared = self.own.shared(a, b, np.minimum(self.site_limits[a], self.site_limits[b]))
        of_a, of_b, both = shared.T
        share = both / np.maximum(of_a + of_b - both, 1)
        flags: Flags = unsure | all_own | (share >= loss.OWN_SIMILARITY - SLACK)
        return flags


def _numbers(table: pa.Table, name: str) -> Numbers:
    found: Numbers = table.column(name).to_numpy()
    return found


def _codes(table: pa.Table, name: str) -> Numbers:
    """Return numbers that are equal where the values of a column are."""
    values = table.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
    codes: Numbers = values.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def flags_of(table: pa.Table | pa.RecordBatch, name: str) -> Flags:
    """Return a column of flags, null for False."""
    return np.array(table.column(name).to_pylist(), object).astype(bool)
