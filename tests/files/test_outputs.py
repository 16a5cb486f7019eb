"""Outputs take the place of what they replace, whole, and of nothing else."""

from pathlib import Path

import pytest

from dedup.files.outputs import replacing
from dedup.index.sqlite_file import SQLITE_MAGIC
from dedup.model.errors import DedupError


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(KeyError), replacing(path) as part:
        part.write_text("half")
        raise KeyError
    assert [file.read_text() for file in tmp_path.iterdir()] == ["new"]


def test_a_file_has_the_usual_rights(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as part:
        part.touch()
    (tmp_path / "plain").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_database_that_was_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(DedupError, match="database"), replacing(path) as part:
        part.write_text("ours")
        path.write_bytes(SQLITE_MAGIC)
    assert path.read_bytes() == SQLITE_MAGIC
