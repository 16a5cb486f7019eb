"""An index is damaged: a crawl loses no page.  What commands say of it: `tests/fuzz`."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedup import Detector, SQLiteIndex
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


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE pages SET content_simhash = 'text'",
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
