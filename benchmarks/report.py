"""The HTML report of a large index: its time, memory and file size; and what the commands take.

    python -m benchmarks.report                   # one million synthetic rows
    python -m benchmarks.report --rows 100000 --output report.html
    python -m benchmarks.report --rows 100000 --commands    # processor time of each command, warm

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

from dedup import DedupConfig, SQLiteIndex
from dedup.algorithms.sketch import BINS
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
# What the child runs: the command, then its highest use of memory in kilobytes.
CHILD = (
    "import re, sys; from dedup.cli import main; main(sys.argv[1:], standalone_mode=False); "
    "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
)


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the index.")
@click.option(
    "--index", type=click.Path(path_type=Path), help="Keep the index here, or use the one that is here."
)
@click.option("--output", type=click.Path(path_type=Path), help="Keep the report here.")
@click.option("--commands", is_flag=True, help="Measure the commands instead.")
def main(rows: int, index: Path | None, output: Path | None, commands: bool) -> None:
    from resource import RUSAGE_CHILDREN, getrusage  # not on Windows, where tests read this module

    with tempfile.TemporaryDirectory() as scratch:
        index = index or Path(scratch) / "pages.db"
        output = output or Path(scratch) / "report.html"
        if not index.exists():
            begin = time.perf_counter()
            fill(index, rows)
            click.echo(f"{rows:,} rows made in {time.perf_counter() - begin:.0f} s")
        if commands:
            for line in measured(index, Path(scratch)):
                click.echo(line)
            return
        command = [sys.executable, "-c", CHILD, "report", str(index), "--format", "html"]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--output", str(output)], check=True, capture_output=True, text=True
        )
        taken = time.perf_counter() - begin
        used = getrusage(RUSAGE_CHILDREN)
        processor = used.ru_utime + used.ru_stime
        memory = int(done.stdout.split()[-1]) / 1024
        size = output.stat().st_size / 1e6
        click.echo(
            f"report of {rows:,} rows: {taken:.1f} s ({processor:.1f} s of processor time), "
            f"{memory:.0f} MB of memory, a file of {size:.1f} MB"
        )


def measured(index: Path, folder: Path) -> Iterator[str]:
    """Yield how many seconds of processor time each command takes, the second time it runs."""
    stricter = ("--what-if", "DEDUP_MAX_LOST_WORDS=15")
    plain = ("--what-if", "DEDUP_MAX_LOST_WORDS=1000")
    for name, command in {
        "dedup --help": ("--help",),
        "dedup report": ("report", index),
        "dedup report --format html": (
            "report",
            index,
            "--format",
            "html",
            "-o",
            folder / "report.html",
        ),
        "dedup report --format csv": ("report", index, "--format", "csv", "-o", folder / "report.csv"),
        "dedup report --what-if DEDUP_MAX_LOST_WORDS=15": ("report", index, *stricter),
        "the same, without what is known of sites": ("report", index, *plain, *stricter),
        "scrapy dedup --help": ("dedup", "--help"),
    }.items():
        module = "scrapy.cmdline" if name.startswith("scrapy") else "dedup"
        start = ["-m", module] if module != "dedup" else ["-c", "from dedup.cli import main; main()"]
        taken = [_processor([sys.executable, *start, *map(str, command)], folder) for _ in range(2)]
        yield f"{name}: {taken[-1]:.2f} s"


def _processor(command: list[str], folder: Path) -> float:
    """Run *command*, and return the seconds of processor time."""
    from resource import RUSAGE_CHILDREN, getrusage  # not on Windows, where tests read this module

    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fill(path: Path, rows: int) -> None:
    """Write an index of synthetic rows straight into its tables, then make its posting lists."""
    with SQLiteIndex(path) as index:
        index.prepare(DedupConfig())
        for number in range(RUNS):
            index.runs.end(index.runs.begin(f"spider{number}"), "finished")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO scopes VALUES (1, 'page', '')")
        insert = f"INSERT INTO pages ({', '.join(COLUMNS)}) VALUES (?{',?' * (len(COLUMNS) - 1)})"
        connection.executemany(insert, synthetic(rows))
    connection.close()
    with SQLiteIndex(path) as index:
        index.store.rebuild()


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
