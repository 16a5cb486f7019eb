"""Which of two labelled pages does the rule drop, and is that right?

    python -m benchmarks.accuracy DATA_FOLDER

DATA_FOLDER holds labelled sets: each a folder with `pairs.csv` (a, b, label, group) and the pages that
`a` and `b` name, in `html.tar.xz` or unpacked beside it.  Label 1: a crawler should keep one of the two
pages.  Label 0: it must keep both.  No label: the pair is grey, and not scored.  Nothing is known of the
sites of these pages, so every pair is judged by itself.
"""

from __future__ import annotations

import csv
import os
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from benchmarks.pool import each
from benchmarks.tables import Row, Table
from dedup import Fingerprint, Page, compare, fingerprint

HEADER = ("set", "pairs 1 / 0", "precision", "recall", "F1", "dropped of label 0", "dropped of grey")

# Two pages on disk, and "1", "0" or "".
Pair = tuple[Path, Path, str]


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(folder: Path, *, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        parts = dict(labelled(folder, Path(scratch)))
        if not parts:
            raise click.UsageError(f"no set with pairs in {folder}")
        paths = sorted({path for pairs in parts.values() for a, b, _ in pairs for path in (a, b)})
        prints = dict(zip(paths, each(fold, paths, jobs, "reading pages"), strict=True))
    rows = [row(name, pairs, prints) for name, pairs in parts.items()]
    click.echo(Table("Labelled pairs", HEADER, rows).markdown())


def labelled(folder: Path, scratch: Path) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the pairs of each set in *folder*, or of each group of a set whose groups have both labels.

    Archives are unpacked into *scratch*.  Tables with other columns are left out.
    """
    for path in sorted(folder.glob("*/pairs.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows or not {"a", "b", "label"} <= rows[0].keys():
            continue
        name, root = path.parent.name, path.parent
        if not (root / "html").is_dir():
            with tarfile.open(root / "html.tar.xz") as archive:
                archive.extractall(root := scratch / name, filter="data")
        groups: dict[str, list[Pair]] = {}
        for one in rows:
            pair = root / one["a"], root / one["b"], one["label"]
            groups.setdefault(one.get("group", ""), []).append(pair)
        if len(groups) > 1 and all(
            {"0", "1"} <= {pair[2] for pair in pairs} for pairs in groups.values()
        ):
            yield from ((f"{name}/{group}", groups[group]) for group in sorted(groups))
        else:
            yield name, [pair for pairs in groups.values() for pair in pairs]


def fold(path: Path) -> Fingerprint:
    return fingerprint(Page.from_html(path.read_bytes()))


def row(name: str, pairs: Sequence[Pair], prints: Mapping[Path, Fingerprint]) -> Row:
    """Return what the rule says of *pairs*."""
    counts = Counter((label, compare(prints[a], prints[b]).is_duplicate) for a, b, label in pairs)
    hits, misses, wrong = counts["1", True], counts["1", False], counts["0", True]
    grey = counts["", True], counts["", True] + counts["", False]
    return (
        name,
        f"{hits + misses:,} / {wrong + counts['0', False]:,}",
        _share(hits, hits + wrong),
        _share(hits, hits + misses),
        _share(2 * hits, 2 * hits + wrong + misses),
        wrong,
        f"{grey[0]} of {grey[1]}" if grey[1] else "",
    )


def _share(count: int, of: int) -> str:
    return f"{count / of:.3f}" if of else ""


if __name__ == "__main__":
    main()
