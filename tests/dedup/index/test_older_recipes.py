"""An index that an older release made with another recipe is read as ever, and gets no new pages."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import DedupConfig, Detector, Page, Reason, SQLiteIndex
from dedup.cli import main
from dedup.recipes.fingerprinter import RECIPE_VERSION
from dedup.values.errors import IndexMismatch
from tests.crawling import scrapy
from tests.fuzz.commands import with_index
from tests.pages import edited, text

OLDER = RECIPE_VERSION - 1
PAGES = {"http://a/1": text(1), "http://a/2": text(2), "http://a/3": edited(1)}
REFUSAL = (
    f"was built by a release with recipe={OLDER}, this one has recipe={RECIPE_VERSION}; "
    "use that release again or another DEDUP_INDEX"
)


def set_recipe(path: Path, version: int) -> None:
    with sqlite3.connect(path) as connection:
        changed = connection.execute(
            "UPDATE meta SET value = ? WHERE name = 'recipe.recipe'", (str(version),)
        )
        assert changed.rowcount == 1
    connection.close()


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "older.db"
    with SQLiteIndex(path) as index, Detector(index, DedupConfig(store_pages=True)) as detector:
        for url, content in PAGES.items():
            detector.check(Page.from_html(f"<p>{content}</p>", url=url))
    set_recipe(path, OLDER)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


READING = [
    ["report"],
    ["report", "--json"],
    ["report", "--format", "html", "--output", "report.html"],
    ["report", "--what-if", "DEDUP_RECIPE=min_similarity=0.9"],
    ["explain", "http://a/3"],
    ["restore", "--list", "orphans"],
    ["check"],
    ["check", "--rebuild"],
    ["forget", "http://a/2"],
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_it_is_read_as_one_of_today(older: Path, command: list[str]) -> None:
    index = [older]
    found = run(*command, *index)
    set_recipe(older, RECIPE_VERSION)
    assert (found.exit_code, found.exception) == (0, None), found.output
    if command[0] in ("report", "explain", "restore"):
        told = found.output.replace(f'"recipe": "{OLDER}"', f'"recipe": "{RECIPE_VERSION}"')
        assert told == run(*command, *index).output


def test_its_rows_and_verdicts_are_those_that_were_stored(older: Path) -> None:
    with SQLiteIndex(older) as index:
        assert [row.sighting.url for row in index.rows()] == list(PAGES)
        assert [row.verdict.reason for row in index.rows()] == [
            Reason.NEW,
            Reason.NEW,
            Reason.NEAR_DUPLICATE,
        ]
        assert index.recipe()["recipe"] == str(OLDER)


def test_no_page_is_judged_by_it(older: Path) -> None:
    before = older.read_bytes()
    with SQLiteIndex(older) as index:
        with pytest.raises(IndexMismatch) as refused:
            Detector(index)
        assert str(refused.value) == f"{older} {REFUSAL}"
        assert len(list(index.rows())) == len(PAGES)
    assert older.read_bytes() == before


@pytest.mark.parametrize("command", ["add", "explain"])
def test_a_command_with_new_pages_says_so_in_one_sentence(
    older: Path, tmp_path: Path, command: str
) -> None:
    page = tmp_path / "new.html"
    page.write_text(f"<p>{text(9)}</p>")
    before = older.read_bytes()
    refused = run(*with_index([command, str(page)], older))
    assert refused.exit_code == 1
    assert refused.output == f"Error: {older} {REFUSAL}\n"
    assert older.read_bytes() == before


def test_a_crawl_does_not_begin(older: Path) -> None:
    with SQLiteIndex(older) as index:
        runs = index.runs()
    refused = scrapy("example", "-s", f"DEDUP_INDEX={older}")
    assert REFUSAL in refused.stdout + refused.stderr
    with SQLiteIndex(older) as index:
        assert (index.runs(), len(list(index.rows()))) == (runs, len(PAGES))
