"""Several processes share one file: they wait for each other, and none hears `new` for a known page."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import chain
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

import pytest

from dedup import DedupConfig, SQLiteIndex
from dedup.index import Row
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.verdict import Outcome
from dedup.rule.match import match
from tests.forking import HAS_SERVER, all_at_once
from tests.sightings import find_or_add

PROCESSES = 8
CONFIG = DedupConfig(scope="global")

pytestmark = pytest.mark.skipif(not HAS_SERVER, reason="no fork server here")


def random_fingerprint(rng: Random) -> Fingerprint:
    return Fingerprint(
        content_simhash=rng.getrandbits(64),
        structure_simhash=rng.getrandbits(64),
        sketch=bytes(rng.randint(1, 255) for _ in range(BINS)),
        body_digest=rng.randbytes(16),
        token_digest=rng.randbytes(16),
        tokens=300,
        words=300,
        shingles=297,
    )


def lightly_edited(page: Fingerprint, rng: Random) -> Fingerprint:
    one, other = rng.sample(range(64), 2)
    return replace(
        page,
        content_simhash=page.content_simhash ^ 1 << one ^ 1 << other,
        body_digest=rng.randbytes(16),
        token_digest=rng.randbytes(16),
    )


def families(pages: int) -> list[list[Fingerprint]]:
    """Return *pages* fingerprints, a quarter of them edited copies of the others, copies together."""
    rng = Random(pages)
    found = [[random_fingerprint(rng)] for _ in range(pages - pages // 4)]
    for _ in range(pages // 4):
        family = rng.choice(found)
        family.append(lightly_edited(family[0], rng))
    return found


def add_all(number: int, together: Barrier, path: Path, pages: int) -> None:
    numbered = list(enumerate(page for family in families(pages) for page in family))
    Random(number).shuffle(numbered)
    together.wait()
    with SQLiteIndex(path) as index:
        run = index.runs.begin(f"process {number}")
        for place, page in numbered:
            find_or_add(index, page, f"http://p{number}.example/{place}", run=run, config=CONFIG)
        index.runs.end(run, "finished")


def open_new_files(number: int, together: Barrier, folder: Path, files: int) -> None:
    for file in range(files):
        together.wait()
        with SQLiteIndex(folder / f"{file}.db") as index:
            index.runs.begin(f"process {number}")


def crawled(folder: Path, pages: int) -> list[Row]:
    """Let each process add all pages, and return the rows of a sound index."""
    all_at_once(PROCESSES, add_all, folder / "pages.db", pages)
    with SQLiteIndex(folder / "pages.db") as index:
        assert index.problems() == []
        assert [run.ending for run in index.runs.all()] == ["finished"] * PROCESSES
        rows = list(index.rows())
    assert os.listdir(folder) == ["pages.db"]
    return rows


@pytest.mark.slow
def test_no_page_is_lost_and_none_is_kept_twice(tmp_path: Path) -> None:
    pages = 800
    rows = crawled(tmp_path, pages)
    made = families(pages)

    assert Counter(row.sighting.run for row in rows) == dict.fromkeys(range(1, PROCESSES + 1), pages)
    all_pages = chain.from_iterable(made)
    assert Counter(row.sighting.fingerprint for row in rows) == dict.fromkeys(all_pages, PROCESSES)
    assert {row.outcome for row in rows} == {Outcome.CONFIRMED}

    kept = {row.id: row.sighting.fingerprint for row in rows if row.verdict.kept}
    for row in rows:
        if row.id not in kept:
            assert row.verdict.canonical is not None
            canonical = kept[row.verdict.canonical]
            assert match(canonical, row.sighting.fingerprint, CONFIG).reason == row.verdict.reason
    times_kept = Counter(kept.values())
    assert [sum(times_kept[page] for page in family) for family in made] == [1] * len(made)


def test_a_new_file_can_be_opened_by_several_processes_at_once(tmp_path: Path) -> None:
    files = 10
    all_at_once(PROCESSES, open_new_files, tmp_path, files)
    for file in range(files):
        with SQLiteIndex(tmp_path / f"{file}.db", create=False) as index:
            assert index.problems() == []
            assert sorted(run.spider for run in index.runs.all()) == [
                f"process {number}" for number in range(PROCESSES)
            ]
            assert {run.ending for run in index.runs.all()} == {"died"}
    assert sorted(os.listdir(tmp_path)) == sorted(f"{file}.db" for file in range(files))
