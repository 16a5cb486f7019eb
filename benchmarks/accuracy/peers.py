"""Other libraries on the same pairs, each with its own features, at its own threshold.

All but html-similarity are given the text that `Page` reads off a document, so that methods are
compared and not extractions.  Words are `dedup.tokens`, which cut Chinese; a library that cuts texts
itself gets the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from dedup.tokens import tokens

PERMUTATIONS = 128


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


def missing(name: str) -> str:
    """Return why the peer *name* cannot be scored, "" if it can."""
    module = PEERS[name].module
    return "" if find_spec(module) else f"{module} is not installed"


def _sign_simhash(text: str) -> int:
    from simhash import Simhash

    try:
        word: int = Simhash(text).value
    except OverflowError:
        # numpy 2 refuses to multiply bytes with Python integers above 255, not with its own.
        counts = Counter(Simhash("")._tokenize(text))
        word = Simhash({feature: np.int64(count) for feature, count in counts.items()}).value
    return word


def _like_simhash(a: int, b: int) -> float:
    from simhash import Simhash

    return -float(Simhash(a).distance(Simhash(b)))


def _sign_datasketch(text: str) -> Any:
    from datasketch import LeanMinHash, MinHash

    signature = MinHash(num_perm=PERMUTATIONS)
    signature.update_batch([word.encode("utf-8", "surrogatepass") for word in set(tokens(text))])
    return LeanMinHash(signature)


def _sign_rensa(text: str) -> Any:
    from rensa import RMinHash

    signature = RMinHash(num_perm=PERMUTATIONS, seed=42)
    signature.update([word.encode("utf-8", "replace").decode() for word in tokens(text)])
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
