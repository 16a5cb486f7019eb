"""Kills of crawls without JOBDIR over one index: every page is in a feed that somebody has.

`tests/faults/test_kills.py` goes on with one job instead, and reads its own storage.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crawling import crawl, started
from tests.faults.crawls import rows_of_a_sound_index
from tests.faults.spiders import content_of

SPIDER = "tests.faults.spiders.NumberedPages"
NEW = 10


def settings(folder: Path, unchanged: str) -> dict[str, Any]:
    return {
        "DEDUP_INDEX": str(folder / "pages.db"),
        "DEDUP_TEXT_FIELDS": "text",
        "DEDUP_UNCHANGED": unchanged,
        "LOG_LEVEL": "WARNING",
    }


def delivered(feed: Path) -> set[int]:
    """Return the contents that stand in a feed, whose last line may have been cut off."""
    lines = feed.read_text("utf-8").splitlines(keepends=True) if feed.exists() else []
    return {json.loads(line)["content"] for line in lines if line.endswith("\n")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unchanged", "kills"),
    [("drop", 20), pytest.param("drop", 50, marks=pytest.mark.nightly), ("keep", 10)],
)
def test_after_kills_every_page_was_delivered(tmp_path: Path, unchanged: str, kills: int) -> None:
    rng = Random(unchanged)
    found: set[int] = set()
    killed = 0
    for turn in range(kills):
        folder = tmp_path / str(turn)
        folder.mkdir()
        killed += kill_one(folder, settings(tmp_path, unchanged), numbers(turn, rng), rng)
        found |= delivered(folder / "items.jsonl")
        if (tmp_path / "pages.db").exists():
            rows_of_a_sound_index(tmp_path / "pages.db")
    assert killed > kills / 2
    last = crawl(tmp_path, SPIDER, settings(tmp_path, unchanged), {"numbers": numbers(kills, rng)})
    assert last.code == 0
    everything = {content_of(number) for number in range(NEW * (kills + 1))}
    own = [item["content"] for item in last.items]
    assert len(own) <= 1.02 * len(set(own))
    assert set(own) | found == everything
    if unchanged == "keep":
        assert set(own) == everything


def numbers(turn: int, rng: Random) -> str:
    """Return the pages of a crawl as its argument: all that there were before, and some more."""
    found = list(range(NEW * (turn + 1)))
    rng.shuffle(found)
    return " ".join(map(str, found))


def kill_one(folder: Path, chosen: dict[str, Any], pages: str, rng: Random) -> bool:
    """Begin a crawl and kill it somewhere; return whether it was still alive."""
    running = started(folder, SPIDER, chosen, {"numbers": pages})
    feed, wanted = folder / "items.jsonl", rng.choice([0, 1, rng.randrange(2000), rng.randrange(9000)])
    while running.is_alive() and not (feed.exists() and feed.stat().st_size >= wanted):
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.05))
    was_alive = running.is_alive()
    running.send(signal.SIGKILL)
    running.wait()
    return was_alive
