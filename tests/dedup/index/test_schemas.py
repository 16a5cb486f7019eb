"""An index of another schema is refused, never misread."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from dedup import Detector, Reason, SQLiteIndex
from dedup.algorithms import blocks
from dedup.algorithms.blocks import BlockIndex
from dedup.index import schema
from dedup.recipes.fingerprinter import RECIPE_VERSION
from dedup.values.errors import IndexMismatch, IndexUnavailable
from tests.pages import page, text
from tests.stored import SIMHASHES, name_of, stored, write_blocks, write_index

STORED = stored("index")


@pytest.fixture(params=STORED, ids=lambda path: path.stem)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copy(request.param, tmp_path / "pages.db"))


def test_every_schema_has_a_stored_file() -> None:
    for kind, newest in (("index", schema.SCHEMA_VERSION), ("blocks", blocks.SCHEMA_VERSION)):
        names = [name_of(kind, version) for version in range(1, newest + 1)]
        assert [path.name for path in stored(kind)] == names


def tables_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of all tables and indexes, and the condition of each index."""
    with sqlite3.connect(path) as connection:
        found = {}
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master").fetchall():
            columns = connection.execute(
                f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{name}') "
                f"UNION ALL SELECT name, seqno, 0, 0, 0 FROM pragma_index_info('{name}')"
            )
            found[name] = sorted(columns.fetchall(), key=str)
            if " WHERE " in (sql or ""):
                found[name].append((sql.partition(" WHERE ")[2],))
    connection.close()
    return found


def test_a_stored_file_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    for kind, write, opened in (
        ("index", write_index, SQLiteIndex),
        ("blocks", write_blocks, BlockIndex),
    ):
        write(tmp_path / f"{kind}-new.db")
        copied = Path(shutil.copy(stored(kind)[-1], tmp_path))
        opened(copied).close()
        assert tables_of(copied) == tables_of(tmp_path / f"{kind}-new.db")


@pytest.mark.parametrize("path", stored("blocks"), ids=lambda path: path.stem)
def test_a_stored_set_of_simhashes_still_has_them(path: Path, tmp_path: Path) -> None:
    with BlockIndex(shutil.copy(path, tmp_path)) as index:
        assert (sorted(index.find(2, 1)), len(index)) == ([0, 2, 3], len(SIMHASHES))
        assert index.problems() == []
        assert (index.add(2), index.add(5), index.remove(1)) == (False, True, True)


def test_a_stored_index_still_knows_its_pages(old: Path) -> None:
    with SQLiteIndex(old) as index:
        assert index.problems() == []
        assert [row.verdict.reason for row in index.rows()] == [Reason.NEW] * 3 + [
            Reason.EXACT_DUPLICATE
        ]
        assert index.row(4).verdict.canonical == 1
        assert [word for word in index.recipe() if word.startswith("jieba")]


def test_a_stored_index_goes_on_or_is_refused_for_its_recipe_and_left_alone(old: Path) -> None:
    with SQLiteIndex(old) as index:
        stored = dict(index.recipe())
        if stored["recipe"] == str(RECIPE_VERSION):
            with Detector(index, spider="old") as detector:
                assert detector.check(page(text(2), "http://a/2")).reason is Reason.UNCHANGED
                copy = detector.check(page(text(3), "http://b/"))
                assert (copy.reason, copy.canonical_url) == (Reason.EXACT_DUPLICATE, "http://a/3")
            return
        message = rf"recipe={stored['recipe']}, this one has recipe={RECIPE_VERSION}; use that release"
        with pytest.raises(IndexMismatch, match=message):
            Detector(index, spider="old")
        assert index.recipe() == stored
        assert len(list(index.rows())) == 4


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [schema.SCHEMA_VERSION - 1, schema.SCHEMA_VERSION + 1])
def test_another_schema_is_refused_and_left_alone(old: Path, read_only: bool, version: int) -> None:
    has_version(old, version)
    before = old.read_bytes()
    message = f"schema version {version}, this release reads {schema.SCHEMA_VERSION}; "
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(old, read_only=read_only)
    assert old.read_bytes() == before


def test_so_is_a_set_of_simhashes(tmp_path: Path) -> None:
    old = Path(shutil.copy(stored("blocks")[-1], tmp_path))
    has_version(old, blocks.SCHEMA_VERSION + 1)
    with pytest.raises(IndexUnavailable, match="upgrade scrapy-dedup, or use another DEDUP_INDEX"):
        BlockIndex(old)


def has_version(path: Path, version: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
