"""`dedup add` and `dedup spark` on the same files: how fast, with how much memory, and what is shuffled.

    python -m benchmarks.add FILES... [-s DEDUP_TEXT_FIELDS=text] [--cores 1,2]

FILES are what both read: JSON Lines, Parquet or web archives of one format.  `dedup add` runs with all
cores, `dedup spark` with each number of cores.  Printed are pages a second, seconds of processor time, the
most memory of all processes (proportional set size, sampled), bytes shuffled for each page, and what
follows from these for 10^9 pages.  Peers stand beside `dedup add` in `benchmarks.peers`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

BILLION = 10**9
COMMAND = [sys.executable, "-c", "from dedup.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Took:
    """What a command took: seconds, seconds of all processors, MB of memory, bytes shuffled."""

    name: str
    pages: int
    dropped: int
    seconds: float
    cpu: float
    memory: float
    shuffled: int = 0


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, resolve_path=True))
@click.option("-s", "--set", "settings", multiple=True, help="A setting of both, NAME=VALUE.")
@click.option("--cores", default="1,2", show_default=True, help="With how many cores Spark runs.")
def main(files: tuple[str, ...], settings: tuple[str, ...], cores: str) -> None:
    options = [*files, *(part for one in settings for part in ("-s", one))]
    with tempfile.TemporaryDirectory() as scratch:
        report(
            [
                by_add(Path(scratch), options),
                *(by_spark(Path(scratch, number), options, number) for number in cores.split(",")),
            ]
        )


def by_add(folder: Path, options: Sequence[str]) -> Took:
    output, seconds, cpu, memory = measured("add", "--index", str(folder / "x.db"), "--json", *options)
    found = json.loads(output.splitlines()[-1])
    return Took("dedup add", found["seen"], found["dropped"], seconds, cpu, memory)


def by_spark(folder: Path, options: Sequence[str], cores: str) -> Took:
    events = folder / "events"
    events.mkdir(parents=True)
    conf = {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(4 * int(cores)),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    output, seconds, cpu, memory = measured("spark", "-o", str(folder / "out"), *options, *settings)
    judged = re.match(r"([\d,]+) pages judged, ([\d,]+) of them copies", output)
    assert judged
    pages, dropped = (int(number.replace(",", "")) for number in judged.groups())
    shuffled = sum(map(_shuffled, events.iterdir()))
    return Took(f"dedup spark, {cores} cores", pages, dropped, seconds, cpu, memory, shuffled)


def _shuffled(log: Path) -> int:
    total = 0
    with log.open() as lines:
        for line in lines:
            if "SparkListenerTaskEnd" in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def measured(*command: str) -> tuple[str, float, float, float]:
    """Run a command; return its output, seconds, seconds of all processors, and most MB."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as outside:
        process = subprocess.Popen(
            [*COMMAND, *command],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=outside,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        with sampled(process.pid) as samples:
            output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:3])} ended with {process.returncode}")
    return output, time.perf_counter() - begin, samples["cpu"], samples["memory"]


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


def report(found: Sequence[Took]) -> None:
    columns = ("", "pages", "dropped", "seconds", "pages/s", "CPU ms/page", "MB", "shuffled B/page")
    table = Table()
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for took in found:
        table.add_row(
            took.name,
            f"{took.pages:,.0f}",
            f"{took.dropped:,.0f}",
            f"{took.seconds:.1f}",
            f"{took.pages / took.seconds:,.0f}",
            f"{1000 * took.cpu / took.pages:.2f}",
            f"{took.memory:,.0f}",
            f"{took.shuffled / took.pages:,.0f}",
        )
    console, last = Console(width=130), found[-1]
    console.print(table)
    hours = BILLION * last.cpu / last.pages / 3600
    terabytes = BILLION * last.shuffled / last.pages / 1e12
    console.print(f"10^9 such pages: {hours:,.0f} core hours, {terabytes:,.1f} TB shuffled")


if __name__ == "__main__":
    main()
