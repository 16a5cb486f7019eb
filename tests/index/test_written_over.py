"""A file that is written over, moved or removed in use: what is there afterwards is sound and in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from dedup import Detector, Page, SQLiteIndex
from dedup.index import files
from dedup.model.errors import IndexUnavailable
from tests.forking import forking
from tests.pages import text

Change = Callable[[Path, Path], object]
CHANGES: dict[str, Change] = {
    "copied over": shutil.copyfile,
    "put in its place": lambda backup, index: os.replace(shutil.copyfile(backup, f"{backup}2"), index),
    "removed": lambda _, index: index.unlink(),
    "moved": lambda _, index: index.rename(f"{index}.old"),
}


def page(number: int) -> Page:
    return Page.from_text(text(number, 90), url=f"http://a.example/{number}")


def add(index: Path, numbers: range) -> None:
    with SQLiteIndex(index) as opened, Detector(opened) as detector:
        for number in numbers:
            assert detector.check(page(number)).kept


def is_sound(index: Path) -> bool:
    with SQLiteIndex(index) as opened:
        return opened.problems() == []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "pages.db"
    add(path, range(100))
    shutil.copyfile(path, path.with_name("backup.db"))
    add(path, range(100, 300))
    return path.parent


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    """An index of 300 pages beside a backup of its first 100."""
    return shutil.copytree(made, tmp_path / "made") / "pages.db"


def write_and_die(index: Path, change: str) -> None:
    with SQLiteIndex(index) as opened, Detector(opened) as detector:
        for number in range(300, 360):
            assert detector.check(page(number)).kept
            if number == 330 and change:
                CHANGES[change](index.with_name("backup.db"), index)
                with suppress(IndexUnavailable):  # and nothing else: what is cut off is read as well
                    assert list(opened.rows())
        os._exit(9)


@contextmanager
def reading(index: Path) -> Iterator[None]:
    """Another process has *index* open, and reads."""
    context = forking()
    begun, ended = context.Event(), context.Event()
    process = context.Process(target=read, args=(index, begun, ended))
    process.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        ended.set()
        process.join(30)
        assert process.exitcode == 0


def read(index: Path, begun: Event, ended: Event) -> None:
    connection = sqlite3.connect(index, isolation_level=None)
    connection.execute("BEGIN")
    assert connection.execute("SELECT count(*) FROM pages").fetchone() == (300,)
    begun.set()
    ended.wait(30)
    connection.close()


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_crawl_goes_on_with_what_is_there_after_a_kill(index: Path, change: str) -> None:
    process = forking().Process(target=write_and_die, args=(index, change))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    add(index, range(400, 430))
    assert is_sound(index)
    with SQLiteIndex(index) as opened:
        assert sum(1 for _ in opened.rows()) == 30 + (
            100 if "over" in change or "place" in change else 0
        )


@pytest.mark.parametrize("change", CHANGES)
def test_who_had_it_open_leaves_what_is_there_alone(index: Path, change: str) -> None:
    opened = SQLiteIndex(index)
    detector = Detector(opened)
    assert detector.check(page(301)).kept
    CHANGES[change](index.with_name("backup.db"), index)
    assert not opened.store.is_in_place
    opened.close()
    assert is_sound(index)
    add(index, range(400, 430))


@pytest.mark.parametrize("change", CHANGES)
def test_another_process_that_reads_is_in_nobodys_way(index: Path, change: str) -> None:
    with reading(index):
        CHANGES[change](index.with_name("backup.db"), index)
        add(index, range(400, 430))
        add(index, range(430, 460))
    add(index, range(460, 490))
    assert is_sound(index)


def test_what_only_reads_changes_nothing(index: Path) -> None:
    process = forking().Process(target=write_and_die, args=(index, "copied over"))
    process.start()
    process.join(60)
    with pytest.raises(IndexUnavailable, match="was written over in use; a crawl puts it right"):
        SQLiteIndex(index, read_only=True)
    assert files.stray_log(index)


def test_what_a_killed_process_wrote_is_there(index: Path) -> None:
    process = forking().Process(target=write_and_die, args=(index, ""))
    process.start()
    process.join(60)
    assert files.stray_log(index) is None
    with SQLiteIndex(index) as opened:
        assert sum(1 for _ in opened.rows()) == 360
