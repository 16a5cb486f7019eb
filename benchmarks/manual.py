"""Crawl two releases of a manual at once: are the right pages dropped, and what does it cost?

    python -m benchmarks.manual SET_FOLDER

SET_FOLDER holds `pairs.csv` (a, b, label, group) and `html.tar.xz`.  One manual is served on 127.0.0.1.
The spider `site` crawls it from the index pages of all its releases, in turn with dedup and without.  A
pair with label 1 counts as found if one of its pages was dropped.  A pair with label 0 is a false positive
if one of its pages was dropped for the other.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import click

from crawler.example.server import running
from dedup import SQLiteIndex


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--manual", default="postgresql", show_default=True, help="Which manual of the set.")
@click.option("--repeat", default=3, show_default=True, help="Crawls of each kind; medians are printed.")
def main(folder: Path, manual: str, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        with tarfile.open(folder / "html.tar.xz") as archive:
            archive.extractall(root, filter="data")
        times: dict[bool, list[float]] = {True: [], False: []}
        with served(root) as url:
            starts = [
                url + page.relative_to(root).as_posix()
                for page in sorted((root / "html" / manual).glob("*/index.html"))
            ]
            for turn in range(repeat):
                for with_dedup in (True, False):
                    index = root / f"{turn}.db"
                    times[with_dedup].append(crawl(starts, index, with_dedup))
                    click.echo(
                        f"{'with' if with_dedup else 'without'} dedup: {times[with_dedup][-1]:.1f} s"
                    )
            report(folder / "pairs.csv", manual, root / "0.db")
    cost, stock = median(times[True]), median(times[False])
    click.echo(f"wall time: {cost:.1f} s with dedup, {stock:.1f} s without ({cost / stock:.2f})")


def crawl(starts: list[str], index: Path, with_dedup: bool) -> float:
    options = [f"DEDUP_INDEX={index}"] if with_dedup else ["ADDONS={}"]
    options += ["AUTOTHROTTLE_ENABLED=0", "CONCURRENT_REQUESTS_PER_DOMAIN=16", "LOG_LEVEL=WARNING"]
    flags = [part for option in options for part in ("-s", option)]
    begin = time.perf_counter()
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={' '.join(starts)}", *flags]
    subprocess.run(command, check=True, cwd=Path(__file__).parent.parent)
    return time.perf_counter() - begin


def report(pairs: Path, manual: str, path: Path) -> None:
    dropped: dict[str, str] = {}
    seen: set[str] = set()
    with SQLiteIndex(path) as index:
        for row in index.rows():
            page = _path(row.sighting.url)
            seen.add(page)
            if not row.verdict.kept:
                dropped[page] = _path(row.verdict.canonical_url)
    click.echo(f"{len(seen):,} pages seen, {len(dropped):,} dropped")
    counts = {"1": 0, "0": 0}
    found = {"1": 0, "0": 0}
    for a, b, label in _pairs(pairs, manual):
        if label in counts and {a, b} <= seen:
            counts[label] += 1
            hit = bool({a, b} & dropped.keys()) if label == "1" else _one_for_the_other(dropped, a, b)
            found[label] += hit
            if hit != (label == "1"):
                click.echo(f"  label {label}: {a} {b}")
    share = found["1"] / counts["1"] if counts["1"] else 0
    click.echo(f"label 1: {found['1']} of {counts['1']} pairs have a page dropped ({share:.2%})")
    click.echo(f"label 0: {found['0']} of {counts['0']} pairs have one dropped for the other")


def _one_for_the_other(dropped: dict[str, str], a: str, b: str) -> bool:
    return dropped.get(a) == b or dropped.get(b) == a


def _pairs(path: Path, manual: str) -> Iterator[tuple[str, str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["group"] == manual:
                yield row["a"], row["b"], row["label"]


def _path(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


class _Quiet(SimpleHTTPRequestHandler):
    # Header and body in two small packets would make every request wait for a delayed ACK.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with running(partial(_Quiet, directory=str(folder))) as url:
        yield url


if __name__ == "__main__":
    main()
