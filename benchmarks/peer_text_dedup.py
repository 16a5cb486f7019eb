"""Make the signatures of text-dedup, in its environment, as its two commands do by default.

    python peer_text_dedup.py TEXTS

Each line of TEXTS is a JSON object with "text".  The result is printed as JSON: the processor time of each
method for all texts, in seconds, and for each text its SimHash in hexadecimal and its MinHash bands.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from text_dedup.minhash import RNG
from text_dedup.minhash import embed_func as minhash
from text_dedup.simhash import _create_permutations
from text_dedup.simhash import embed_func as simhash
from text_dedup.utils import optimal_param, sha1_hash, xxh3_64_digest

PERMUTATIONS = 250
THRESHOLD = 0.7


def main(path: str) -> None:
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    seconds, simhashes = timed(
        simhash, texts, ngram=3, permutations=_create_permutations(64, 3, 4), hash_func=xxh3_64_digest
    )
    bands, rows = optimal_param(
        THRESHOLD, PERMUTATIONS, false_positive_weight=0.5, false_negative_weight=0.5
    )
    prime = np.uint64((1 << 61) - 1)
    minhash_seconds, signatures = timed(
        minhash,
        texts,
        num_perm=PERMUTATIONS,
        ngram_size=5,
        min_length=5,
        hashranges=[(band * rows, (band + 1) * rows) for band in range(bands)],
        permutations=(
            RNG.randint(1, prime, size=(PERMUTATIONS,), dtype=np.uint64),
            RNG.randint(0, prime, size=(PERMUTATIONS,), dtype=np.uint64),
        ),
        hash_func=lambda data: sha1_hash(data, d=32),
        dtype=np.uint64,
        max_hash=np.uint32((1 << 32) - 1),
        modulo_prime=prime,
    )
    print(
        json.dumps(
            {
                "seconds": [seconds, minhash_seconds],
                "simhashes": [found and found["__signature__"].hex() for found in simhashes],
                "bands": [
                    found and [band.hex() for band in found["__signatures__"]] for found in signatures
                ],
            }
        )
    )


def timed(embed: Callable[..., Any], texts: Sequence[str], **options: Any) -> tuple[float, list[Any]]:
    """Return processor time and signatures, None where the text was too short for one."""
    begin = time.process_time()
    found = []
    for number, text in enumerate(texts):
        try:
            found.append(embed(text, number, **options))
        except Exception:  # whatever a stranger's code raises is a result of its own
            found.append(None)
    return time.process_time() - begin, found


if __name__ == "__main__":
    main(sys.argv[1])
