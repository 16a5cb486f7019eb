"""The compiled default recipe, where it can be used; it repeats `dedup.recipes.fingerprinter`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dedup.algorithms.sketch import BINS, SHINGLE
from dedup.algorithms.structure import RUN, weights_by_depth
from dedup.reading.compiled import compiled_pages
from dedup.reading.dictionary import han_frequencies, segmenter
from dedup.reading.page import Page
from dedup.reading.tokens import JAPANESE_NGRAM
from dedup.recipes.config import DedupConfig
from dedup.recipes.pairs import MOST_PAIRS, traits
from dedup.recipes.sample import MOST, ONE_IN
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import digest

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
