"""What `dedup explain` asks of an index."""

from __future__ import annotations

from dedup import DedupConfig
from dedup.index import Index
from tests.index.test_nearest import flipped, seen
from tests.sightings import find_or_add

WORD = 0x0F1E2D3C4B5A6978


def test_near_gives_the_nearest(index: Index) -> None:
    config = DedupConfig(max_distance=0)
    run = index.runs.begin()
    for bits in ([0, 1, 2], [5], [9], [], [0, 1, 2, 3]):
        find_or_add(index, seen(flipped(WORD, bits)), run=run, config=config)
    index.runs.end(run, "finished")
    for limit, rows in ((9, [1, 2, 3, 4]), (2, [2, 4]), (1, [4])):
        assert [row.id for row in index.near(seen(WORD), max_distance=3, limit=limit)] == rows
