from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import MemoryIndex, SQLiteIndex
from dedup.index import Index, PostgresIndex
from tests import postgres


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    made: Index
    if request.param == "postgres":
        made = PostgresIndex(postgres.empty())
    else:
        made = MemoryIndex() if request.param == "memory" else SQLiteIndex(tmp_path / "pages.db")
    with made:
        yield made
        assert made.problems() == []
