"""A crawl whose disk is full or taken away, whose memory is, or whose clock goes backwards, loses nothing."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from dedup import Detector, SQLiteIndex, Verdict
from dedup.model.verdict import Outcome
from tests.plugin.crawls import ITEMS, Staged, listed, near, page, rows_of_a_sound_index, stored
from tests.support import pages
from tests.support.commands import run
from tests.support.crawling import crawl
from tests.support.disks import fill, mounted
from tests.support.pages import edited, text


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=16m", "tmpfs") as folder:
        yield folder


@pytest.mark.slow
def test_pages_on_a_full_disk_are_kept_and_later_ones_judged(tmp_path: Path, small_disk: Path) -> None:
    crawl = Staged(tmp_path, small_disk / "pages.db")
    crawl.start(
        [page(n, n) for n in range(20)],
        [page(20 + n, 10 + n) for n in range(20)],
        [*(near(40 + n, n) for n in range(10)), *(page(50 + n, 30 + n) for n in range(10))],
    )
    crawl.do(0)
    filler = fill(small_disk)
    crawl.do(1)
    filler.unlink()
    crawl.do(2)
    done = crawl.finish()
    # Copies of 10 to 19 came while nothing could be judged; 20 to 29 are not in the index.
    assert stored(done) == {n: 2 if 10 <= n < 20 else 1 for n in range(40)}
    assert (done.dedup()["index_errors"], done.dedup()["not_judged"]) == (21, 21)
    assert done.log.count("Pages are kept without being judged") == 1
    assert "the disk is full" in done.log
    assert {row.outcome for row in rows_of_a_sound_index(crawl.index)} == {Outcome.CONFIRMED}


@pytest.mark.slow
@pytest.mark.parametrize("vanish", ["delete", "replace"])
def test_an_index_taken_away_is_told_at_the_end(tmp_path: Path, vanish: str) -> None:
    crawl = Staged(tmp_path, tmp_path / "index" / "pages.db")
    crawl.start([page(n, n) for n in range(3)], [near(3 + n, n) for n in range(3)])
    crawl.do(0)
    crawl.index.unlink()
    if vanish == "replace":
        crawl.index.write_bytes(b"")
    crawl.do(1)
    done = crawl.finish()
    assert stored(done) == dict.fromkeys(range(3), 1)
    assert done.log.count("was moved, deleted or replaced during the crawl") == 1


def test_an_index_without_memory_loses_no_page(tmp_path: Path) -> None:
    items = [page(0, 0), page(1, 1), near(2, 1), page(3, 1), page(4, 4)]
    settings = {"EXTENSIONS": {"tests.plugin.storages.Forgetful": 0}, "CONCURRENT_ITEMS": 1}
    done = crawl(tmp_path, ITEMS, {"DEDUP_TEXT_FIELDS": "text", **settings}, listed(*items))
    # Page 0 could not be recorded; page 1 could not be confirmed, and was before the next question.
    assert Counter(found["content"] for found in done.items) == {0: 1, 1: 1, 4: 1}
    counts = done.dedup()
    assert (counts["index_errors"], counts["not_judged"], counts["dropped"]) == (2, 1, 2)
    assert "MemoryError" in done.log
    assert len(rows_of_a_sound_index(tmp_path / "pages.db")) == 4


# A clock that goes backwards changes no verdict: the order of rows and runs is that of their numbers
CLOCKS: dict[str, Callable[[int], float]] = {
    "backwards": lambda tick: 1e9 - 3600 * tick,
    "standing": lambda tick: 1e9,
    "jumping": lambda tick: 1e9 + (-1) ** tick * 1e8,
}


def life(path: Path) -> list[Verdict]:
    """Judge originals, copies, versions and repeated visits in three runs of one job and one other."""
    found: list[Verdict] = []
    for turn, job in enumerate(("", "job", "job", "")):
        with SQLiteIndex(path) as index:
            detector = Detector(index, job=job)
            for number in range(8):
                content = edited(number, turn) if number % 3 else text(number)
                found.append(detector.check(pages.page(content, f"http://a/{number}")))
                found.append(detector.check(pages.page(edited(number, 2), f"http://copy/{number}")))
            detector.close("shutdown" if job else "finished")
    return found


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
def test_verdicts_are_those_of_a_clock_that_goes_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Callable[[int], float]
) -> None:
    expected = life(tmp_path / "forward.db")
    path, ticks = tmp_path / "pages.db", count()
    monkeypatch.setattr(time, "time", lambda: clock(next(ticks)))
    assert life(path) == expected
    assert len(set(expected)) > 20
    with SQLiteIndex(path) as index:
        assert index.problems() == []
        assert [run.ending for run in index.runs.all()] == ["finished", "shutdown", "finished"]
    for command in (["report"], ["restore", "--list", "dropped"], ["check"]):
        assert run(*command, path).exit_code == 0
