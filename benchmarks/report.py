"""The HTML report of a large index: its time, memory and file size.

    python -m benchmarks.report                   # one million synthetic rows
    python -m benchmarks.report --rows 100000 --output report.html

Three in eight rows are copies, in clusters of 2 to some thousand pages, on a thousand sites, in ten runs.
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

from dedup import SQLiteIndex
from dedup.index.rows import STORED
from dedup.model.fingerprint import BINS
from dedup.model.hashes import signed

SEED = 6
SITES, RUNS, TEMPLATES, BASES = 1000, 10, 3000, 4096
CHUNK = 50_000
COLUMNS = ("id", "scope", *STORED)
# What stands in a column of which a row says nothing.
EMPTY = {int: 0, float: 0.0, str: "", bytes: b""}
# What the child runs: the command, then its highest use of memory in kilobytes.
CHILD = (
    "import re, sys; from dedup.cli import main; main(sys.argv[1:], standalone_mode=False); "
    "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
)


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the index.")
@click.option("--output", type=click.Path(path_type=Path), help="Keep the report here.")
def main(rows: int, output: Path | None) -> None:
    from resource import RUSAGE_CHILDREN, getrusage  # not on Windows, where tests read this module

    with tempfile.TemporaryDirectory() as scratch:
        index, output = Path(scratch) / "pages.db", output or Path(scratch) / "report.html"
        begin = time.perf_counter()
        fill(index, rows)
        click.echo(f"{rows:,} rows made in {time.perf_counter() - begin:.0f} s")
        command = [sys.executable, "-c", CHILD, "report", str(index), "--format", "html"]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--output", str(output)], check=True, capture_output=True, text=True
        )
        taken = time.perf_counter() - begin
        used = getrusage(RUSAGE_CHILDREN)
        click.echo(
            f"report of {rows:,} rows: {taken:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of processor "
            f"time), {int(done.stdout.split()[-1]) / 1024:.0f} MB of memory, "
            f"a file of {output.stat().st_size / 1e6:.1f} MB"
        )


def fill(path: Path, rows: int) -> None:
    """Write an index of synthetic rows straight into its tables."""
    with SQLiteIndex(path) as index:
        index.prepare()
        for number in range(RUNS):
            index.runs.end(index.runs.begin(f"spider{number}"), "finished")
    empty = {name: EMPTY.get(kind.types) for name, kind in STORED.items()}
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO scopes VALUES (1, 'page', '')")
        insert = f"INSERT INTO pages ({', '.join(COLUMNS)}) VALUES (:{', :'.join(COLUMNS)})"
        connection.executemany(insert, ({"scope": 1, **empty, **row} for row in synthetic(rows)))
    connection.close()


def synthetic(rows: int) -> Iterator[dict[str, Any]]:
    """Yield what each row says, by column.

    Each fourth row is a page that others may repeat, half of the others are copies of one before them:
    most clusters are small, a few have thousands.  A copy's sketch is its canonical's but for some bins.
    """
    rng = np.random.default_rng(SEED)
    templates = rng.integers(1, 2**63, TEMPLATES, np.int64).tolist()
    bases = rng.integers(1, 256, (BASES, BINS), np.uint8)
    for start in range(1, rows + 1, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, rows + 1))
        count = len(numbers)
        simhashes = rng.integers(1, 2**64, count, np.uint64).tolist()
        power = np.where(rng.random(count) < 0.1, 8, 1)
        canonicals = (numbers * rng.random(count) ** power).astype(int) // 4 * 4 + 1
        is_copy = (numbers % 4 != 1) & (rng.random(count) < 0.5) & (canonicals < numbers)
        changed = np.where(is_copy, rng.integers(0, 80, count), 0)
        sketches = bases[np.where(is_copy, canonicals, numbers) % BASES]
        fresh = rng.integers(1, 256, (count, BINS), np.uint8)
        sketches = np.where(np.arange(BINS) < changed[:, None], fresh, sketches)
        distances = rng.integers(0, 11, count).tolist()
        sites = (SITES * rng.random(count) ** 2).astype(int).tolist()
        for place, (number, copy) in enumerate(zip(numbers.tolist(), is_copy.tolist(), strict=True)):
            url = f"https://site{sites[place]}.example/section/page-{number}.html"
            yield {
                "id": number,
                "run": number * RUNS // (rows + 1) + 1,
                "url": url,
                "url_key": url,
                "time": 1_700_000_000.0 + number,
                "title": f"Page {number} of a site with long titles",
                "content_simhash": signed(simhashes[place]),
                "structure_simhash": templates[number % TEMPLATES],
                "sketch": sketches[place].tobytes(),
                **dict.fromkeys(("body_digest", "token_digest"), number.to_bytes(16)),
                "tokens": 300 + number % 700,
                "words": 300 + number % 700,
                "shingles": 297 + number % 700,
                "outcome": "confirmed",
                "listed": not copy,
                "reason": "near_duplicate" if copy else "new",
                "kept": not copy,
                **dict.fromkeys(
                    ("content_distance", "structure_distance"), distances[place] if copy else None
                ),
                "similarity": 1 - int(changed[place]) / BINS if copy else None,
                "canonical": int(canonicals[place]) if copy else None,
                "lost": int(changed[place]) // 2 if copy else None,
            }


if __name__ == "__main__":
    main()
