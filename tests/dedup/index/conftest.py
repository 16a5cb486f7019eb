from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import SQLiteIndex
from dedup.index import Index, PostgresIndex
from tests import postgres
from tests.dedup.index.scan_store import ScanIndex


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
