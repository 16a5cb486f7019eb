from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import PostgresIndex, SQLiteIndex
from dedup.index import Index
from tests import postgres
from tests.dedup.index.scan_store import ScanIndex
from tests.looking import watched_rules  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def nobody_acts_by_an_old_look(watched_rules: None) -> None:  # noqa: F811
    """Watch all tests of indexes."""


@pytest.fixture(params=["scan", "sqlite", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    made: Index
    if request.param == "postgres":
        made = PostgresIndex(postgres.empty())
    else:
        made = ScanIndex() if request.param == "scan" else SQLiteIndex(tmp_path / "pages.db")
    with made:
        yield made
        assert made.problems() == []
