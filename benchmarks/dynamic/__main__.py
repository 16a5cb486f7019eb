"""Crawl real web programs, and count the copies that are kept and the contents that are lost.

python -m benchmarks.dynamic                            # all programs; installs what they need
python -m benchmarks.dynamic wordpress --list           # one, with the URLs of what is kept and lost
python -m benchmarks.dynamic --days 3                   # and what is delivered on the second and third day
python -m benchmarks.dynamic --keep FOLDER              # the crawls stay there
python -m benchmarks.dynamic --replay FOLDER            # those crawls once more, by the rule as it is now
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.child import ROOT
from benchmarks.dynamic.days import day_of
from benchmarks.dynamic.place import Place, install
from benchmarks.dynamic.programs import PROGRAMS, Program
from benchmarks.dynamic.replay import ENDING, by_minhash, load, ours, save, words_only_in
from benchmarks.dynamic.running import free_port
from benchmarks.dynamic.truth import Crawled, counts_of, keys_of
from benchmarks.tables import Row, Table, put

HEADER = ("program", "rule", "pages", "copies", "dropped", "kept", "%", "lost", "% of drops")
OF_DAYS = (
    *("program", "day", "unchanged", "delivered", "%"),
    *("other pages", "delivered", "changed", "missed"),
)
SHOWN = 25


def as_crawled(pages: Sequence[Crawled]) -> dict[int, int]:
    """Return what the crawl has dropped, which asked some addresses twice; nobody noted for which page."""
    return {number: -1 for number, page in enumerate(pages) if page.dropped}


RULES: dict[str, Callable[[Sequence[Crawled]], dict[int, int]]] = {
    "the crawl": as_crawled,
    "scrapy-dedup": ours,
    "MinHash .8": by_minhash,
}


def crawled(program: Program, pages: int, cache: Path, days: int) -> list[list[Crawled]]:
    """Install, fill and serve *program*, and return the pages of a crawl of it on each day."""
    install(program.packages)
    with TemporaryDirectory() as folder:
        place = Place(Path(folder), free_port(), cache)
        with program.start(place) as path:
            return [_crawled_on(day, program, place, path, pages) for day in range(1, days + 1)]


def _crawled_on(day: int, program: Program, place: Place, path: str, pages: int) -> list[Crawled]:
    files = {name: str(place.folder / name) for name in ("index", "result", "log")}
    (place.folder / "day").write_text(str(day))
    job = {"port": place.port, "path": path, "deny": program.deny, "pages": pages, "day": day, **files}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.dynamic.crawl"],
        input=json.dumps({**job, "content": asdict(program.content)}).encode(),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    records = map(json.loads, Path(files["result"]).read_text("utf-8").splitlines())
    return [
        Crawled(one["url"], one["html"], *keys_of(one["html"], program.content), one["dropped"])
        for one in records
    ]


def row_of(name: str, rule: str, pages: Sequence[Crawled], dropped: Mapping[int, int]) -> Row:
    """Return what *rule* did to the program of that *name*."""
    counts = counts_of(pages, dropped)
    gone, lost = counts.copies - len(counts.kept), len(counts.lost)
    shares = (
        f"{100 * part / whole:.1f}" if whole else ""
        for part, whole in ((gone, counts.copies), (lost, counts.drops))
    )
    return (
        name,
        rule,
        len(pages),
        counts.copies,
        gone,
        len(counts.kept),
        next(shares),
        lost,
        next(shares),
    )


def rows_of_days(name: str, crawls: Sequence[Sequence[Crawled]], *, lists: bool) -> Iterator[Row]:
    """Yield what was delivered on each day but the first."""
    for number, (before, today) in enumerate(pairwise(crawls), 2):
        day = day_of(before, today)
        if lists:
            click.echo("\n".join(f"delivered {url}" for url in day.delivered))
            click.echo("\n".join(f"missed {url}" for url in day.missed))
        share = f"{100 * len(day.delivered) / max(1, day.unchanged):.1f}"
        yield (
            *(name, number, day.unchanged, len(day.delivered), share),
            *(day.others, day.others_delivered, day.changed, len(day.missed)),
        )


def listed(pages: Sequence[Crawled], dropped: Mapping[int, int]) -> list[str]:
    """Return a line for each content lost and each copy kept."""
    counts = counts_of(pages, dropped)
    lines = []
    for number in counts.lost:
        other = pages[dropped[number]] if dropped[number] >= 0 else None
        words = words_only_in(pages[number], other)
        lines.append(f"lost {pages[number].url}\n  for {other.url if other else '?'}: {_some(words)}")
    for number in counts.kept:
        held = next(one for one in pages if one.key and one.holds(pages[number]))
        lines.append(
            f"kept {pages[number].url}\n  like {held.url}: {_some(words_only_in(pages[number], held))}"
        )
    return lines


def _some(words: Sequence[str]) -> str:
    return f"{len(words)} words, {' '.join(words[:SHOWN])}"


@click.command(help=__doc__)
@click.argument("programs", nargs=-1, type=click.Choice(list(PROGRAMS)))
@click.option("--pages", default=600, show_default=True, help="Of each program.")
@click.option("--days", default=1, show_default=True, help="Crawl each program on so many days.")
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for the crawls.")
@click.option("--replay", type=click.Path(path_type=Path, exists=True), help="A folder of crawls.")
@click.option("--cache", type=click.Path(path_type=Path), default=Path("~/.cache/dedup-dynamic"))
@click.option("--write", is_flag=True, help="Write the tables to docs/dynamic.md.")
@click.option("--list", "lists", is_flag=True, help="Name what is kept and lost.")
def main(
    *,
    programs: Sequence[str],
    pages: int,
    days: int,
    keep: Path | None,
    replay: Path | None,
    cache: Path,
    write: bool,
    lists: bool,
) -> None:
    rows, later = list[Row](), list[Row]()
    there = (
        sorted(path.name.removesuffix(ENDING) for path in replay.glob(f"*{ENDING}"))
        if replay
        else PROGRAMS
    )
    for name in programs or there:
        if replay:
            crawls = [load(replay / f"{name}{ENDING}")]
        else:
            crawls = crawled(PROGRAMS[name], pages, cache.expanduser(), days)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            save(keep / f"{name}{ENDING}", crawls[0])
        later += rows_of_days(name, crawls, lists=lists)
        for rule, drops in RULES.items():
            dropped = drops(crawls[0])
            rows.append(row_of(name, rule, crawls[0], dropped))
            if lists and rule == "the crawl":
                click.echo("\n".join(listed(crawls[0], dropped)))
    tables = {"copies": Table("Copies and losses", HEADER, rows)}
    if later:
        tables["days"] = Table("Later days", OF_DAYS, later)
    for mark, table in tables.items():
        click.echo(f"{table.markdown()}\n")
        if write:
            put(ROOT / "docs/dynamic.md", mark, table)


if __name__ == "__main__":
    main()
