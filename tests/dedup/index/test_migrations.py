"""An index of an older schema is brought up or refused, never misread."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from dedup import Detector, Reason, SQLiteIndex
from dedup.algorithms import blocks
from dedup.algorithms.blocks import BlockIndex
from dedup.index import schema
from dedup.index.database import Step
from dedup.index.stores import sqlite
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


def test_an_older_file_gets_the_tables_of_a_new_one(tmp_path: Path) -> None:
    for kind, write, opened in (
        ("index", write_index, SQLiteIndex),
        ("blocks", write_blocks, BlockIndex),
    ):
        write(tmp_path / f"{kind}-new.db")
        for older in stored(kind):
            copied = Path(shutil.copy(older, tmp_path))
            opened(copied).close()
            assert tables_of(copied) == tables_of(tmp_path / f"{kind}-new.db"), older.name


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


def migrated(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> None:
    """Let this release have the next schema, and *steps* lead to it."""
    for module, used_in in ((schema, sqlite), (blocks, blocks)):
        version = module.SCHEMA_VERSION
        monkeypatch.setattr(used_in, "MIGRATIONS", {**module.MIGRATIONS, version: steps})
        monkeypatch.setattr(used_in, "SCHEMA_VERSION", version + 1)


def test_an_older_schema_is_migrated_in_one_transaction(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''"

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE runs SET note = note || 'moved'")

    migrated(monkeypatch, column, fill)
    for _ in range(2):
        with SQLiteIndex(old) as index:
            assert len(list(index.rows())) == 4
            assert index.store._connection.execute("SELECT note FROM runs").fetchone() == ("moved",)


def test_so_is_an_older_set_of_simhashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Path(shutil.copy(stored("blocks")[-1], tmp_path))
    migrated(monkeypatch, "UPDATE meta SET value = '5' WHERE name = 'blocks'")
    with BlockIndex(old) as index:
        assert (index.blocks, len(index)) == (5, len(SIMHASHES))


@pytest.mark.parametrize("read_only", [False, True])
def test_an_older_schema_that_no_migration_leads_from_is_refused_and_left_alone(
    old: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    migrated(monkeypatch, "CREATE TABLE toy (x)")
    monkeypatch.setattr(sqlite, "MIGRATIONS", {})
    before = old.read_bytes()
    message = r"schema version 1, which this release cannot bring up to 2; it was left as it is"
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(old, read_only=read_only)
    assert old.read_bytes() == before


def test_a_newer_schema_is_refused_and_left_alone(old: Path) -> None:
    with sqlite3.connect(old) as connection:
        connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    before = old.read_bytes()
    with pytest.raises(IndexUnavailable, match="schema version 2, this release knows up to 1; upgrade"):
        SQLiteIndex(old)
    assert old.read_bytes() == before


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SQLiteIndex(old).close()
    before = old.read_bytes()
    migrated(monkeypatch, "CREATE TABLE half (x)", "THIS IS NO STATEMENT")
    with pytest.raises(IndexUnavailable, match="syntax error"):
        SQLiteIndex(old)
    assert old.read_bytes() == before
    with sqlite3.connect(old) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()
    connection.close()
