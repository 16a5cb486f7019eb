"""The command: `python -m benchmarks.records --help`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product

import click
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.pool import workers
from benchmarks.records import __doc__ as about
from benchmarks.records import articles
from benchmarks.records.kinds import APART, FRAMES, KINDS
from benchmarks.records.running import (
    COUNTERS,
    EDITS,
    NOISE,
    PARTS,
    RECORDS,
    RULES,
    SERIES,
    Case,
    Score,
    score_of,
)
from benchmarks.tables import Row, Table

Found = Mapping[Case, Score]

KINDS_OF = {
    RECORDS: (*KINDS, *APART),
    COUNTERS: tuple(KINDS),
    NOISE: tuple(articles.NOISE),
    EDITS: tuple(articles.EDITS),
    SERIES: ("replies",),
}
TITLES = {False: "one title", True: "own titles"}
DEFAULT = "default"


@click.command(help=(about or "").splitlines()[0])
@click.option("--pages", default=300, show_default=True, help="Records; articles are 2 for 5 of them.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part.")
@click.option("--kind", "kinds", multiple=True, help="Only kinds that have this in their name.")
@click.option("--seed", default=1, show_default=True, help="The same one makes the same pages.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--peers", is_flag=True, help="Also what MinHash, exactly, and SimHash would do.")
@click.option("--examples", is_flag=True, help="Print pages of each kind, and no table.")
def main(
    *,
    pages: int,
    parts: Sequence[str],
    kinds: Sequence[str],
    seed: int,
    jobs: int,
    peers: bool,
    examples: bool,
) -> None:
    asked = [
        case
        for case in cases(pages, seed, tuple(RULES) if peers else (DEFAULT,))
        if (not parts or case.part in parts) and (not kinds or any(kind in case.kind for kind in kinds))
    ]
    if not asked:
        raise click.UsageError(f"no part has a kind named {', '.join(kinds)}; there are {KINDS_OF}")
    for text in map(example, asked) if examples else (each.markdown() for each in tables(asked, jobs)):
        click.echo(f"{text}\n")


def cases(pages: int, seed: int, rules: Sequence[str]) -> list[Case]:
    """Return all that is tried; of 300 records there are 120 articles, and 100 posts."""
    found = []
    for rule, part, titled in product(rules, PARTS, TITLES):
        count = {RECORDS: pages, COUNTERS: pages, SERIES: pages // 3}.get(part, pages * 2 // 5)
        words = {RECORDS: FRAMES, COUNTERS: FRAMES[-1:]}.get(part, (0,))
        orders = articles.ORDERS if part == NOISE else ("",)
        found += [
            Case(part, kind, count, seed, titled, of_frame, order, rule)
            for kind, of_frame, order in product(KINDS_OF[part], words, orders)
        ]
    return found


def example(case: Case) -> str:
    """Return the pages of a content that is met twice or more often, two of them."""
    loads = case.loads()
    copied = next((load.truth for load in loads if load.turn), 0)
    pages = [f"{load.url}\n{load.html}" for load in loads if load.truth == copied]
    return "\n\n".join([f"### {case}", *pages[:2]])


def tables(asked: Sequence[Case], jobs: int) -> Iterator[Table]:
    """Yield a table of each part that is tried, by each rule, as soon as it is known."""
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with workers(jobs) as pool, Progress(*columns, console=Console(stderr=True)) as progress:
        work = progress.add_task("judging made-up pages", total=len(asked))
        for (rule, part), group in groupby(asked, lambda case: (case.rule, case.part)):
            of = list(group)
            scores = pool.each(score_of, of, lambda _: progress.advance(work))
            title = _NAMES[part] if rule == DEFAULT else f"{_NAMES[part]}, by {rule}"
            table = _records_table if part in (RECORDS, COUNTERS) else _summary
            yield table(title, dict(zip(of, scores, strict=True)))


def _records_table(title: str, found: Found) -> Table:
    header = (
        "kind",
        "titles",
        "frame",
        "unique",
        "kept",
        "% kept",
        "copies met",
        "dropped",
        "% dropped",
    )
    rows = [_row(case.kind, case.titled, case.words, [score]) for case, score in found.items()]
    for titled in TITLES:
        of = [score for case, score in found.items() if case.titled == titled and case.kind in KINDS]
        rows += [_row(f"all but {' and '.join(APART)}", titled, "", of)] if of else []
    return Table(title, header, rows)


def _row(kind: str, titled: bool, words: object, scores: Sequence[Score]) -> Row:
    counts = [(score.unique, score.kept, score.copies, score.dropped) for score in scores]
    unique, kept, copies, dropped = map(sum, zip(*counts, strict=True))
    shares = (f"{kept / unique:.1%}", f"{dropped / max(copies, 1):.1%}")
    return (kind, TITLES[titled], words, unique, kept, shares[0], copies, dropped, shares[1])


def _summary(title: str, found: Found) -> Table:
    """Return a table of a row for each kind: how many are dropped at the second address, the third ..."""
    columns = dict.fromkeys(f"{TITLES[case.titled]} {case.order}".strip() for case in found)
    by_kind: dict[str, list[str]] = {}
    for case, score in found.items():
        turns = ", ".join(map(str, score.turns[1:])) if case.part == SERIES else score.dropped
        by_kind.setdefault(case.kind, []).append(f"{turns} / {score.unique - score.kept}")
    one = next(iter(found.values()))
    each = (
        f"Of {one.unique} at each address"
        if len(one.turns) == articles.SERIES
        else f"Of {one.copies} copies"
    )
    rows = [(kind, *cells) for kind, cells in by_kind.items()]
    return Table(
        title, ("kind", *columns), rows, note=f"{each}, dropped / of {one.unique} contents, lost."
    )


_NAMES = {part: part.capitalize() for part in PARTS} | {COUNTERS: "Records with counters"}


if __name__ == "__main__":
    main()
