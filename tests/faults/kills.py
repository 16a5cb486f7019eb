"""Kill one crawl again and again, go on with it each time, and look for what was lost or kept twice."""

from __future__ import annotations

import signal
import time
from collections import Counter
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome, Reason
from tests.crawling import crawl, started
from tests.faults.crawls import rows_of_a_sound_index
from tests.faults.spiders import content_of
from tests.knobs import KNOBS, MOST_GATHERED

SPIDER = "tests.faults.spiders.NumberedPages"
NEW, OLD = 60, 100  # pages that each crawl has more than those before, and visits again


def kill_and_resume(folder: Path, times: int, seed: int = 0) -> None:
    """Begin a crawl and kill it, so many times, with one JOBDIR; let the last one come to its end.

    A crawl that ended before it was killed is followed by one that is killed in its place.

    Raises `AssertionError` where a content is lost, or stored twice though no kill came before `confirm`.
    """
    rng = Random(seed)
    turns = count()
    for _ in range(times):
        while not _killed(folder, next(turns), rng):
            pass
    _check(folder, NEW * (next(turns) + 1))


def _check(folder: Path, pages: int) -> None:
    """Let the crawl come to its end, and count."""
    # One that was killed when it had ended its run is followed by another run.
    before = _endings(folder).count("finished")
    done = crawl(folder, SPIDER, _settings(folder), _numbered(range(pages)))
    assert done.code == 0, (done.code, done.log)
    rows = rows_of_a_sound_index(folder / "pages.db")
    assert _endings(folder) == ["finished"] * (before + 1)
    with SQLiteIndex(folder / "pages.db") as index:
        assert list(index.orphans()) == []
    lines = [line.split() for line in _ledger(folder)]
    confirmed = {
        row.sighting.url for row in rows if row.verdict.kept and row.outcome is Outcome.CONFIRMED
    }
    assert confirmed <= {url for url, _ in lines}
    stored = Counter(int(content) for _, content in lines)
    assert stored.keys() == {content_of(number) for number in range(pages)}
    # Stored twice is only what a kill caught between storage and index.
    allowed = Counter(stored.keys())
    for row in rows:
        # A later run is given what says the same in other words.
        if row.outcome is Outcome.RELEASED or row.verdict.reason is Reason.UPDATED:
            allowed[content_of(int(row.sighting.url.rsplit("/", maxsplit=1)[-1]))] += 1
    assert stored <= allowed


def _killed(folder: Path, turn: int, rng: Random) -> bool:
    """Begin a crawl, kill it somewhere, and look at the index; return False if it was faster."""
    first = NEW * turn
    numbers = [*range(first, first + NEW), *rng.sample(range(first), min(first, OLD))]
    rng.shuffle(numbers)
    before = len(_ledger(folder))
    running = started(folder, SPIDER, _settings(folder), _numbered(numbers))
    # Some while they start or open the index, most in the middle of their pages.
    wanted = rng.choice([0, rng.randrange(1, 20), rng.randrange(1, 20), rng.randrange(1, 20)])
    while running.is_alive() and len(_ledger(folder)) < before + wanted:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.03 if wanted else 3))
    was_alive = running.is_alive()
    running.send(signal.SIGKILL)
    running.wait()
    if (folder / "pages.db").exists():
        rows_of_a_sound_index(folder / "pages.db")
    return was_alive


def _settings(folder: Path) -> dict[str, Any]:
    return {
        "JOBDIR": str(folder / "job"),
        # The toll tells a row that is missing from none: what is gathered has its own test.
        KNOBS: {MOST_GATHERED: 1},
        "ITEM_PIPELINES": {"tests.faults.spiders.Ledger": 300},
        "LEDGER": str(folder / "ledger.txt"),
        "DEDUP_TEXT_FIELDS": "text",
        "DEDUP_UNCHANGED": "drop",  # a run that ended before it was killed is followed by another one
        "LOG_LEVEL": "WARNING",
    }


def _numbered(numbers: range | list[int]) -> dict[str, str]:
    return {"numbers": " ".join(map(str, numbers))}


def _endings(folder: Path) -> list[str]:
    with SQLiteIndex(folder / "pages.db") as index:
        return [run.ending for run in index.runs.all()]


def _ledger(folder: Path) -> list[str]:
    path = folder / "ledger.txt"
    return path.read_text().splitlines() if path.exists() else []
