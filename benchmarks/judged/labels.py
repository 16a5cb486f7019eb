"""The pairs of pages that somebody has read: where they are, and what was said of them."""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SET = "judged_sites"
PAIRS = "pairs.csv"
ARCHIVE = "html.tar.xz"

# Of dropped pages: right, arguable, wrong.  Of kept ones: a missed duplicate, arguable, different pages.
LABELS = ("A", "B", "C", "M", "P", "N")
RIGHT, ARGUABLE, WRONG = LABELS[:3]
OF_DROPS = frozenset(LABELS[:3])


@dataclass(frozen=True, slots=True)
class Label:
    """What a reader said of *page*, and of *other*, which it was or was not dropped for (see `LABELS`)."""

    site: str
    label: str
    page: str
    other: str


def labels_in(folder: Path) -> list[Label]:
    """Return all labels of the set in *folder*."""
    with (folder / PAIRS).open(encoding="utf-8", newline="") as file:
        return [
            Label(site=row["site"], label=row["label"], page=row["page"], other=row["other"])
            for row in csv.DictReader(file)
        ]


def of_site(labels: Sequence[Label], site: str) -> list[Label]:
    """Return those of *labels* that are about pages of *site*."""
    return [label for label in labels if label.site == site]


def unpacked_sites(folder: Path, scratch: Path) -> list[Path]:
    """Unpack the sites of the set in *folder* into *scratch*; return the folder of each."""
    with tarfile.open(folder / ARCHIVE) as file:
        file.extractall(scratch, filter="data")
    return sorted(path for path in scratch.iterdir() if path.is_dir())
