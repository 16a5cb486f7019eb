"""This project and its peers on the same real pages, in one run, as tables.

    python -m benchmarks.peers DATA_FOLDER --write

DATA_FOLDER holds the sites of `benchmarks.judged`.  Every contender uses the threshold that its
documentation names; time and memory are measured in a process of its own.  Scrapy plugins crawl the example
site twice, in environments of their own.  ``--write`` puts the tables into docs/peers.md and between the
markers of the README.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from benchmarks.contenders import (
    CONTENDERS,
    OURS,
    TEXT_DEDUP,
    PeerError,
    environment,
    missing,
    reason_of,
    text_dedup_python,
    text_dedup_signatures,
)
from benchmarks.crawl import anonymous_mb
from benchmarks.judged.counting import MOST_LOST, Figures
from benchmarks.judged.labels import OF_DROPS, SET, unpacked_sites
from benchmarks.judged.peers import lost_by_peers
from benchmarks.tables import Table
from crawler.example import served
from dedup import Page

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "peers.md"
README = ROOT / "README.md"
# Those who compare no texts, so that nothing is known of words.
PLUGINS = ("scrapy-deltafetch", "duplicate-url-discarder")
# The columns that stand in the README.
SHORT = ("contender", "pages dropped", "words lost")
PLAIN = "no plugin"
SCRAPYS = ("scrapy", "scrapy==2.13.*")
RULES = '[{"args": ["sid"], "order": 1, "processor": "queryRemoval", "urlPattern": {"include": []}}]'
SETTINGS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    PLUGINS[0]: {
        "SPIDER_MIDDLEWARES": {"scrapy_deltafetch.DeltaFetch": 100},
        "DELTAFETCH_ENABLED": True,
        "DELTAFETCH_DIR": "{folder}",
    },
    PLUGINS[1]: {
        "ADDONS": {"duplicate_url_discarder.Addon": 600},
        "DUD_LOAD_RULE_PATHS": ["{folder}/rules.json"],
    },
    OURS: {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": "{folder}/pages.db",
        "DEDUP_UNCHANGED": "drop",
    },
}
# What each does, and where it is the better choice.
ABOUT: dict[str, tuple[str, str]] = {
    OURS: ("simhashes find, a sketch confirms; index on disk, many processes; Scrapy plugin", ""),
    "1e0ng simhash": (
        "SimHash, and an index in memory with exact search within its distance",
        "small, pure Python except for numpy; its index takes any objects as names",
    ),
    "datasketch MinHash": (
        "MinHash, LSH in memory, Redis, Cassandra; also HNSW, LSH Ensemble, HyperLogLog",
        "sets of any kind, containment, shared storage on several machines",
    ),
    "rensa R-MinHash": ("MinHash and LSH in Rust, in memory", "the fastest"),
    "faiss, IndexBinaryFlat": (
        "search in memory for simhashes made elsewhere (here by this project, within 10 bits, unverified)",
        "vectors of any kind, graphics cards, hundreds of millions in one process",
    ),
    TEXT_DEDUP[0]: (
        "commands that read a whole data set and write it without copies; not page by page",
        "corpora on disk; also suffix arrays, Bloom filters, Spark",
    ),
    TEXT_DEDUP[1]: ("as above; an equal band decides, unverified", "as above"),
    PLUGINS[0]: (
        "does not request pages again that gave items in an earlier crawl; knows URLs only",
        "saves the download too, if pages never change",
    ),
    PLUGINS[1]: (
        "normalizes URLs by rules, and requests each page once; knows URLs only",
        "saves the download too, if URLs show which pages are copies",
    ),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of all *pages*, from bytes to verdict, and megabytes, None where nobody knows."""

    pages: int
    seconds: float
    megabytes: float | None = None

    def cells(self) -> tuple[str, str]:
        memory = "" if self.megabytes is None else f"{max(0, self.megabytes):,.0f}"
        return f"{self.pages / self.seconds:,.0f}", memory


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), help="Keep the environments of peers here.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--write", is_flag=True, help="Write the tables to docs/peers.md and the README.")
@click.option("--one", type=click.Choice(list(CONTENDERS)), hidden=True)
def main(folder: Path, *, cache: Path | None, jobs: int, write: bool, one: str | None) -> None:
    if one:
        click.echo(json.dumps(measured(one, sorted(path for path in folder.iterdir()))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        kept = cache or Path(scratch, "environments")
        kept.mkdir(parents=True, exist_ok=True)
        (sites := Path(scratch, "sites")).mkdir()
        folders = unpacked_sites(folder / SET, sites)
        failures = missing()
        names = [name for name in CONTENDERS if name not in failures]
        python: Path | None = None
        try:
            python = text_dedup_python(kept)
        except PeerError as error:
            failures.update(dict.fromkeys(TEXT_DEDUP, str(error)))
        costs = {name: cost(name, sites) for name in track(names, "measuring", console=_console())}
        if python:
            costs |= text_dedup_costs(python, folders, costs[OURS])
        lost = sites_table(lost_by_peers(folder, folders, names, python, jobs), costs, failures)
        plugins = [row for name in SETTINGS for row in plugin_rows(name, kept, Path(scratch))]
        about = abilities(kept)  # after the plugins, whose environments have their versions
    tables = [lost, scrapy_table(plugins), about]
    note = f"Measured with Python {python_version()}, numpy {version('numpy')}, on one core."
    text = "\n\n".join([note, *(table.markdown() for table in tables)])
    click.echo(text)
    if write:
        DOCUMENT.write_text(f"{HEAD}\n\n{text}\n", "utf-8")
        write_readme("lost", "\n".join(short_table(lost).lines()))


def _console() -> Console:
    return Console(stderr=True)


def cost(name: str, sites: Path) -> Cost:
    """Return what the contender *name* takes for all pages of *sites*, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.peers", str(sites), "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def measured(name: str, folders: Sequence[Path]) -> tuple[int, float, float]:
    """Return how many pages there are, the processor seconds of all, and the megabytes they take."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    with tempfile.TemporaryDirectory() as scratch:
        repeats = CONTENDERS[name][1](Path(scratch))
        repeats(Page.from_html("<p>What is loaded on first use \u70ed\u8eab.", url="file:///warm"))
        before, begin = anonymous_mb(), time.process_time()
        for path in track(files, name, console=_console()):
            with suppress(ValueError, OverflowError):
                repeats(Page.from_html(path.read_bytes(), url=path.as_uri()))
        return len(files), time.process_time() - begin, anonymous_mb() - before


def text_dedup_costs(python: Path, folders: Sequence[Path], ours: Cost) -> dict[str, Cost]:
    """Return what text-dedup takes: reading pages as we do, and its signatures; its memory is not known."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    begin = time.process_time()
    pages = [Page.from_html(path.read_bytes()).text for path in paths]
    reading = time.process_time() - begin
    texts = [text.encode("utf-8", "replace").decode() for text in pages]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            seconds, *_ = text_dedup_signatures(python, texts, Path(scratch))
        except subprocess.CalledProcessError as error:
            raise click.ClickException(f"text-dedup: {reason_of(error)}") from error
    return {name: Cost(ours.pages, reading + own) for name, own in zip(TEXT_DEDUP, seconds, strict=True)}


def sites_table(
    found: Mapping[str, Figures], costs: Mapping[str, Cost], failures: Mapping[str, str]
) -> Table:
    labels = sorted(OF_DROPS)
    of = next(iter(found.values())).of
    rows = [
        (
            name,
            *(one.by_page.get(label, 0) for label in labels),
            f"{one.drops:,}",
            f"{one.nowhere:,.0f}",
            one.heavy,
            *costs[name].cells(),
        )
        for name, one in found.items()
    ]
    rows += [(name, f"does not run: {why}", *[""] * 7) for name, why in failures.items()]
    right, arguable, wrong = labels
    return Table(
        "On whole sites",
        (
            "contender",
            f"right drops, of {of.get(right, 0)}",
            f"arguable, of {of.get(arguable, 0)}",
            f"wrong, of {of.get(wrong, 0)}",
            "pages dropped",
            "words lost",
            f"pages with over {MOST_LOST} words lost",
            "pages a second",
            "MB for all",
        ),
        rows,
        note=(
            "Nine whole sites, pages in the order of their names. A page is dropped if it is a copy of one "
            "that was kept, each contender by its own index or comparison. Readers have called drops of an "
            "early version of this project right, arguable or wrong; the columns say how many of these "
            "pages are dropped, for whatever page. Words are lost that are in no run of four words of any "
            "page kept. Pages a second are by processor time, from bytes to verdict; the index of this "
            "project is on disk, those of the others are in memory."
        ),
    )


@dataclass(frozen=True, slots=True)
class PluginRow:
    """What two crawls of the example site gave with a plugin: items and responses, or the error."""

    name: str
    versions: str
    crawls: tuple[Any, Any]


def plugin_rows(name: str, cache: Path, scratch: Path) -> list[PluginRow]:
    """Crawl the example site twice with a plugin, on the newest Scrapy and, if it fails, an old one."""
    rows: list[PluginRow] = []
    for scrapy in SCRAPYS:
        try:
            is_here = name in (PLAIN, OURS)
            python = Path(sys.executable) if is_here else _plugin_environment(cache, name, scrapy)
        except PeerError as error:
            return [*rows, PluginRow(name, scrapy, (str(error), str(error)))]
        with tempfile.TemporaryDirectory(dir=scratch) as folder, served() as url:
            Path(folder, "rules.json").write_text(RULES)
            worker = Path(__file__).with_name("peer_crawl.py")
            command = [str(python), str(worker), url, json.dumps(SETTINGS[name]), folder]
            options: dict[str, Any] = {"env": {"PYTHONPATH": str(ROOT)}} if is_here else {}
            done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
        first, second = map(json.loads, done.stdout.splitlines())
        rows.append(PluginRow(name, _versions_of(python, name, "scrapy"), (first, second)))
        if not isinstance(first, str):
            break
    return rows


def _plugin_environment(cache: Path, name: str, scrapy: str) -> Path:
    folder = name if scrapy == "scrapy" else f"{name}-{re.sub('[^0-9]', '', scrapy)}"
    return environment(cache, folder, [name, scrapy], name.replace("-", "_"))


def _versions_of(python: Path, *packages: str) -> str:
    """Return name and version of those *packages* that *python* has."""
    code = (
        "import sys; from importlib.metadata import distributions as d\n"
        "print(*{f'{n} {x.version}' for x in d() for n in sys.argv[1:] "
        "if x.name.lower().replace('_', '-') == n.lower()}, sep='|')"
    )
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return ", ".join(sorted(done.stdout.strip().split("|")))


def scrapy_table(rows: Sequence[PluginRow]) -> Table:
    return Table(
        "In Scrapy",
        ("plugin", "version", "first crawl: items (responses)", "second crawl"),
        [(row.name, row.versions, *_crawls(row)) for row in rows],
        note=(
            "The example site has 15 different pages. A plain spider crawls it twice. "
            "duplicate-url-discarder has a rule for the session ids of the site; without a rule it drops "
            'nothing. scrapy-dedup has `DEDUP_UNCHANGED = "drop"`; by default the second crawl would '
            "deliver the 15 unchanged pages again."
        ),
    )


def _crawls(row: PluginRow) -> tuple[str, str]:
    first, second = (
        "does not start" if isinstance(found, str) else f"{found[0]} ({found[1]})"
        for found in row.crawls
    )
    return first, "the same" if first == second and "start" in first else second


def abilities(cache: Path) -> Table:
    return Table(
        "What each is for",
        ("contender", "version", "what it does", "strengths"),
        [(name, _version(name, cache), *ABOUT[name]) for name in ABOUT],
    )


def _version(name: str, cache: Path) -> str:
    package = CONTENDERS[name][0] if name in CONTENDERS else name.split(" ", maxsplit=1)[0]
    package = {"": name, "faiss": "faiss-cpu"}.get(package, package)
    python = cache / package / "bin" / "python"
    found = _versions_of(python if python.exists() else Path(sys.executable), package)
    return found.rsplit(" ", 1)[-1]


def short_table(lost: Table) -> Table:
    """Return what a reader of the README decides by."""
    chosen = [lost.header.index(name) for name in lost.header if name in SHORT or "wrong" in name]
    rows = [tuple(row[place] for place in chosen) for row in lost.rows]
    rows += [(name, *"-" * (len(chosen) - 2), "by URL only") for name in PLUGINS]
    return Table("", tuple(lost.header[place] for place in chosen), rows)


def write_readme(marks: str, table: str) -> None:
    """Put *table* between the *marks* of the README."""
    begin, end = f"<!-- {marks} -->", f"<!-- /{marks} -->"
    before, _, rest = README.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    README.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")


HEAD = """# Beside its peers

Printed by `python -m benchmarks.peers DATA_FOLDER --write`, each program at the threshold that its documentation names.
[Dynamic sites](dynamic.md) are another table."""


if __name__ == "__main__":
    main()
