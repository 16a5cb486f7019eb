"""Labelled sets of pages: where they are, and what is known about their pairs."""

from __future__ import annotations

import csv
import re
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAIRS = "pairs.csv"
ARCHIVE = "html.tar.xz"
PAGES = "html"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages, by their paths in the set; *label* 1 means copies, 0 different pages, None grey.

    *jaccard* is their similarity as the makers of the set computed it, where they did.
    """

    a: str
    b: str
    label: int | None
    group: str
    jaccard: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """Pairs whose labels mean the same thing, and are scored together."""

    name: str
    set_name: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set of pages (*root* is the folder that paths start from) and its pairs."""

    name: str
    root: Path
    pairs: tuple[Pair, ...]

    def pages(self) -> list[str]:
        """Return the paths of all pages, those too that are in no pair."""
        found = (path for path in (self.root / PAGES).rglob("*") if path.is_file())
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def parts(self) -> list[Part]:
        """Return the set in parts: by group where each group has both labels, else as a whole."""
        groups: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            groups.setdefault(pair.group, []).append(pair)
        if len(groups) < 2 or not all(map(_has_both_labels, groups.values())):
            return [Part(self.name, self.name, self.pairs)]
        return [
            Part(f"{self.name}/{group}", self.name, tuple(groups[group])) for group in sorted(groups)
        ]


def labelled_sets(folder: Path, cache: Path, names: Sequence[str] = ()) -> list[LabelledSet]:
    """Return the sets in *folder* (all, or those of *names*); archives are unpacked into *cache*.

    Tables with other columns are not of pairs, and left out.
    """
    found = [path.parent for path in sorted(folder.glob(f"*/{PAIRS}")) if _is_of_pairs(path)]
    return [
        LabelledSet(path.name, unpacked(path, cache), tuple(_pairs(path / PAIRS)))
        for path in found
        if not names or path.name in names
    ]


def plain_texts(folder: Path) -> dict[str, dict[str, str]]:
    """Return the texts of each folder without a table: examples to look at, by folder and file."""
    examples = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not (path / PAIRS).exists():
            files = sorted(file for file in path.iterdir() if file.is_file())
            examples[path.name] = {file.name: file.read_text("utf-8", "replace") for file in files}
    return examples


def site(path: str) -> str:
    """Return which site of its set a page is from: the first word of its path.

    >>> site("html/python/3.9/index.html"), site("html/bbc_001_original.html"), site("html/amex-1.html")
    ('python', 'bbc', 'amex')
    """
    return re.split(r"[-_./]", path.removeprefix(f"{PAGES}/"))[0]


def _is_of_pairs(path: Path) -> bool:
    with path.open(encoding="utf-8", newline="") as file:
        return {"a", "b", "label"} <= set(next(csv.reader(file), []))


def _has_both_labels(pairs: Sequence[Pair]) -> bool:
    return {0, 1} <= {pair.label for pair in pairs}


def _pairs(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Pair(
                a=row["a"],
                b=row["b"],
                label=int(row["label"]) if row["label"] else None,
                group=row["group"],
                jaccard=float(row["jaccard"]) if row["jaccard"] else None,
            )
            for row in csv.DictReader(file)
        ]


def unpacked(folder: Path, cache: Path) -> Path:
    """Return where the pages of the set in *folder* lie; an archive is unpacked into *cache*."""
    if (folder / PAGES).is_dir():
        return folder
    archive = folder / ARCHIVE
    about = archive.stat()
    root = cache / f"{folder.name}-{about.st_size}-{about.st_mtime_ns}"
    if not root.exists():
        # Renamed when whole, so that an interrupted run leaves nothing that looks unpacked.
        partial = root.with_suffix(".partial")
        with tarfile.open(archive) as file:
            file.extractall(partial, filter="data")
        partial.rename(root)
    return root
