"""Other libraries on the same pairs, each with its own features, at its own threshold.

All but html-similarity get the text that `Page` extracts from a document, so that only the methods are
compared.  Features are the tokens of `dedup.reading.tokens`, which splits Chinese.  A library that splits
texts itself gets the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.scoring import (
    Confusion,
    Floats,
    Interval,
    Ints,
    auc,
    auc_interval,
    best_f1,
    confusion,
)
from dedup.reading.tokens import tokens

PERMUTATIONS = 128
SEED = 5


@dataclass(frozen=True, slots=True)
class Peer:
    """How a library sees a page (*sign*) and two pages (*likeness*, higher is more alike).

    It calls pages copies from *threshold* on, which *source* says where it is from.
    """

    module: str
    sign: Callable[[str], Any]
    likeness: Callable[[Any, Any], float]
    threshold: float | None
    source: str


@dataclass(frozen=True, slots=True)
class PeerScore:
    """How a peer did on a part: by its own threshold (None where it names none), at the threshold that
    turned out best on these very pairs, and by rank.  Where *pairs* is less than *of*, precision and F1
    are weighted up from a sample.  *page_seconds* and *pair_seconds* are means."""

    peer: str
    part: str
    pairs: int
    of: int
    source: str
    rule: Confusion | None
    best: tuple[float, float]
    area: float
    area_interval: Interval
    page_seconds: float
    pair_seconds: float
    failures: int


def peer_score(
    peer: str,
    part: str,
    labels: Ints,
    likeness: Floats,
    *,
    weights: Floats,
    threshold: float | None,
    source: str,
    page_seconds: float,
    pair_seconds: float,
) -> PeerScore:
    """Return the figures of a peer; *likeness* is -inf where it failed."""
    failed = np.isneginf(likeness)
    return PeerScore(
        peer=peer,
        part=part,
        pairs=len(labels),
        of=round(weights.sum()),
        source=source,
        rule=None if threshold is None else confusion(labels, likeness >= threshold, weights),
        best=best_f1(labels, likeness, weights),
        area=auc(labels, likeness),
        area_interval=auc_interval(labels, likeness),
        page_seconds=page_seconds,
        pair_seconds=pair_seconds,
        failures=int(failed.sum()),
    )


def sampled(labels: Sequence[int], count: int) -> tuple[list[int], Floats]:
    """Return the numbers of at most *count* pairs, and how many pairs each of them stands for.

    Pairs of label 1 are rare and all taken as long as they are at most half of *count*; the others
    are drawn, always the same ones.
    """
    rng = np.random.default_rng(SEED)
    strata = [np.flatnonzero(np.array(labels) == label) for label in (1, 0)]
    room = count - min(len(strata[1]), count // 2)
    ones = _drawn(strata[0], room, rng)
    zeros = _drawn(strata[1], count - len(ones), rng)
    weights = {
        int(number): len(stratum) / len(chosen)
        for stratum, chosen in zip(strata, (ones, zeros), strict=True)
        for number in chosen
    }
    numbers = sorted(weights)
    return numbers, np.array([weights[number] for number in numbers])


def _drawn(numbers: NDArray[np.intp], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return numbers if len(numbers) <= count else rng.choice(numbers, count, replace=False)


def missing(name: str) -> str:
    """Return why the peer *name* cannot be scored, "" if it can."""
    module = PEERS[name].module
    return "" if find_spec(module) else f"{module} is not installed"


def _sign_simhash(text: str) -> int:
    from simhash import Simhash

    try:
        value: int = Simhash(text).value
    except OverflowError:
        # numpy 2 refuses to multiply bytes with Python integers above 255, not with its own.
        counts = Counter(Simhash("")._tokenize(text))
        value = Simhash({feature: np.int64(count) for feature, count in counts.items()}).value
    return value


def _like_simhash(a: int, b: int) -> float:
    from simhash import Simhash

    return -float(Simhash(a).distance(Simhash(b)))


def _sign_datasketch(text: str) -> Any:
    from datasketch import LeanMinHash, MinHash

    signature = MinHash(num_perm=PERMUTATIONS)
    signature.update_batch([token.encode("utf-8", "surrogatepass") for token in set(tokens(text))])
    return LeanMinHash(signature)


def _sign_rensa(text: str) -> Any:
    from rensa import RMinHash

    signature = RMinHash(num_perm=PERMUTATIONS, seed=42)
    signature.update([token.encode("utf-8", "replace").decode() for token in tokens(text)])
    return signature


def _sign_trafilatura(text: str) -> Any:
    from trafilatura.deduplication import Simhash

    return Simhash(text.encode("utf-8", "replace").decode())


def _jaccard(a: Any, b: Any) -> float:
    return float(a.jaccard(b))


def _similarity(a: Any, b: Any) -> float:
    return float(a.similarity(b))


PEERS = {
    "1e0ng simhash": Peer(
        "simhash", _sign_simhash, _like_simhash, -2, "distance <= 2, SimhashIndex's default"
    ),
    "datasketch MinHash": Peer(
        "datasketch", _sign_datasketch, _jaccard, 0.9, "Jaccard >= .9, MinHashLSH's default"
    ),
    "rensa R-MinHash": Peer("rensa", _sign_rensa, _jaccard, 0.8, "Jaccard >= .8, as in its README"),
    "trafilatura Simhash": Peer(
        "trafilatura", _sign_trafilatura, _similarity, None, "none is documented"
    ),
}
