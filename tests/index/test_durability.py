"""Killed crawls, full disks and read-only files: what was confirmed stays, and the file stays sound."""

import os
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import TextIO

import pytest

from dedup import DedupConfig, SQLiteIndex
from dedup.index import Run
from dedup.model.errors import IndexUnavailable
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.verdict import Outcome
from tests.support.commands import run
from tests.support.disks import mount, mounted
from tests.support.pages import find_or_add

CONFIG = DedupConfig(scope="global")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork and no mounts here")


def numbered_page(number: int) -> Fingerprint:
    rng = Random(number)
    simhashes = rng.getrandbits(64), rng.getrandbits(64)
    sketch = bytes(rng.choices(range(1, 256), k=BINS))
    return Fingerprint(*simhashes, sketch, rng.randbytes(16), rng.randbytes(16), 300, 300, 297)


def add(index: SQLiteIndex, run: Run, number: int, *, confirmed: bool = True) -> int:
    url = f"http://run{run.id}.example/{number}"
    row = find_or_add(index, numbered_page(number), url, run=run, config=CONFIG, confirmed=confirmed).row
    assert row is not None
    return row


def assert_sound(path: Path, confirmed: list[int]) -> None:
    """Open the index after a crawl died: *confirmed* rows are there, and nothing is left over."""
    with SQLiteIndex(path) as index:
        assert index.problems() == []
        assert {run.ending for run in index.runs.all()} <= {"died"}
        outcomes = {row.id: row.outcome for row in index.rows()}
    assert Outcome.PENDING not in outcomes.values()
    assert {outcomes.get(row) for row in confirmed} <= {Outcome.CONFIRMED}


def in_fork(work: Callable[[TextIO], None]) -> tuple[int, TextIO]:
    """Do *work* in a fork of this process; return its number and what it prints."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as report:
            try:
                work(report)
            except BaseException:
                traceback.print_exc(file=report)
            finally:
                report.flush()
                os._exit(1)
    os.close(writer)
    return child, os.fdopen(reader)


def crawl_for_ever(path: Path, seed: int, report: TextIO) -> None:
    rng = Random(seed)
    with SQLiteIndex(path) as index:
        run = index.runs.begin("killed")
        print("run", run.id, file=report, flush=True)
        while True:
            row = add(index, run, rng.randrange(1000), confirmed=False)
            print("added", row, file=report, flush=True)
            index.ledger.confirm(row)
            print("confirmed", row, file=report, flush=True)


def killed_crawl(path: Path, seed: int) -> list[str]:
    """Kill a crawl a moment after some line that it prints, or while it opens; return the lines."""
    rng = Random(seed)
    child, report = in_fork(partial(crawl_for_ever, path, seed))
    try:
        lines = [report.readline() for _ in range(max(0, rng.randrange(-10, 30)))]
        time.sleep(rng.uniform(0, 0.01))
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    with report:
        lines += report.readlines()
    assert os.WIFSIGNALED(status), "".join(lines)
    return lines


def confirmed_in(lines: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in lines if line.startswith("confirmed")]


@pytest.mark.slow
@pytest.mark.parametrize("times", [40, pytest.param(200, marks=pytest.mark.nightly)])
def test_many_killed_crawls_lose_nothing(tmp_path: Path, times: int) -> None:
    path, confirmed = tmp_path / "pages.db", list[int]()
    for seed in range(times):  # on one growing file
        confirmed += confirmed_in(killed_crawl(path, seed))
        assert_sound(path, confirmed)
        assert os.listdir(tmp_path) == [path.name], f"seed {seed}"
    assert len(confirmed) > times


@pytest.mark.slow
def test_a_crawl_killed_while_it_makes_the_file_leaves_one_that_can_be_opened(tmp_path: Path) -> None:
    rng = Random(0)
    for number in range(30):
        path = tmp_path / f"{number}.db"
        child, report = in_fork(partial(crawl_for_ever, path, 0))
        time.sleep(rng.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with report:
            assert_sound(path, confirmed_in(report.readlines()))


def open_and_begin(path: Path, report: TextIO) -> None:
    with SQLiteIndex(path) as index:
        print("opened", file=report, flush=True)
        index.runs.begin("killed")


def test_a_crawl_killed_while_it_waits_for_its_run_to_begin_leaves_nothing(path: Path) -> None:
    with SQLiteIndex(path):
        pass
    child, report = in_fork(partial(open_and_begin, path))
    with report, closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert report.readline() == "opened\n"
        time.sleep(0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert_sound(path, [])
    assert os.listdir(path.parent) == [path.name]


def test_a_lock_that_was_made_for_no_run_is_removed(tmp_path: Path) -> None:
    path, stray = tmp_path / "[pages].db", tmp_path / f"[pages].db-run-{'0' * 32}"
    with SQLiteIndex(path) as index:
        index.runs.begin()
        (held,) = tmp_path.glob("*-run-*")
        stray.touch()
        (other := tmp_path / "[pages].db-run-1.html").touch()  # a report of somebody
        with SQLiteIndex(path, read_only=True):
            assert stray.exists()
        with SQLiteIndex(path):
            assert {*tmp_path.glob("*-run-*")} == {held, other}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs") as folder:
        yield folder


def fill(index: SQLiteIndex, run: Run) -> tuple[list[int], str]:
    """Add pages until an error comes; return the rows that were added, and the error."""
    rows: list[int] = []
    try:
        while True:
            rows.append(add(index, run, len(rows)))
    except IndexUnavailable as error:
        return rows, str(error)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(disk: Path, is_closed: bool) -> None:
    path, filler = disk / "pages.db", disk / "filler"
    filler.write_bytes(bytes(1 << 20))
    with SQLiteIndex(path) as index:
        run = index.runs.begin()
        rows, error = fill(index, run)
        assert (error, len(rows) > 10) == (f"{path}: the disk is full", True)
        assert [row.id for row in index.rows()] == rows
        if not is_closed:
            filler.unlink()
            rows.append(add(index, run, len(rows)))
            assert index.problems() == []
    filler.unlink(missing_ok=True)
    assert_sound(path, rows)


def test_an_index_on_a_full_disk_is_left_as_it_is(disk: Path) -> None:
    path, filler = disk / "pages.db", disk / "filler"
    with SQLiteIndex(path) as index:
        rows = [add(index, index.runs.begin(), 1)]
    before = path.read_bytes()
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(1 << 23))
    with pytest.raises(IndexUnavailable, match=r"pages\.db: the disk (is full|cannot be written)"):
        SQLiteIndex(path)
    assert path.read_bytes() == before
    filler.unlink()
    assert_sound(path, rows)


@pytest.fixture
def read_only(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An index of one page in a place where nothing can be written."""
    is_root = os.geteuid() == 0
    folder: Path = request.getfixturevalue("disk") if is_root else tmp_path / "folder"
    path = folder / "pages.db"
    with SQLiteIndex(path) as index:
        run = index.runs.begin()
        add(index, run, 1)
        index.runs.end(run, "finished")
    if is_root:
        mount("-o", "remount,ro", folder)
        yield path
        return
    path.chmod(0o444)
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)


def test_an_index_that_cannot_be_written_can_be_read(read_only: Path) -> None:
    done = run("report", read_only)
    assert (done.exit_code, "1 page seen = 1 kept." in done.output) == (0, True), done.output
    assert os.listdir(read_only.parent) == [read_only.name]


def test_an_index_that_cannot_be_written_is_one_clear_error(read_only: Path) -> None:
    before = read_only.read_bytes()
    with pytest.raises(IndexUnavailable, match=r"pages\.db: the \w+ cannot be"):
        with SQLiteIndex(read_only) as index:
            add(index, index.runs.begin(), 2)
    assert (read_only.read_bytes(), os.listdir(read_only.parent)) == (before, [read_only.name])
