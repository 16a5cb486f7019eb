from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import MemoryIndex, SQLiteIndex
from dedup.index import Index


@pytest.fixture(params=["memory", "sqlite"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    made: Index = MemoryIndex() if request.param == "memory" else SQLiteIndex(tmp_path / "pages.db")
    with made:
        yield made
        assert made.problems() == []
