from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import PostgresIndex, SQLiteIndex
from dedup.index import Index
from tests.support import postgres

# What is not marked `ON_BOTH` says of a server what a file says: that both give the same is in `tests/laws`.
ON_BOTH = pytest.mark.parametrize("index", ["sqlite", "postgres"], indirect=True)
NIGHTLY = [pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture
def address() -> str:
    """Return the address of an index on a server in which there is nothing."""
    return postgres.empty()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NIGHTLY)])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    """What must give the same as these two is in `tests/laws`: an index in memory, and a linear scan."""
    is_file = request.param == "sqlite"
    made: Index = SQLiteIndex(tmp_path / "pages.db") if is_file else PostgresIndex(postgres.empty())
    with made:
        yield made
        assert made.problems() == []
