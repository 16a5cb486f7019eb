"""TextRank: words that stand near many words that stand near many words.

R. Mihalcea, P. Tarau, TextRank: Bringing order into texts, EMNLP 2004; the window, the damping and
the number of rounds are those of `jieba.analyse`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

SPAN = 5
DAMPING = 0.85
ROUNDS = 10


def textrank(words: Sequence[str], is_candidate: Callable[[str], bool] = bool) -> dict[str, float]:
    """Return the rank of each word that *is_candidate* and has another one within `SPAN` words.

    Ranks sum to about the number of words ranked.
    """
    kept = [word if is_candidate(word) else None for word in words]
    edges = Counter(
        (one, other)
        for step in range(1, SPAN)
        for one, other in zip(kept, kept[step:], strict=False)
        if one is not None and other is not None
    )
    numbers = {name: number for number, name in enumerate(sorted({w for edge in edges for w in edge}))}
    heads = np.array(
        [numbers[one] for one, _ in edges] + [numbers[other] for _, other in edges], np.intp
    )
    tails = np.roll(heads, len(edges))
    counts = np.array([*edges.values()] * 2, np.float64)
    shares = counts / np.bincount(tails, counts, len(numbers))[tails]
    ranks = np.full(len(numbers), 1.0)
    for _ in range(ROUNDS):
        ranks = 1 - DAMPING + DAMPING * np.bincount(heads, shares * ranks[tails], len(numbers))
    return dict(zip(numbers, ranks.tolist(), strict=True))
