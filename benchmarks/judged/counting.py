"""What readers have said of pairs of pages, and what is counted of the drops of a rule."""

from __future__ import annotations

import csv
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SET = "judged_sites"
# Of dropped pages: right, arguable, wrong.  Of kept ones: a missed duplicate, arguable, different pages.
LABELS = "ABCMPN"
# A reader called a drop arguable, and not wrong, where less than some 15 words were lost with it.
MOST_LOST = 15


class Label(NamedTuple):
    """What a reader said of *page*, and of *other*, which it was or was not dropped for (see `LABELS`)."""

    site: str
    label: str
    page: str
    other: str


class Drop(NamedTuple):
    """A page that was dropped, and the one that it was dropped for ("": unknown).

    If *is_near*, no page that is kept has the same bytes or the same tokens, and *lost* are the words
    that stand on no page kept at the end, as many as *words*.
    """

    page: str
    other: str
    is_near: bool
    words: int
    lost: str


@dataclass(frozen=True, slots=True)
class Figures:
    """What a rule did to one site or several: *dropped* of the pages of each label, of as many as *of*.

    *words* are lost with the *near* ones of the *drops*; *heavy* of these lose more than `MOST_LOST`.
    """

    dropped: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    drops: int = 0
    near: int = 0
    words: int = 0
    heavy: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.dropped + other.dropped,
            self.of + other.of,
            self.drops + other.drops,
            self.near + other.near,
            self.words + other.words,
            self.heavy + other.heavy,
        )


def figures(drops: Sequence[Drop], labels: Sequence[Label]) -> Figures:
    """Return the figures of a site, of which *labels* are all labels.

    In another order the page of a label may be kept, and the other one dropped for it.
    """
    gone, near = {drop.page: drop.other for drop in drops}, [drop for drop in drops if drop.is_near]
    return Figures(
        Counter(one.label for one in labels if one.page in gone or gone.get(one.other) == one.page),
        Counter(one.label for one in labels),
        len(drops),
        len(near),
        sum(drop.words for drop in near),
        sum(drop.words > MOST_LOST for drop in near),
    )


def labels_in(data: Path) -> list[Label]:
    """Return all labels in the folder *data*."""
    with (data / SET / "pairs.csv").open(encoding="utf-8", newline="") as file:
        return [Label(*(row[name] for name in Label._fields)) for row in csv.DictReader(file)]


def unpacked_sites(data: Path, scratch: Path) -> list[Path]:
    """Unpack the sites in the folder *data* into *scratch*; return the folder of each, the largest first."""
    with tarfile.open(data / SET / "html.tar.xz") as file:
        file.extractall(scratch, filter="data")
    sites = sorted(path for path in scratch.iterdir() if path.is_dir())
    return sorted(sites, key=lambda folder: -sum(1 for _ in folder.rglob("*")))
