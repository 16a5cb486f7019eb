"""The HTML report of a large index: its time, memory and file size.

    python -m benchmarks.report                   # one million synthetic rows
    python -m benchmarks.report --rows 100000 --output report.html

Three in eight rows are copies, in clusters of 2 to some thousand pages, on a thousand sites, in ten runs.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.child import child, peak_mb
from dedup import SQLiteIndex
from dedup.model.fingerprint import BINS
from dedup.model.hashes import signed

SEED = 6
COLUMNS = (
    *("run", "scope", "url", "url_key", "time", "title"),
    *("content_simhash", "structure_simhash", "sketch", "body_digest", "token_digest", "tokens"),
    *("reason", "kept", "content_distance", "structure_distance", "similarity"),
    *("canonical", "outcome", "listed", "words", "shingles", "lost"),
)
SITES = 1000
RUNS = 10
TEMPLATES = 3000
BASES = 4096
CHUNK = 50_000


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the index.")
@click.option("--output", type=click.Path(path_type=Path), help="Keep the report here.")
@click.option("--one", hidden=True, help="Report on this index in this process.")
def main(rows: int, output: Path | None, one: str | None) -> None:
    if one:
        from dedup.cli import main as dedup

        begin, cpu = time.perf_counter(), time.process_time()
        dedup(["report", one, "--format", "html", "-o", str(output)], standalone_mode=False)
        taken = time.perf_counter() - begin, time.process_time() - cpu
        click.echo(json.dumps((*taken, peak_mb())))
        return
    with tempfile.TemporaryDirectory() as scratch:
        output = output or Path(scratch, "report.html")
        fill(index := Path(scratch, "pages.db"), rows)
        taken, cpu, memory = child("benchmarks.report", "--one", str(index), "--output", str(output))
        click.echo(
            f"report of {rows:,} rows: {taken:.1f} s ({cpu:.1f} s of processor time), "
            f"{memory:.0f} MB of memory, a file of {output.stat().st_size / 1e6:.1f} MB"
        )


def fill(path: Path, rows: int) -> None:
    """Write an index of synthetic rows straight into its tables."""
    with SQLiteIndex(path) as index:
        index.prepare()
        for number in range(RUNS):
            index.runs.end(index.runs.begin(f"spider{number}"), "finished")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO scopes VALUES (1, 'page', '')")
        insert = f"INSERT INTO pages ({', '.join(COLUMNS)}) VALUES (?{',?' * (len(COLUMNS) - 1)})"
        connection.executemany(insert, synthetic(rows))
    connection.close()


def synthetic(rows: int) -> Iterator[tuple[Any, ...]]:
    """Yield the `COLUMNS` of each row.

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
            distance = distances[place] if copy else None
            yield (
                *(number * RUNS // (rows + 1) + 1, 1),
                *(f"https://site{sites[place]}.example/section/page-{number}.html",) * 2,
                *(1_700_000_000.0 + number, f"Page {number} of a site with long titles"),
                *(signed(simhashes[place]), templates[number % TEMPLATES], sketches[place].tobytes()),
                *(number.to_bytes(16), number.to_bytes(16), 300 + number % 700),
                *("near_duplicate" if copy else "new", not copy, distance, distance),
                *(1 - int(changed[place]) / BINS if copy else None,),
                *(int(canonicals[place]) if copy else None, "confirmed", not copy),
                *(300 + number % 700, 297 + number % 700, int(changed[place]) // 2 if copy else None),
            )


if __name__ == "__main__":
    main()
