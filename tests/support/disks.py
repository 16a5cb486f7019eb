"""Disks that a test may fill, break and take away."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def mount(*arguments: str | Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk of its own")
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"mounting is not permitted here: {error.stderr.strip()}")


@contextmanager
def mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    folder.mkdir()
    mount(*arguments, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler
