"""Transactions that are committed together: what they say, what is lost with them, who waits for them."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TextIO

import pytest

from dedup import DedupConfig, SQLiteIndex
from dedup.index import Run
from dedup.values.errors import IndexUnavailable
from dedup.values.row import NoSuchRow
from dedup.values.verdict import Outcome, Verdict
from tests.dedup.index.test_durability import add, in_fork, numbered_page
from tests.sightings import find_or_add

CONFIG = DedupConfig(scope="global")


def gathering(path: Path, most: int = 100) -> SQLiteIndex:
    index = SQLiteIndex(path)
    index.store.gather(most)
    return index


def rows_seen_by_others(path: Path) -> int:
    with closing(sqlite3.connect(path)) as other:
        found: int = other.execute("SELECT count(*) FROM pages").fetchone()[0]
        return found


def history(index: SQLiteIndex, seed: int, *, flushes: bool) -> list[Verdict]:
    """Judge random pages, settle them in a random order, and now and then fail or look around."""
    rng, verdicts, open_rows = Random(seed), [], list[int]()
    run = index.begin_run("laws")
    for _ in range(80):
        url = f"http://a.example/{rng.randrange(30)}"
        page = numbered_page(rng.randrange(20))
        verdict = find_or_add(index, page, url, run=run, config=CONFIG, confirmed=False)
        verdicts.append(verdict)
        if verdict.kept:
            open_rows.append(verdict.row or 0)
        if open_rows and rng.random() < 0.7:
            row = open_rows.pop(rng.randrange(len(open_rows)))
            (index.ledger.confirm if rng.random() < 0.8 else index.ledger.release)(row)
        if rng.random() < 0.1:
            with pytest.raises(ZeroDivisionError), index.store.transaction(writing=True, can_wait=True):
                index.ledger.find_or_add(
                    next(iter(index.rows())).sighting, CONFIG
                )  # undone, with nothing else
                _ = 1 / 0
        if rng.random() < 0.1 and flushes:
            index.store.flush()
        if rng.random() < 0.05:
            index.begin_run("another")
    return verdicts


@pytest.mark.parametrize("seed", range(10))
def test_verdicts_and_rows_are_the_same(tmp_path: Path, seed: int) -> None:
    found = []
    for most in (1, 2, 7, 1000):
        with gathering(tmp_path / f"{most}.db", most) as index:
            verdicts = history(index, seed, flushes=most > 2)
            rows = [(row.id, row.outcome, row.listed, row.verdict.reason) for row in index.rows()]
            assert index.problems() == []
            found.append(([(one.reason, one.row, one.canonical) for one in verdicts], rows))
    for one in found[1:]:
        assert one == found[0]


def test_they_are_committed_by_number_by_flush_and_by_what_cannot_wait(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with gathering(path, 4) as index:
        run = index.begin_run("news")
        for number in range(3):
            add(index, run, number)
        assert rows_seen_by_others(path) == 0
        add(index, run, 3)
        assert rows_seen_by_others(path) == 4
        add(index, run, 4)
        index.store.flush()
        assert rows_seen_by_others(path) == 5
        add(index, run, 5)
        index.book.visit(run, "", "a.example")
        assert rows_seen_by_others(path) == 6
        add(index, run, 6)
    assert rows_seen_by_others(path) == 7


@pytest.mark.parametrize("name", ["pages.db", "{0}/pages.db", "link.db"])
def test_another_object_of_this_thread_need_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.db").symlink_to("pages.db")
    with gathering(Path("pages.db")) as first, SQLiteIndex(name.format(tmp_path)) as second:
        second.store.wait_at_most(0)
        add(first, first.begin_run("first"), 1)
        assert first.store.is_gathering
        run = second.begin_run("second")
        assert not first.store.is_gathering
        add(second, run, 2)


def test_nothing_is_gathered_while_another_crawl_uses_the_file(tmp_path: Path) -> None:
    with gathering(tmp_path / "pages.db") as first, SQLiteIndex(tmp_path / "pages.db") as second:
        run = first.begin_run("first")
        add(first, run, 1)
        other = second.begin_run("second")
        add(first, run, 2)
        assert not first.store.is_gathering
        second.end_run(other, "finished")
        add(first, run, 3)
        assert first.store.is_gathering


def test_what_cannot_tell_whether_it_may_be_gathered_is_undone(tmp_path: Path) -> None:
    def fails() -> bool:
        raise OSError

    with gathering(tmp_path / "pages.db") as index:
        run = index.begin_run("first")
        kept = add(index, run, 1)
        with pytest.raises(OSError), index.store._database.writing(fails):  # noqa: PT011
            add(index, run, 2)
        assert [row.id for row in index.rows()] == [kept]


def test_what_sqlite_has_undone_by_itself_is_lost_as_a_whole_and_nothing_after_it(
    tmp_path: Path,
) -> None:
    with gathering(tmp_path / "pages.db") as index:
        run = index.begin_run("first")
        index.store.flush()
        add(index, run, 1)
        index.store._database.connection.execute("ROLLBACK")  # as after an error of the disk
        kept = add(index, run, 2)
        index.store.flush()
        assert [row.id for row in index.rows()] == [kept]
        assert index.problems() == []


class Failing:
    """A connection that cannot commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def fail_to_commit(index: SQLiteIndex) -> None:
    database = index.store._database
    own, database.connection = database.connection, Failing(database.connection)  # type: ignore[assignment]
    with pytest.raises(IndexUnavailable, match="the disk is full"):
        index.store.flush()
    database.connection = own


def test_what_cannot_be_committed_has_never_been_and_its_numbers_are_given_to_nobody(
    tmp_path: Path,
) -> None:
    with gathering(tmp_path / "pages.db") as index:
        run = index.begin_run("full")
        kept = add(index, run, 0)
        index.store.flush()
        lost = [add(index, run, number, confirmed=False) for number in range(1, 5)]
        fail_to_commit(index)
        assert [row.id for row in index.rows()] == [kept]
        verdict = find_or_add(
            index, numbered_page(2), "http://run1.example/2", run=run, config=CONFIG, confirmed=False
        )
        assert verdict.kept
        assert verdict.row not in lost
        for row in lost:  # their items come through all the same, or do not
            with pytest.raises(NoSuchRow):
                (index.ledger.confirm if row % 2 else index.ledger.release)(row)
        assert [row.outcome for row in index.rows()] == [Outcome.CONFIRMED, Outcome.PENDING]
        assert add(index, run, 9) == (verdict.row or 0) + 1
        assert index.problems() == []


def test_rows_of_another_crawl_that_have_the_numbers_of_lost_ones_are_not_settled_for_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.db"
    with gathering(path) as index, SQLiteIndex(path) as other:
        run = index.begin_run("full")
        kept = add(index, run, 0, confirmed=False)
        index.store.flush()
        lost = [add(index, run, number, confirmed=False) for number in (1, 2, 3)]
        fail_to_commit(index)
        others = other.begin_run("other")
        assert [add(other, others, number, confirmed=False) for number in (4, 5, 6)] == lost
        for settle in (index.ledger.confirm, index.ledger.release):
            for row in lost:
                with pytest.raises(NoSuchRow):
                    settle(row)
        assert index.ledger.take_back(lost) == 0
        with pytest.raises(NoSuchRow, match=f"row {lost[0]}"):
            index.ledger.confirm(*lost, kept)
        assert [row.outcome for row in other.rows()] == [Outcome.CONFIRMED] + [Outcome.PENDING] * 3
        other.ledger.confirm(*lost)
        assert index.ledger.take_back([kept, *lost]) == 1
        assert [row.outcome for row in other.rows()] == [Outcome.RELEASED] + [Outcome.CONFIRMED] * 3


def test_copies_of_another_crawl_that_have_the_numbers_of_lost_ones_are_not_restored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.db"
    with gathering(path) as index, SQLiteIndex(path) as other:
        run = index.begin_run("full")
        add(index, run, 0)
        index.store.flush()
        lost = find_or_add(index, numbered_page(0), "http://a.example/lost", run=run, config=CONFIG).row
        fail_to_commit(index)
        theirs = other.begin_run("other")
        page, url = numbered_page(0), "http://a.example/other"
        assert find_or_add(other, page, url, run=theirs, config=CONFIG).row == lost
        assert index.ledger.restore_copies([lost or 0]) == []


def crawl_for_ever(path: Path, seed: int, report: TextIO) -> None:
    rng = Random(seed)
    with gathering(path, rng.choice((3, 10, 50))) as index:
        run: Run = index.begin_run("killed")
        while True:
            page = numbered_page(rng.randrange(1000))
            verdict = find_or_add(index, page, run=run, config=CONFIG, confirmed=False)
            if verdict.kept and rng.random() < 0.9:
                row = verdict.row or 0
                print("delivered", row, file=report, flush=True)
                index.ledger.confirm(row)
                print("confirmed", row, file=report, flush=True)
            if rng.random() < 0.1:
                index.store.flush()
                print("flushed", file=report, flush=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("kills", [50, pytest.param(200, marks=pytest.mark.nightly)])
def test_killed_crawls_confirm_only_what_was_delivered_and_lose_nothing_flushed(
    tmp_path: Path, kills: int
) -> None:
    path, safe = tmp_path / "pages.db", list[int]()
    for seed in range(kills):
        rng = Random(seed)
        child, report = in_fork(partial(crawl_for_ever, path, seed))
        lines = [report.readline() for _ in range(rng.randrange(40))]
        time.sleep(rng.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with report:
            lines += report.readlines()
        last = max((place for place, line in enumerate(lines) if line == "flushed\n"), default=0)
        safe += [int(line.split()[1]) for line in lines[:last] if line.startswith("confirmed")]
        delivered = {int(line.split()[1]) for line in lines if line.startswith("delivered")}
        with SQLiteIndex(path) as index:
            assert index.problems() == []
            outcomes = {row.id: row.outcome for row in index.rows()}
            last_run = max((run.id for run in index.runs()), default=0)
            kept = {
                row.id
                for row in index.rows()
                if row.sighting.run == last_run and row.verdict.kept and row.outcome is Outcome.CONFIRMED
            }
        assert {outcomes.get(row) for row in safe} <= {Outcome.CONFIRMED}, seed
        assert kept <= delivered or not delivered, seed
    assert len(safe) > kills
