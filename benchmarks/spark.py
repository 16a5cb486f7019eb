"""`dedup spark` against `dedup add` and a MinHash loop, on the same pages.

    python -m benchmarks.spark DATA_FOLDER                  # the manuals of the labelled sets
    python -m benchmarks.spark DATA_FOLDER --texts 200000   # and as many texts in clusters of Zipf sizes

DATA_FOLDER holds the labelled sets of `benchmarks.accuracy`.  For each input: `dedup spark` with one core
and with two, and `dedup add`.  Printed are

- pages a second, seconds of processor time and the most memory of all processes (proportional set size);
- bytes shuffled for each page, and what follows from that and the processor time for 10^9 pages.

For texts a loop of datasketch's MinHash (`update_batch`, 128 permutations) and MinHashLSH in one process
stands beside it.  It comes with `pip install --group bench`.  So does datatrove's MinHash, with as many
processes as cores, for --datatrove: the Python of an environment with `datatrove[processing,io]`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.add import sampled
from benchmarks.labelled import PAGES, unpacked

MANUALS = "manual_versions"
TEXTS = ("-s", "DEDUP_TEXT_FIELDS=text")
BILLION = 10**9
COMMAND = [sys.executable, "-c", "from dedup.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took: seconds, seconds of all processors, MB of memory, bytes shuffled."""

    name: str
    pages: int
    dropped: int
    seconds: float
    cpu: float
    memory: float
    shuffled: int = 0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="The folder with the labelled sets.")
    parser.add_argument("--texts", type=int, default=0, help="Measure so many texts too.")
    parser.add_argument("--pages", type=int, default=0, help="Only so many pages of the manuals.")
    parser.add_argument("--no-manuals", action="store_true", help="Measure texts only.")
    parser.add_argument("--cores", default="1,2", help="With how many cores [1,2].")
    parser.add_argument("--datatrove", help="The Python of an environment that has datatrove.")
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.peer:
        _peer(given.peer)
        return
    cores = [int(text) for text in given.cores.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if not given.no_manuals:
            path = write_manuals(given.data, folder, given.pages)
            report("manuals", measured(path, folder / "manuals", (), cores))
        if given.texts:
            path = folder / "texts.jsonl"
            write_texts(path, given.texts)
            found = measured(path, folder / "texts", TEXTS, cores)
            found.append(_noted(peer(path)))
            if given.datatrove:
                found.append(_noted(datatrove(given.datatrove, path, folder, cores[-1])))
            report(f"{given.texts:,} texts", found)


# What is read


def write_manuals(data: Path, folder: Path, pages: int) -> Path:
    """Write the pages of the manuals into four files of JSON Lines; return their folder."""
    root = unpacked(data / MANUALS, folder)
    found = (path for path in (root / PAGES).rglob("*") if path.is_file())
    names = sorted(path.relative_to(root).as_posix() for path in found)
    names = names[:: max(1, len(names) // pages)][:pages] if pages else names
    out = folder / "manuals-in"
    out.mkdir()
    size = len(names) // 4 + 1
    for part in range(4):
        with (out / f"{part}.jsonl").open("w") as file:
            for name in names[part * size : (part + 1) * size]:
                html = (root / name).read_bytes().decode("utf-8", "replace")
                host = name.split("/")[1]
                file.write(json.dumps({"url": f"http://{host}/{name}", "html": html}) + "\n")
    return out


def write_texts(path: Path, count: int, seed: int = 1) -> None:
    """Write *count* texts of 60 to 240 words, in clusters whose sizes go as Zipf's law says.

    Of a text of a cluster up to a third of the words are changed, mostly few.
    """
    chance = random.Random(seed)
    clusters = max(1, count // 4)
    weights = [1 / (rank + 1) for rank in range(clusters)]
    with path.open("w") as file:
        for number, cluster in enumerate(chance.choices(range(clusters), weights, k=count)):
            words = list(_base(cluster))
            share = min(0.34, chance.expovariate(12))
            for _ in range(int(share * len(words))):
                words[chance.randrange(len(words))] = f"x{chance.randrange(10**6)}"
            url = f"http://h{cluster % 50}.example/{number}"
            file.write(json.dumps({"url": url, "text": " ".join(words)}) + "\n")


def _base(cluster: int) -> list[str]:
    chance = random.Random(f"cluster {cluster}")
    return [f"w{chance.randrange(20_000)}" for _ in range(chance.randrange(60, 241))]


# What is measured


def measured(path: Path, folder: Path, options: Sequence[str], cores: Sequence[int]) -> list[Took]:
    """Run `dedup spark` and `dedup add` on *path*."""
    folder.mkdir()
    took = [_noted(by_spark(path, folder / f"spark-{count}", options, count)) for count in cores]
    return [*took, _noted(by_add("dedup add", path, folder / "added.db", options))]


def _noted(took: Took) -> Took:
    """Say what was measured: a run of many pages takes long."""
    _say(repr(took))
    return took


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def by_spark(path: Path, output: Path, options: Sequence[str], cores: int) -> Took:
    events = output.with_name(f"{output.name}-events")
    events.mkdir()
    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(4 * cores),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    output_text, seconds, samples = _measured(
        *(*COMMAND, "spark", str(path), "-o", str(output), "--conf", f"spark.master=local[{cores}]"),
        *(*options, *settings),
    )
    shuffled = sum(_shuffled(file) for file in events.iterdir())
    name = f"dedup spark, {cores} core{'s' if cores > 1 else ''}"
    judged = re.match(r"([\d,]+) pages judged, ([\d,]+) of them copies", output_text)
    assert judged
    pages, dropped = (int(number.replace(",", "")) for number in judged.groups())
    return Took(name, pages, dropped, seconds, samples["cpu"], samples["memory"], shuffled)


def _shuffled(log: Path) -> int:
    total = 0
    with log.open() as lines:
        for line in lines:
            if "SparkListenerTaskEnd" in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def by_add(name: str, path: Path, index: Path, options: Sequence[str]) -> Took:
    command = (*COMMAND, "add", str(path), "--index", str(index), "--json", *options)
    output, seconds, samples = _measured(*command)
    found = json.loads(output.splitlines()[-1])
    return Took(name, found["seen"], found["dropped"], seconds, samples["cpu"], samples["memory"])


def _measured(*command: str) -> tuple[str, float, dict[str, float]]:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as outside:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
            start_new_session=True,
            cwd=outside,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        with sampled(process.pid) as samples:
            output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ended with {process.returncode}")
    return output, time.perf_counter() - begin, samples


def peer(path: Path) -> Took:
    """Run the loop of datasketch in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.spark", ".", "--peer", str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Took(**json.loads(done.stdout.splitlines()[-1]))


def datatrove(python: str, path: Path, folder: Path, tasks: int) -> Took:
    """Run datatrove's MinHash in its environment."""
    script = str(Path(__file__).parent / "peer_datatrove.py")
    work = str(folder / "datatrove")
    output, seconds, samples = _measured(python, script, str(path), work, str(tasks))
    found = json.loads(output.splitlines()[-1])
    name = f"datatrove, {tasks} processes"
    return Took(name, found["pages"], found["dropped"], seconds, samples["cpu"], samples["memory"])


def _peer(path: Path) -> None:
    from benchmarks.add import theirs_in_batches

    found = theirs_in_batches(path, 1)
    took = {name: found[name] for name in ("pages", "seconds", "cpu", "memory")}
    print(json.dumps({"name": "datasketch, 1 process", "dropped": found["copies"], **took}))


def report(name: str, found: Sequence[Took]) -> None:
    console = Console(width=130)
    table = Table(title=name)
    columns = (
        "",
        "pages",
        "dropped",
        "seconds",
        "pages/s",
        "CPU s",
        "CPU ms/page",
        "MB",
        "shuffled B/page",
    )
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for took in found:
        table.add_row(
            took.name,
            f"{took.pages:,.0f}",
            f"{took.dropped:,.0f}",
            f"{took.seconds:.1f}",
            f"{took.pages / took.seconds:,.0f}",
            f"{took.cpu:.1f}",
            f"{1000 * took.cpu / took.pages:.2f}",
            f"{took.memory:,.0f}",
            f"{took.shuffled / took.pages:,.0f}" if took.shuffled else "",
        )
    console.print(table)
    spark = next(took for took in reversed(found) if took.shuffled)
    hours = BILLION * spark.cpu / spark.pages / 3600
    terabytes = BILLION * spark.shuffled / spark.pages / 1e12
    console.print(f"10^9 such pages: {hours:,.0f} core hours, {terabytes:,.1f} TB shuffled")


if __name__ == "__main__":
    main()
