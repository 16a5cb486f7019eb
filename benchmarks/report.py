"""The HTML report of a large index: seconds, memory, and the size of the file.

    python -m benchmarks.report                   # one million synthetic rows
    python -m benchmarks.report --rows 100000 --output report.html

A third of the rows are copies, in clusters of 2 to some thousands, on a thousand sites, in ten runs.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from dedup import DedupConfig, SQLiteIndex
from dedup.index.tables import INSERT
from dedup.sketch import BINS
from dedup.words import signed

SEED = 6
SITES = 1000
RUNS = 10
TEMPLATES = 3000
CHUNK = 50_000
# What the child runs: the command, then its highest use of memory in kilobytes.
CHILD = (
    "import re, sys; from dedup.cli import main; main(sys.argv[1:], standalone_mode=False); "
    "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
)


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the index.")
@click.option("--index", type=click.Path(path_type=Path), help="Keep the index here, or use it again.")
@click.option("--output", type=click.Path(path_type=Path), help="Keep the report here.")
def main(rows: int, index: Path | None, output: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        index = index or Path(scratch) / "pages.db"
        output = output or Path(scratch) / "report.html"
        if not index.exists():
            begin = time.perf_counter()
            fill(index, rows)
            click.echo(f"{rows:,} rows made in {time.perf_counter() - begin:.0f} s")
        command = [sys.executable, "-c", CHILD, "report", str(index), "--format", "html"]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--output", str(output)], check=True, capture_output=True, text=True
        )
        taken = time.perf_counter() - begin
        memory = int(done.stdout.split()[-1]) / 1024
        size = output.stat().st_size / 1e6
        click.echo(
            f"report of {rows:,} rows: {taken:.1f} s, {memory:.0f} MB of memory, {size:.1f} MB file"
        )


def fill(path: Path, rows: int) -> None:
    """Write an index of synthetic rows straight into its tables, then make its posting lists."""
    with SQLiteIndex(path) as index:
        index.prepare(DedupConfig())
        for number in range(RUNS):
            index.end_run(index.begin_run(f"spider{number}"), "finished")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO scopes VALUES (1, 'page', '')")
        connection.executemany(INSERT, synthetic(rows))
    connection.close()
    with SQLiteIndex(path) as index:
        index.rebuild()


def synthetic(rows: int) -> Iterator[tuple[Any, ...]]:
    """Yield what `INSERT` takes for each row; a copy's sketch differs from its canonical's in a few bins."""
    rng = np.random.default_rng(SEED)
    templates = rng.integers(1, 2**63, TEMPLATES, np.int64)
    sketches: dict[int, bytes] = {}
    for start in range(1, rows + 1, CHUNK):
        count = min(CHUNK, rows + 1 - start)
        words = rng.integers(1, 2**64, count, np.uint64).tolist()
        bins = rng.integers(1, 256, (count, BINS), np.uint8)
        is_copy = rng.random(count) < 1 / 3
        # Few pages have very many copies, most have one or two.
        canonicals = (start * rng.random(count) ** 6).astype(int) // 4 * 4 + 1
        for place in range(count):
            number = start + place
            copy = bool(is_copy[place]) and number % 4 != 1 and number > 8
            canonical = int(canonicals[place]) if copy else None
            if copy:
                assert canonical is not None
                sketch = bytearray(sketches.setdefault(canonical, bins[place].tobytes()))
                changed = int(rng.integers(0, 80))
                sketch[:changed] = bins[place, :changed].tobytes()
                stored, alike = bytes(sketch), 1 - changed / BINS
            else:
                stored, alike = bins[place].tobytes(), None
                if number % 4 == 1 and number < rows // 8:
                    sketches[number] = stored
            distance = int(rng.integers(0, 11)) if copy else None
            site = int(SITES * rng.random() ** 2)
            yield (
                *(number * RUNS // (rows + 1) + 1, 1),
                *(f"https://site{site}.example/section/page-{number}.html",) * 2,
                *(1_700_000_000.0 + number, f"Page {number} of a site with long titles", ""),
                *(signed(words[place]), int(templates[number % TEMPLATES]), stored),
                *(number.to_bytes(16), number.to_bytes(16), 300 + number % 700),
                *("near_duplicate" if copy else "new", not copy, distance, distance, alike),
                *(canonical, None, None, "confirmed", not copy),
            )


if __name__ == "__main__":
    main()
