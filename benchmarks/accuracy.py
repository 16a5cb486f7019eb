"""Which of two labelled pages does the rule drop, and is that right?

    python -m benchmarks.accuracy DATA_FOLDER

DATA_FOLDER holds labelled sets: each a folder with `pairs.csv` (a, b, label, group) and the pages that
`a` and `b` name, in `html.tar.xz` or unpacked beside it.  Label 1: a crawler should keep one of the two
pages.  Label 0: it must keep both.  No label: the pair is grey, and not scored.  Nothing is known of the
sites of these pages, so every pair is judged by itself.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from benchmarks.labelled import Part, labelled_parts
from benchmarks.pool import workers
from benchmarks.tables import Row, Table
from dedup import Fingerprint, Page, compare, fingerprint

CHUNK = 40
HEADER = ("set", "pairs 1 / 0", "precision", "recall", "F1", "dropped of label 0", "dropped of grey")


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(folder: Path, *, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        parts = labelled_parts(folder, Path(scratch))
        if not parts:
            raise click.UsageError(f"no set with pairs in {folder}")
        pages = folded(
            {path for part in parts for pair in part.pairs for path in (pair.a, pair.b)}, jobs
        )
    click.echo(Table("Labelled pairs", HEADER, [row(part, pages) for part in parts]).markdown())


def folded(paths: set[Path], jobs: int) -> dict[Path, Fingerprint]:
    """Return the fingerprints of the pages at *paths*."""
    ordered = sorted(paths)
    chunks = [ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK)]
    with workers(jobs) as pool, Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("reading pages", total=len(chunks))
        found = pool.each(fold, chunks, lambda _: progress.advance(task))
    return dict(zip(ordered, (one for chunk in found for one in chunk), strict=True))


def fold(paths: Sequence[Path]) -> list[Fingerprint]:
    return [fingerprint(Page.from_html(path.read_bytes())) for path in paths]


def row(part: Part, pages: Mapping[Path, Fingerprint]) -> Row:
    """Return what the rule says of the pairs of *part*."""
    counts = Counter(
        (pair.label, compare(pages[pair.a], pages[pair.b]).is_duplicate) for pair in part.pairs
    )
    hits, misses, wrong = counts[1, True], counts[1, False], counts[0, True]
    grey = counts[None, True], counts[None, True] + counts[None, False]
    return (
        part.name,
        f"{hits + misses:,} / {wrong + counts[0, False]:,}",
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
