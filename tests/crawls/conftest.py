"""Disks that a test may fill, break and take away."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.index.test_durability import mount


@contextmanager
def mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    folder.mkdir()
    mount(*arguments, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MB."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=16m", "tmpfs") as folder:
        yield folder
