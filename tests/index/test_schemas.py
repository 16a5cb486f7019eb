"""An index of another schema or recipe is refused, never misread."""

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.cli import main
from dedup.index import blocks, rows
from dedup.index.blocks import BlockIndex
from dedup.model.errors import IndexMismatch, IndexUnavailable
from dedup.prints.fingerprinter import RECIPE_VERSION
from tests.support.commands import with_index
from tests.support.pages import edited, text

OLDER = RECIPE_VERSION - 1
PAGES = {"http://a/1": text(1), "http://a/2": text(2), "http://a/3": edited(1)}
REFUSAL = (
    f"was built by a release with recipe={OLDER}, this one has recipe={RECIPE_VERSION}; "
    "use that release again or another DEDUP_INDEX"
)


def run_sql(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, DedupConfig()) as detector:
        for url, content in PAGES.items():
            detector.check(Page.from_html(f"<p>{content}</p>", url=url))
    return path


@pytest.fixture
def older(path: Path) -> Path:
    run_sql(path, f"UPDATE meta SET value = '{OLDER}' WHERE name = 'recipe.recipe'")
    return path


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [rows.SCHEMA_VERSION - 1, rows.SCHEMA_VERSION + 1])
def test_another_schema_is_refused_and_left_alone(path: Path, read_only: bool, version: int) -> None:
    run_sql(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    message = f"schema version {version}, this release reads {rows.SCHEMA_VERSION}; "
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(path, read_only=read_only)
    assert path.read_bytes() == before


def test_so_is_a_set_of_simhashes(tmp_path: Path) -> None:
    path = tmp_path / "simhashes.db"
    BlockIndex(path).close()
    run_sql(path, f"PRAGMA user_version = {blocks.SCHEMA_VERSION + 1}")
    with pytest.raises(IndexUnavailable, match="upgrade scrapy-dedup, or use another DEDUP_INDEX"):
        BlockIndex(path)


@pytest.mark.parametrize("command", [["report"], ["explain", "http://a/3"], ["check"]])
def test_another_recipe_is_read_as_ever(older: Path, command: list[str]) -> None:
    found = CliRunner().invoke(main, [*command, str(older)])
    run_sql(older, f"UPDATE meta SET value = '{RECIPE_VERSION}' WHERE name = 'recipe.recipe'")
    assert (found.exit_code, found.exception) == (0, None), found.output
    if command[0] != "check":
        assert found.output == CliRunner().invoke(main, [*command, str(older)]).output


def test_no_page_is_judged_by_it(older: Path) -> None:
    before = older.read_bytes()
    with SQLiteIndex(older) as index, pytest.raises(IndexMismatch) as refused:
        Detector(index)
    assert str(refused.value) == f"{older} {REFUSAL}"
    assert older.read_bytes() == before


def test_commands_with_new_pages_say_so_in_one_sentence(older: Path, tmp_path: Path) -> None:
    (page := tmp_path / "new.html").write_text(f"<p>{text(9)}</p>")
    for command in ("add", "explain"):
        refused = CliRunner().invoke(main, with_index([command, str(page)], older))
        assert (refused.exit_code, refused.output) == (1, f"Error: {older} {REFUSAL}\n")
    with SQLiteIndex(older) as index:
        assert len(list(index.rows())) == len(PAGES)
