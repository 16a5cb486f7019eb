"""What reports ask of an index: how much there is of what, and which URL may be meant."""

from __future__ import annotations

import pytest

from dedup import DedupConfig
from dedup.index import Index
from dedup.model.errors import ConfigError
from tests.index.test_nearest import flipped, seen
from tests.sightings import find_or_add

WORD = 0x0F1E2D3C4B5A6978


@pytest.mark.parametrize("field", ["content", "structure"])
def test_near_gives_the_nearest_then_the_oldest(index: Index, field: str) -> None:
    config = DedupConfig(max_distance=0)
    run = index.runs.begin()
    for bits in ([0, 1, 2], [5], [9], [], [0, 1, 2, 3]):
        find_or_add(index, seen(flipped(WORD, bits)), run=run, config=config)
    index.runs.end(run, "finished")
    asked = seen(WORD)
    found = index.near(asked, field=field, max_distance=3)
    expected = [(0, 4), (1, 2), (1, 3), (3, 1)] if field == "content" else []
    assert [(near.distance, near.row.id) for near in found] == expected
    assert index.near(asked, field=field, max_distance=3, limit=2) == found[:2]


def test_near_refuses_what_it_cannot_mean(index: Index) -> None:
    with pytest.raises(ConfigError, match=r"^max_distance \(65\) must be 0 to 64"):
        index.near(seen(1), max_distance=65)
    with pytest.raises(ConfigError, match=r"^field \('title'\) must be one of content, structure"):
        index.near(seen(1), field="title", max_distance=3)
