from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dedup import Detector, SQLiteIndex
from dedup.model.errors import IndexUnavailable
from tests.pages import edited, page, text


def tables(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as connection:
        return [*connection.execute("SELECT * FROM runs"), *connection.execute("SELECT * FROM pages")]


def test_reads_what_a_living_crawl_writes(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index) as detector:
        detector.check(page(text(1), "http://a/1"))
        with SQLiteIndex(path, read_only=True) as reader:
            assert [row.sighting.url for row in reader.rows()] == ["http://a/1"]
            detector.check(page(edited(1), "http://a/2"))
            assert [row.verdict.kept for row in reader.rows()] == [True, False]
            assert [run.ended for run in reader.runs.all()] == [None]
            assert reader.problems() == []


def test_changes_nothing_not_even_a_dead_run(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        run = index.runs.begin("spider")
        index.store.leases.release(run.id)
    before = tables(path)
    with SQLiteIndex(path, read_only=True) as reader:
        assert [run.ended for run in reader.runs.all()] == [None]
        with pytest.raises(IndexUnavailable, match="cannot be written"):
            reader.runs.begin("spider")
    assert tables(path) == before
    with SQLiteIndex(path) as index:
        assert [run.ending for run in index.runs.all()] == ["died"]


def test_a_missing_file_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    missing = tmp_path / "folder" / "none.db"
    with pytest.raises(IndexUnavailable, match="does not exist"):
        SQLiteIndex(missing, read_only=True)
    assert not missing.parent.exists()
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(IndexUnavailable, match="is empty"):
        SQLiteIndex(empty, read_only=True)


def test_a_path_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#b %41.db"
    with SQLiteIndex(path) as index:
        index.runs.begin("spider")
    with SQLiteIndex(path, read_only=True) as reader:
        assert len(reader.runs.all()) == 1
    assert path.exists()
