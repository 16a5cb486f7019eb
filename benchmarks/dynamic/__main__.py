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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.dynamic.days import ONE_OF, Day, day_of
from benchmarks.dynamic.place import Place, install
from benchmarks.dynamic.programs import PROGRAMS, Program
from benchmarks.dynamic.replay import (
    ENDING,
    by_minhash,
    by_simhash,
    load,
    ours,
    save,
    words_nowhere,
    words_only_in,
)
from benchmarks.dynamic.running import ROOT, free_port
from benchmarks.dynamic.truth import Crawled, counts_of, keys_of
from benchmarks.tables import Row, Table


def as_crawled(pages: Sequence[Crawled]) -> dict[int, int]:
    """Return what the crawl has dropped, which asked some addresses twice; nobody noted for which page."""
    return {number: -1 for number, page in enumerate(pages) if page.dropped}


RULES: dict[str, Callable[[Sequence[Crawled]], dict[int, int]]] = {
    "the crawl": as_crawled,
    "scrapy-dedup": ours,
    "MinHash .8": by_minhash,
    "SimHash 3": by_simhash,
}
SHOWN = 25
DOCUMENT = ROOT / "docs/dynamic.md"
HEAD = """# Web programs, and what is kept and lost of them

Printed by `python -m benchmarks.dynamic --write`. Each program is installed, filled with texts that Debian's packages
bring (Python's manual, the Debian Handbook and Gimp's help in Chinese, fortunes, descriptions of packages), served on
this machine with the widgets that such sites have, and crawled up to some hundred pages (`--pages`), the nearest
first, with the default settings and an empty index.

- What a page is about is known by the elements in which its program shows it: title and text are its key, answers,
  comments and reviews its parts. Pages without such elements (lists, forms, differences) are not judged.
- A **copy** is a page all of whose content stands on one page before it. **Dropped** are the copies that were dropped.
- **Lost** are contents that no page kept has in full, once for each content, even where a page that is not judged, such
  as the difference of two versions, still shows them. **Words nowhere** are the words of these pages that are in no run
  of four words of any page kept, numbers left out.
- MinHash stands for all programs that drop a page with .8 of the runs of four words of another (exactly counted),
  SimHash for those that drop it at 3 bits of 64 or less (runs of four letters); both read all that a browser shows.

Programs:
"""
TRIED = """Tried as well: FlaskBB 2.2.0, a forum, cannot be built with today's setuptools. django-wiki 0.13.0 and Puput 2.2.0,
a wiki and a blog, install, but have not been filled. The lists of django-oscar 4.2.1, a shop, ask a search engine: it
is started at a list of its own, and has not been crawled to the end.

`--keep FOLDER` keeps the crawls, and `--replay FOLDER` puts those through the rule as it is now, without any program;
`--list` names what was lost and kept.
"""

NOTE = f"""The same program was crawled again with `DEDUP_UNCHANGED = "drop"`. On its way one content of {ONE_OF} got a
new word, the same one at each address. **Unchanged** are pages that say what they said the day before at the same
address, whatever else moves on them; **other pages** are those that are not judged, such as lists; **missed** are
**changed** contents of which no page was delivered."""


def crawled(program: Program, pages: int, cache: Path, days: int = 1) -> list[list[Crawled]]:
    """Install, fill and serve *program*, and return the pages of a crawl of it on each day."""
    install(program.packages)
    with TemporaryDirectory() as folder:
        place = Place(Path(folder), free_port(), cache)
        with program.start(place) as path:
            return [_crawled_on(day, program, place, path, pages) for day in range(1, days + 1)]


def _crawled_on(day: int, program: Program, place: Place, path: str, pages: int) -> list[Crawled]:
    files = {name: str(place.folder / name) for name in ("index", "result", "log")}
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


def table_of(found: Mapping[str, Mapping[str, Row]]) -> Table:
    """Return the table of the *found* rows by program and rule."""
    head = (
        "program",
        "rule",
        "pages",
        "copies",
        "dropped",
        "kept",
        "%",
        "lost",
        "% of drops",
        "words nowhere",
    )
    rows = [row for by_rule in found.values() for row in by_rule.values()]
    return Table("Copies and losses", head, rows)


def row_of(name: str, rule: str, pages: Sequence[Crawled], dropped: Mapping[int, int]) -> Row:
    """Return what *rule* did to the program of that *name*."""
    counts = counts_of(pages, dropped)
    gone = counts.copies - len(counts.kept)
    share, lost = f"{100 * counts.share:.1f}", f"{100 * counts.lost_share:.2f}"
    words = sum(map(len, words_nowhere(pages, dropped, counts.lost).values()))
    return (
        name,
        rule,
        counts.pages,
        counts.copies,
        gone,
        len(counts.kept),
        share,
        len(counts.lost),
        lost,
        words,
    )


def table_of_days(found: Mapping[str, Sequence[Day]]) -> Table:
    """Return the table of what was delivered by program and day."""
    head = (
        "program",
        "day",
        "unchanged",
        "delivered",
        "%",
        "other pages",
        "delivered",
        "changed",
        "missed",
    )
    rows = [
        (
            name,
            number,
            day.unchanged,
            len(day.delivered),
            f"{100 * len(day.delivered) / max(1, day.unchanged):.1f}",
            day.others,
            day.others_delivered,
            day.changed,
            len(day.missed),
        )
        for name, days in found.items()
        for number, day in enumerate(days, 2)
    ]
    return Table("Later days", head, rows, NOTE)


def listed(pages: Sequence[Crawled], dropped: Mapping[int, int]) -> list[str]:
    """Return a line for each content lost and each copy kept."""
    counts = counts_of(pages, dropped)
    lines = []
    for number, nowhere in words_nowhere(pages, dropped, counts.lost).items():
        other = pages[dropped[number]] if dropped[number] >= 0 else None
        words = words_only_in(pages[number], other)
        lines.append(f"lost {pages[number].url}\n  for {other.url if other else '?'}: {_some(words)}")
        lines.append(f"  nowhere: {_some(nowhere)}")
    for number in counts.kept:
        held = next(one for one in pages if one.key and one.holds(pages[number]))
        words = words_only_in(pages[number], held)
        lines.append(f"kept {pages[number].url}\n  like {held.url}: {_some(words)}")
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
@click.option("--write", is_flag=True, help="Write docs/dynamic.md.")
@click.option("--list", "lists", is_flag=True, help="Name what is kept and lost.")
@click.option("--peers/--no-peers", default=True, help="Count what MinHash and SimHash do, too.")
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
    peers: bool,
) -> None:
    found: dict[str, dict[str, Row]] = {}
    later: dict[str, list[Day]] = {}
    there = (
        {path.name.removesuffix(ENDING): path for path in sorted(replay.glob(f"*{ENDING}"))}
        if replay
        else {}
    )
    for name in programs or there or PROGRAMS:
        if replay:
            crawl = load(there[name])
        else:
            crawl, *others = crawled(PROGRAMS[name], pages, cache.expanduser(), days)
            later[name] = [day_of(before, today) for before, today in pairwise([crawl, *others])]
            if lists:
                click.echo("\n".join(f"delivered {url}" for day in later[name] for url in day.delivered))
                click.echo("\n".join(f"missed {url}" for day in later[name] for url in day.missed))
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            save(keep / f"{name}{ENDING}", crawl)
        found[name] = {}
        for rule, drops in list(RULES.items())[: None if peers else 2]:
            dropped = drops(crawl)
            found[name][rule] = row_of(name, rule, crawl, dropped)
            if lists and rule == "the crawl":
                click.echo("\n".join(listed(crawl, dropped)))
    table = table_of(found).markdown()
    if days > 1:
        table += f"\n{table_of_days(later).markdown()}"
    click.echo(table)
    if write:
        about = "\n".join(f"- **{name}**: {PROGRAMS[name].kind}." for name in found)
        DOCUMENT.write_text(f"{HEAD}\n{about}\n\n{TRIED}\n{table}\n", "utf-8")


if __name__ == "__main__":
    main()
