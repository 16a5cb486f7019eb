"""Outputs take the place of what they replace, whole, and of nothing else."""

from __future__ import annotations

import os
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


def test_a_folder_appears_when_it_is_whole_and_is_a_new_one_with_the_usual_rights(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "out"
    with replacing(folder, is_folder=True) as part:
        (part / "inner").mkdir(parents=True)
        assert not folder.exists()
    assert [file.name for file in folder.rglob("*")] == ["inner"]
    with pytest.raises(DedupError, match="is there already"), replacing(folder, is_folder=True):
        pass
    with replacing(tmp_path / "file") as part:
        part.touch()
    (tmp_path / "plain").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert folder.stat().st_mode == (folder / "inner").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no devices among its files")
def test_a_device_is_written_to_as_it_is() -> None:
    with replacing(Path("/dev/null")) as part:
        assert part == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["none/out", "o" * 300, os.devnull + "/out"])
def test_what_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    for is_folder in (False, True):
        target = replacing(tmp_path / name, is_folder=is_folder)
        with pytest.raises(DedupError, match="cannot be written: "), target as part:
            part.mkdir()


@pytest.mark.parametrize("name", ["pages.db", "link", "pages.db-wal", f"pages.db-run-{'0' * 32}"])
def test_a_database_is_never_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / "pages.db").write_bytes(SQLITE_MAGIC)
    (tmp_path / "link").symlink_to("pages.db")
    with pytest.raises(DedupError, match="database"), replacing(tmp_path / name):
        pass
    assert (tmp_path / "pages.db").read_bytes() == SQLITE_MAGIC
    with pytest.raises(DedupError, match="database"), replacing(tmp_path / "out") as part:
        part.write_text("ours")
        (tmp_path / "out").write_bytes(SQLITE_MAGIC)  # it was made meanwhile
    assert (tmp_path / "out").read_bytes() == SQLITE_MAGIC
