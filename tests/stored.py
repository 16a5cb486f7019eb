"""The stored files of `tests/fixtures`: one for each schema, and each format of exports, of any release.

    python -m tests.stored

writes those of the schema that the code has now.  It is run once, by whoever raises `SCHEMA_VERSION`.
Files of earlier schemas, and `export-version-1.jsonl`, were written by the code of their time and are
never made anew.
"""

from __future__ import annotations

from pathlib import Path

from dedup import Detector, SQLiteIndex
from dedup.algorithms import blocks
from dedup.algorithms.blocks import BlockIndex
from dedup.index import schema
from tests.pages import page, text

FIXTURES = Path(__file__).parent / "fixtures"
SIMHASHES = (0, 1, 2, 3, 0xFF << 56, 2**64 - 1)


def write_index(path: Path) -> None:
    """Write pages 1 to 3 of `tests.pages`, and a copy of the first, in one run of the spider "old"."""
    with SQLiteIndex(path) as index, Detector(index, spider="old") as detector:
        for number, content in enumerate((1, 2, 3, 1), 1):
            detector.check(page(text(content), f"http://a/{number}"))


def write_blocks(path: Path) -> None:
    """Write `SIMHASHES` into a file of a `BlockIndex`."""
    with BlockIndex(path, blocks=4) as index:
        for simhash in SIMHASHES:
            index.add(simhash)


def stored(kind: str) -> list[Path]:
    """Return the stored files of a kind, "index" or "blocks", the oldest schema first."""
    return sorted(FIXTURES.glob(f"{kind}-schema-*.db"))


def name_of(kind: str, version: int) -> str:
    """Return the name of the stored file of a schema."""
    return f"{kind}-schema-{version}.db"


if __name__ == "__main__":
    for kind, version, write in (
        ("index", schema.SCHEMA_VERSION, write_index),
        ("blocks", blocks.SCHEMA_VERSION, write_blocks),
    ):
        target = FIXTURES / name_of(kind, version)
        if target.exists():
            print(f"{target.name} is there already and stays as it is")
        else:
            write(target)
            print(f"{target.name} written")
