"""Disks that a test may fill, break and take away."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.index.test_durability import mount

MEGABYTE = 1 << 20


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


@pytest.fixture
def breakable_disk(tmp_path: Path) -> Iterator[Path]:
    """An ext4 file system of 32 MB in a file, which becomes read-only when it finds an error."""
    image = tmp_path / "image"
    image.write_bytes(bytes(32 * MEGABYTE))
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no ext4 can be made here")
    with mounted(tmp_path / "disk", "-o", "loop,errors=remount-ro", image) as folder:
        yield folder
