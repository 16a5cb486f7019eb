from __future__ import annotations

from pathlib import Path

import pytest

from dedup.index.address import scheme_of
from dedup.index.index import open_index
from dedup.model.errors import ConfigError, IndexUnavailable
from dedup.settings import DedupSettings


@pytest.mark.parametrize("place", ["mysql://me:secret@host/db", "redis://host/0", "HTTP://host/x"])
def test_the_address_of_a_server_is_no_file_of_that_name(place: str, tmp_path: Path) -> None:
    for given in (place, Path(place)):
        with pytest.raises(ConfigError) as refused:
            open_index(given)
        assert "secret" not in str(refused.value)
    with pytest.raises(ConfigError) as setting:
        DedupSettings(index=place)
    assert "secret" not in str(setting.value)


@pytest.mark.parametrize("place", ["pages.db", "C:/crawls/pages.db", "C:\\pages.db", "a:b.db", "./x:/y"])
def test_paths_are_no_addresses(place: str) -> None:
    assert scheme_of(place) == ""


def test_a_path_is_opened_and_must_exist_where_that_is_asked(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable):
        open_index(tmp_path / "none.db", create=False)
    with open_index(tmp_path / "pages.db") as index:
        assert index.runs.all() == []
    with open_index(tmp_path / "pages.db", read_only=True) as index:
        assert index.name == str(tmp_path / "pages.db")
