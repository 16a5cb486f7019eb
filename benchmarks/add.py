"""`dedup add` against a loop of datasketch MinHash + MinHashLSH over the same texts, in the same run.

    python -m benchmarks.add FOLDER            # a folder of HTML
    python -m benchmarks.add FOLDER --pages 2000 --repeat 1

Each round runs these one after the other, each in a process of its own:

- `dedup add` on the folder with all cores: HTML is read, parsed, judged and recorded in a file.
- `dedup add` on the texts alone: JSON Lines, no parsing.
- The peer on these texts, in memory and in one process: 128 permutations over runs of four tokens (from
  our tokenizer), a threshold of .62.  Once with `update` for every run, as in the first example of its
  documentation, and once with `update_batch`, its fastest method.

The command prints medians over rounds of wall time and of the processor time of all processes, ratios
within rounds, and the highest memory (proportional set size of all processes, sampled).  The peer comes
with `pip install --group bench`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dedup import DedupConfig, Page
from dedup.files.finding import find_feeds
from dedup.prints.fingerprinter import tokens_of
from dedup.reading.fields import FieldRule

PERMUTATIONS = 128
THRESHOLD = 0.62
SHINGLE = 4
CONFIG = DedupConfig()


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--repeat", default=3, show_default=True, help="Rounds.")
@click.option("--pages", type=int, help="Only so many pages, spread over the folder.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes of dedup add.")
@click.option("--one", hidden=True, help="Run one kind in this process; used by the command itself.")
def main(folder: Path, repeat: int, pages: int | None, jobs: int, one: str) -> None:
    if one:
        print(json.dumps(ONE[one](folder, jobs)))
        return
    console = Console(stderr=True)
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in ONE}
    with tempfile.TemporaryDirectory() as scratch:
        html, texts = prepared(folder, Path(scratch), pages)
        rounds = [(turn, kind) for turn in range(repeat) for kind in _rotated(turn)]
        for _, kind in track(rounds, "adding", console=console):
            path = html if kind == "dedup add, HTML" else texts
            command = [sys.executable, "-m", "benchmarks.add", str(path)]
            command += ["--one", kind, "--jobs", str(jobs)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[kind].append(json.loads(done.stdout.splitlines()[-1]))
    report(found, jobs)


def prepared(folder: Path, scratch: Path, pages: int | None) -> tuple[Path, Path]:
    """Return a folder with the pages, and a file of JSON Lines with their texts."""
    (feed,) = find_feeds([folder], FieldRule()).feeds
    files = sorted(Path(record.name) for record in feed.records())
    files = files[:: max(1, len(files) // pages)][:pages] if pages else files
    html, texts = scratch / "html", scratch / "texts.jsonl"
    html.mkdir()
    with texts.open("w") as out:
        for number, file in enumerate(track(files, "extracting", console=Console(stderr=True))):
            (html / f"{number:06}.html").symlink_to(file.resolve())
            text = Page.from_html(file.read_bytes()).text
            out.write(json.dumps({"url": file.as_uri(), "text": text}) + "\n")
    return html, texts


# What is compared


def ours(path: Path, jobs: int) -> dict[str, float]:
    """Run `dedup add` as a user does, and return what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-c", "from dedup.cli import main; main()", "add", str(path)]
        command += ["--index", str(Path(scratch, "x.db")), "--jobs", str(jobs), "--json"]
        if path.suffix == ".jsonl":
            command += ["-s", "DEDUP_TEXT_FIELDS=text"]
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=scratch,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        with sampled(process.pid) as samples:
            output, _ = process.communicate()
        seconds = time.perf_counter() - begin
    found = json.loads(output)
    return {
        "pages": found["records"],
        "seconds": seconds,
        "cpu": samples["cpu"],
        "memory": samples["memory"],
        "copies": found["dropped"],
    }


def theirs(path: Path, jobs: int) -> dict[str, float]:
    """Loop over the texts with datasketch's `update`, and return what it took."""
    from datasketch import MinHash

    def signature(shingles: set[bytes]) -> Any:
        made = MinHash(num_perm=PERMUTATIONS)
        for shingle in shingles:
            made.update(shingle)
        return made

    return _loop(path, signature)


def theirs_in_batches(path: Path, jobs: int) -> dict[str, float]:
    """Loop over the texts with datasketch's `update_batch`, and return what it took."""
    from datasketch import MinHash

    def signature(shingles: set[bytes]) -> Any:
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch(shingles)
        return made

    return _loop(path, signature)


def _loop(path: Path, signature: Callable[[set[bytes]], Any]) -> dict[str, float]:
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    tokens_of("lighthouse 灯塔", CONFIG)  # loads what it needs
    copies = pages = 0
    begin, cpu = time.perf_counter(), _cpu()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            words = tokens_of(json.loads(line)["text"], CONFIG)
            starts = range(max(1, len(words) - SHINGLE + 1))
            found = signature({" ".join(words[at : at + SHINGLE]).encode() for at in starts})
            if lsh.query(found):
                copies += 1
            else:
                lsh.insert(str(pages), found)
            pages += 1
    return {
        "pages": pages,
        "seconds": time.perf_counter() - begin,
        "cpu": _cpu() - cpu,
        "memory": _memory([str(os.getpid())]),
        "copies": copies,
    }


ONE = {
    "dedup add, HTML": ours,
    "dedup add, texts": ours,
    "datasketch, texts, update": theirs,
    "datasketch, texts, update_batch": theirs_in_batches,
}


# Measuring


@contextmanager
def sampled(session: int) -> Iterator[dict[str, float]]:
    """Watch all processes of a *session*: the most memory in MB (10**6 bytes), seconds of processor."""
    samples: dict[str, Any] = {"memory": 0.0, "cpu": 0.0}
    cpu: dict[str, float] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            processes = _processes(session)
            samples["memory"] = max(samples["memory"], _memory(processes))
            for process in processes:
                cpu[process] = max(cpu.get(process, 0.0), _cpu_of(process))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()
        samples["cpu"] = sum(cpu.values())


def _processes(session: int) -> list[str]:
    return [
        stat.parent.name
        for stat in Path("/proc").glob("[0-9]*/stat")
        if (fields := _stat(stat)) and int(fields[3]) == session
    ]


def _stat(path: Path) -> list[str]:
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_of(process: str) -> float:
    fields = _stat(Path("/proc", process, "stat"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _memory(processes: list[str]) -> float:
    total = 0
    for process in processes:
        try:
            lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1e6


def _cpu() -> float:
    return sum(
        getrusage(who).ru_utime + getrusage(who).ru_stime for who in (RUSAGE_SELF, RUSAGE_CHILDREN)
    )


def report(found: dict[str, list[dict[str, float]]], jobs: int) -> None:
    table = Table(title=f"medians of {len(next(iter(found.values())))} rounds; {jobs} processes of ours")
    columns = ("", "pages", "copies", "wall s", "pages/s", "x update", "x batch", "CPU s", "most MB")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    loop, batches = (found[kind] for kind in list(ONE)[2:])
    for kind, runs in found.items():
        table.add_row(
            kind,
            f"{runs[0]['pages']:,.0f}",
            f"{runs[0]['copies']:,.0f}",
            f"{median(run['seconds'] for run in runs):.1f}",
            f"{median(run['pages'] / run['seconds'] for run in runs):,.0f}",
            f"{_times(runs, loop, 'seconds'):.2f}",
            f"{_times(runs, batches, 'seconds'):.2f}",
            f"{median(run['cpu'] for run in runs):.1f}",
            f"{max(run['memory'] for run in runs):.0f}",
        )
    Console(width=110).print(table)


def _times(runs: list[dict[str, float]], peer: list[dict[str, float]], name: str) -> float:
    """Return how many times faster than the peer, the median of the ratios within rounds."""
    return median(other[name] / run[name] for run, other in zip(runs, peer, strict=True))


def _rotated(turn: int) -> list[str]:
    kinds = list(ONE)
    start = turn % len(kinds)
    return kinds[start:] + kinds[:start]


if __name__ == "__main__":
    main()
