"""Bits flip in a list: `dedup check` finds it and repairs it, and a crawl loses no page.  Rows: `tests/fuzz`."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from dedup import Detector, SQLiteIndex, Verdict
from dedup.cli import main
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


@pytest.mark.parametrize("is_in_blocks", [True, False], ids=["blocks", "tails"])
def test_every_damage_to_a_list_is_found_and_repaired(
    sound: Path, index: Path, is_in_blocks: bool
) -> None:
    if is_in_blocks:  # else its few pages are all in the tails
        with SQLiteIndex(index) as opened:
            opened.store.rebuild()
    before, content = verdicts(index), index.read_bytes()
    for chunk, entries in damaged_lists(index, 12):
        index.write_bytes(content)
        execute(index, "UPDATE postings SET entries = ? WHERE id = ?", entries, chunk)
        code, output = dedup("check", index)
        assert code == 1, entries
        assert "list of scope 1, block" in output
        assert dedup("check", index, "--rebuild")[0] == 0
        assert dedup("check", index)[0] == 0
        assert verdicts(index) == before


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
