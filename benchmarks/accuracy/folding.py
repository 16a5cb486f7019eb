"""Make fingerprints of many recipes and the signatures of peers, on all cores.

A page is read once and stays in the process that read it.  Only its fingerprints and signatures leave it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.accuracy.peers import PEERS
from dedup import DedupConfig, Fingerprint, Page, fingerprint
from dedup.algorithms.sketch import SHINGLE, ordered_shingles
from dedup.reading.tokens import tokens
from dedup.recipes.sample import different
from dedup.values.hashes import Hashes, hashes_of

T = TypeVar("T")

CHUNK = 40
# Hashes of the mixed check, on purpose not those of the recipe: Han characters one by one.
_HAN = "\u3400-\u9fff"
_WORDS = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+")

Done = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Folded:
    """One page: a fingerprint for each recipe, a signature for each peer (None where it failed),
    the seconds that each took, and the different hashes, in order, of its pairs of neighbouring words
    and of its shingles."""

    fingerprints: tuple[Fingerprint, ...]
    seconds: tuple[float, ...]
    signatures: tuple[Any, ...]
    peer_seconds: tuple[float, ...]
    reading_seconds: float
    word_pairs: Hashes
    shingles: Hashes


class Workers:
    """Calls functions on several processes, or here if there is but one job."""

    def __init__(self, jobs: int) -> None:
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn")) if jobs > 1 else None

    def each(self, call: Callable[[Any], T], arguments: Sequence[Any], done: Done) -> list[T]:
        """Return the results of *call* in order; *done* hears of each by its number."""
        if self._pool is None:
            return list(self._here(call, arguments, done))
        futures: dict[Future[T], int] = {
            self._pool.submit(call, argument): number for number, argument in enumerate(arguments)
        }
        for future in as_completed(futures):
            future.result()
            done(futures[future])
        return [future.result() for future in futures]

    @staticmethod
    def _here(call: Callable[[Any], T], arguments: Sequence[Any], done: Done) -> Iterator[T]:
        for number, argument in enumerate(arguments):
            yield call(argument)
            done(number)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    pool = Workers(jobs or os.cpu_count() or 1)
    try:
        yield pool
    finally:
        pool.close()


def fold_all(
    paths: Sequence[Path],
    configs: Sequence[DedupConfig],
    peers: Sequence[str],
    pool: Workers,
    done: Done,
) -> list[Folded]:
    """Return what each of *paths* is folded into; *done* hears how many pages are ready."""
    chunks = [paths[start : start + CHUNK] for start in range(0, len(paths), CHUNK)]
    call = partial(fold_pages, configs=configs, peers=peers)
    found = pool.each(call, chunks, lambda number: done(len(chunks[number])))
    return [folded for chunk in found for folded in chunk]


def fold_pages(
    paths: Sequence[Path], configs: Sequence[DedupConfig], peers: Sequence[str]
) -> list[Folded]:
    # What is loaded on first use is no page's cost.
    warm = Page.from_text("warm 热身")
    _timed(fingerprint, warm, configs)
    _timed(_signature, warm.text, peers)
    return [_fold(path, configs, peers) for path in paths]


def _fold(path: Path, configs: Sequence[DedupConfig], peers: Sequence[str]) -> Folded:
    begin = time.perf_counter()
    page = Page.from_html(path.read_bytes())
    reading = time.perf_counter() - begin
    fingerprints, seconds = _timed(fingerprint, page, configs)
    signatures, peer_seconds = _timed(_signature, page.text, peers)
    return Folded(
        fingerprints,
        seconds,
        signatures,
        peer_seconds,
        reading,
        word_pairs(page.text),
        shingles(page.text),
    )


def _timed(
    call: Callable[[Any, Any], T], what: object, options: Sequence[object]
) -> tuple[tuple[T, ...], tuple[float, ...]]:
    results, seconds = [], []
    for option in options:
        begin = time.perf_counter()
        results.append(call(what, option))
        seconds.append(time.perf_counter() - begin)
    return tuple(results), tuple(seconds)


def _signature(text: str, peer: str) -> Any:
    try:
        return PEERS[peer].sign(text)
    except Exception as error:  # whatever a stranger's code raises is a result of its own
        return error


def word_pairs(text: str) -> Hashes:
    """Return the different hashes of the pairs of neighbouring words in *text*, sorted."""
    return _runs(_WORDS.findall(text.lower()), 2)


def shingles(text: str) -> Hashes:
    """Return the different hashes of the shingles of *text*, sorted."""
    return _runs(tokens(text), SHINGLE)


def _runs(words: Sequence[str], size: int) -> Hashes:
    return np.asarray(different(ordered_shingles(hashes_of(words), size)), np.uint64)


def missing_shingles(a: Hashes, b: Hashes) -> int:
    """Return how many of *b* are not in *a*, two sorted sets."""
    return len(b) - len(np.intersect1d(a, b, assume_unique=True))


def jaccard(a: Hashes, b: Hashes) -> float:
    """Return the exact Jaccard similarity of two sorted sets; two empty ones are equal."""
    both = len(np.intersect1d(a, b, assume_unique=True))
    either = len(a) + len(b) - both
    return both / either if either else 1.0
