"""Bits flip in the file: `dedup check` finds it, `dedup rebuild` repairs the lists, no page is lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from dedup import Detector, SQLiteIndex, Verdict
from dedup.cli import main
from dedup.model.errors import IndexUnavailable
from tests.crawling import crawl
from tests.pages import edited, page, text
from tests.plugin.test_processes import ITEMS, item, listed

pytestmark = pytest.mark.slow

PAGES = 60


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of some pages and of copies of every third of them."""
    path = tmp_path_factory.mktemp("sound") / "pages.db"
    with SQLiteIndex(path) as index:
        with Detector(index, spider="items") as detector:
            for number in range(PAGES):
                detector.check(page(text(number), f"http://a/{number}", template=number), kind="item")
            for number in range(0, PAGES, 3):
                detector.check(page(edited(number), f"http://b/{number}", template=number), kind="item")
    return path


@pytest.fixture
def index(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "pages.db"))


def put_into_blocks(path: Path) -> None:
    """Empty the tails of the posting lists of an index, in which all of its few pages are."""
    with SQLiteIndex(path) as index:
        index.store.rebuild()


def execute(path: Path, statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def verdicts(path: Path) -> list[Verdict]:
    with SQLiteIndex(path) as index:
        detector = Detector(index, spider="items")
        asked = [page(edited(n, 2), f"http://c/{n}", template=n) for n in range(PAGES)]
        return [detector.judge(one, kind="item") for one in asked]


def dedup(command: str, path: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [command, *options, str(path)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def damaged_lists(path: Path, times: int) -> Iterator[tuple[int, object]]:
    """Yield chunks of posting lists, one after the other, with something else in their place."""
    rng = Random(1)
    chunks = execute(path, "SELECT id, entries FROM postings")
    for damage in range(times):
        chunk, entries = rng.choice(chunks)
        bit = rng.randrange(8 * len(entries))
        flipped = (int.from_bytes(entries, "little") ^ 1 << bit).to_bytes(len(entries), "little")
        yield chunk, (flipped, entries[:-1], entries + entries, b"", "text", 7)[damage % 6]


def check_damage(index: Path, chunk: int, entries: object, before: list[Verdict]) -> None:
    execute(index, "UPDATE postings SET entries = ? WHERE id = ?", entries, chunk)
    code, output = dedup("check", index)
    assert code == 1, entries
    assert "list of scope 1, block" in output
    assert dedup("check", index, "--rebuild")[0] == 0
    assert dedup("check", index)[0] == 0
    assert verdicts(index) == before


def test_every_damage_to_a_list_is_found_and_repaired(index: Path) -> None:
    put_into_blocks(index)
    before = verdicts(index)
    for chunk, entries in damaged_lists(index, 30):
        check_damage(index, chunk, entries, before)


def test_every_damage_to_the_tail_of_a_list_is_found_and_repaired(sound: Path, index: Path) -> None:
    before = verdicts(index)
    for chunk, entries in damaged_lists(sound, 12):
        shutil.copy(sound, index)
        check_damage(index, chunk, entries, before)


@pytest.mark.parametrize(
    "change",
    [
        "content_simhash = 'five'",
        "structure_simhash = 1.5",
        "sketch = x'0102'",
        "body_digest = 7",
        "token_digest = x'0102'",
        "reason = 'nEw'",
        "outcome = 'confirmee'",
        "similarity = 'alike'",
        "content_distance = 'far'",
        "url = x'00ff'",
        "listed = 5",
        "canonical = 4711",
        "scope = 9",
        "run = 9",
    ],
)
def test_a_damaged_row_is_found_and_is_one_clear_error(index: Path, change: str) -> None:
    execute(index, f"UPDATE pages SET {change} WHERE id % 2 = 0")
    assert dedup("check", index)[0] == 1
    with SQLiteIndex(index) as opened, Detector(opened, spider="items") as detector:
        for number in range(PAGES):
            with suppress(IndexUnavailable):  # and nothing else
                detector.check(page(text(number), f"http://d/{number}", template=number), kind="item")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE postings SET entries = 'text'",
        "UPDATE pages SET sketch = x'0102', outcome = 'confirmee'",
    ],
)
def test_a_crawl_with_a_damaged_index_keeps_every_page(index: Path, tmp_path: Path, damage: str) -> None:
    execute(index, damage)
    again = [item(number, edited(number)) for number in range(5)]
    done = crawl(tmp_path, ITEMS, {}, listed(*again))
    assert len(done.items) == 5
    assert done.dedup()["index_errors"] == done.dedup()["not_judged"] == 5
    assert "the file is damaged" in done.log
    assert "Traceback" not in done.log
