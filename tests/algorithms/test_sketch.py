from __future__ import annotations

import random

from dedup.model.hashes import murmur3
from dedup.native._pages import similarity
from tests.oracle.prints import runs_of, sketch_of


def sketch(tokens: list[str], size: int) -> bytes:
    return sketch_of(runs_of([murmur3(token) for token in tokens], size))


def test_estimates_the_jaccard_similarity() -> None:
    rng = random.Random(1)
    errors = []
    for _ in range(60):
        shared = [str(rng.random()) for _ in range(rng.randrange(2, 2000))]
        a = shared + [str(rng.random()) for _ in range(1000)]
        b = shared + [str(rng.random()) for _ in range(1000)]
        exact = len(shared) / (len(shared) + 2000)
        errors.append(similarity(sketch(a, 1), sketch(b, 1)) - exact)
    assert abs(sum(errors) / len(errors)) < 0.02
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.05
