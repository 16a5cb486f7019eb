"""Labelled sets of pages: where they are, and what is known about their pairs."""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAIRS, ARCHIVE, PAGES = "pairs.csv", "html.tar.xz", "html"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages on disk; *label* 1 means copies, 0 different pages, None grey."""

    a: Path
    b: Path
    label: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """Pairs of a set, or of one group of it, whose labels mean the same thing."""

    name: str
    pairs: tuple[Pair, ...]


def labelled_parts(folder: Path, scratch: Path) -> list[Part]:
    """Return the parts of all sets in *folder*, whose archives are unpacked into *scratch*.

    A set has a part for each group if each has both labels.  Tables with other columns are left out.
    """
    parts: list[Part] = []
    for path in sorted(folder.glob(f"*/{PAIRS}")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if rows and {"a", "b", "label"} <= rows[0].keys():
            parts += _parts(path.parent.name, rows, unpacked(path.parent, scratch))
    return parts


def _parts(name: str, rows: Sequence[dict[str, str]], root: Path) -> list[Part]:
    groups: dict[str, list[Pair]] = {}
    for row in rows:
        label = int(row["label"]) if row["label"] else None
        groups.setdefault(row.get("group", ""), []).append(Pair(root / row["a"], root / row["b"], label))
    if len(groups) < 2 or not all({0, 1} <= {pair.label for pair in pairs} for pairs in groups.values()):
        return [Part(name, tuple(pair for pairs in groups.values() for pair in pairs))]
    return [Part(f"{name}/{group}", tuple(groups[group])) for group in sorted(groups)]


def unpacked(folder: Path, scratch: Path) -> Path:
    """Return where the pages of the set in *folder* lie; an archive is unpacked into *scratch*."""
    if (folder / PAGES).is_dir():
        return folder
    with tarfile.open(folder / ARCHIVE) as file:
        file.extractall(scratch / folder.name, filter="data")
    return scratch / folder.name
