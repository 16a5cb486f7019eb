"""The command: `python -m benchmarks.records --help`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product

import click
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.accuracy.folding import workers
from benchmarks.accuracy.report import Row, Table
from benchmarks.records import __doc__ as about
from benchmarks.records.articles import EDITS as KINDS_OF_EDITS
from benchmarks.records.articles import IN_A_ROW, SHUFFLED
from benchmarks.records.articles import NOISE as KINDS_OF_NOISE
from benchmarks.records.kinds import APART, FRAMES, KINDS
from benchmarks.records.running import (
    COUNTERS,
    DEFAULT,
    EDITS,
    MINHASH,
    NOISE,
    PARTS,
    RECORDS,
    SERIES,
    SIMHASH,
    Case,
    Score,
    score_of,
)

Found = Mapping[Case, Score]
KINDS_OF = {
    RECORDS: (*KINDS, *APART),
    COUNTERS: tuple(KINDS),
    NOISE: tuple(KINDS_OF_NOISE),
    EDITS: tuple(KINDS_OF_EDITS),
    SERIES: ("replies",),
}
_TITLES = {False: "one title", True: "own titles"}
# Of 300 records there are 120 articles, and 100 posts.
_ARTICLES, _POSTS = 0.4, 1 / 3


@click.command(help=(about or "").splitlines()[0])
@click.option("--pages", default=300, show_default=True, help="Records; articles are 2 for 5 of them.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="One of the parts only.")
@click.option("--kind", "kinds", multiple=True, help="Kinds with one of these in their name only.")
@click.option("--seed", default=1, show_default=True, help="The same one makes the same pages.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--peers", is_flag=True, help="Also what MinHash (exact Jaccard) and SimHash would do.")
@click.option("--examples", is_flag=True, help="Print pages that are met, and no table.")
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
        for case in cases(pages, seed, (DEFAULT, MINHASH, SIMHASH) if peers else (DEFAULT,))
        if (not parts or case.part in parts) and (not kinds or any(kind in case.kind for kind in kinds))
    ]
    if not asked:
        raise click.UsageError(f"no part has a kind named {', '.join(kinds)}; there are {KINDS_OF}")
    if examples:
        click.echo("\n\n".join(map(example, asked)))
        return
    click.echo("\n\n".join(table.markdown() for table in tables(run(asked, jobs))))


def cases(pages: int, seed: int, rules: Sequence[str]) -> list[Case]:
    """Return all that is tried."""
    found: list[Case] = []
    for rule, titled, part in product(rules, (False, True), PARTS):
        for kind in KINDS_OF[part]:
            if part == RECORDS:
                found += [Case(part, kind, pages, seed, titled, words, rule=rule) for words in FRAMES]
            elif part == COUNTERS:
                found.append(Case(part, kind, pages, seed, titled, FRAMES[-1], rule=rule))
            elif part == NOISE:
                found += [
                    Case(part, kind, round(_ARTICLES * pages), seed, titled, order=order, rule=rule)
                    for order in (IN_A_ROW, SHUFFLED)
                ]
            else:
                count = round((_ARTICLES if part == EDITS else _POSTS) * pages)
                found.append(Case(part, kind, count, seed, titled, rule=rule))
    return found


def run(asked: Sequence[Case], jobs: int) -> Found:
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with workers(jobs) as pool, Progress(*columns, console=Console(stderr=True)) as progress:
        work = progress.add_task("judging made-up pages", total=len(asked))
        return dict(
            zip(asked, pool.each(score_of, asked, lambda _: progress.advance(work)), strict=True)
        )


def example(case: Case) -> str:
    """Return two pages that say the same, or one that nothing repeats."""
    loads = case.loads()
    copied = next((load.truth for load in loads if load.turn), 0)
    shown = [f"{load.url}\n{load.html}" for load in loads if load.truth == copied][:2]
    return "\n\n".join([f"### {case}", *shown])


def tables(found: Found) -> list[Table]:
    """Return the tables of the parts that were tried, by each rule."""
    made: list[Table] = []
    for rule, (part, table) in product(dict.fromkeys(case.rule for case in found), _TABLES.items()):
        of = {case: score for case, score in found.items() if (case.rule, case.part) == (rule, part)}
        title = _NAMES[part] if rule == DEFAULT else f"{_NAMES[part]}, by {rule}"
        made += [table(title, of)] if of else []
    return made


def _records_table(title: str, found: Found) -> Table:
    rows: list[Row] = [
        (case.kind, _TITLES[case.titled], case.words, *_cells(score)) for case, score in found.items()
    ]
    for titled, titles in _TITLES.items():
        scores = [
            score for case, score in found.items() if case.titled == titled and case.kind not in APART
        ]
        if len(scores) > 1:
            rows.append((f"all but {' and '.join(APART)}", titles, "", *_cells(_sum(scores))))
    return Table(
        title,
        (
            "kind",
            "titles",
            "frame",
            "unique records",
            "kept",
            "% kept",
            "copies met",
            "dropped",
            "% dropped",
        ),
        rows,
    )


def _cells(score: Score) -> Row:
    kept, dropped = score.kept / score.unique, score.dropped / max(score.copies, 1)
    return (score.unique, score.kept, f"{kept:.1%}", score.copies, score.dropped, f"{dropped:.1%}")


def _sum(scores: Sequence[Score]) -> Score:
    counts = [(score.unique, score.kept, score.copies, score.dropped) for score in scores]
    unique, kept, copies, dropped = map(sum, zip(*counts, strict=True))
    return Score(unique, kept, copies, dropped, turns=())


def _noise_table(title: str, found: Found) -> Table:
    columns = [(titled, order) for titled in _TITLES for order in (IN_A_ROW, SHUFFLED)]
    by_kind: dict[str, dict[tuple[bool, str], Score]] = {}
    for case, score in found.items():
        by_kind.setdefault(case.kind, {})[case.titled, case.order] = score
    rows = [
        (kind, *(f"{scores[key].dropped} / {scores[key].unique - scores[key].kept}" for key in columns))
        for kind, scores in by_kind.items()
    ]
    one = next(iter(found.values()))
    return Table(
        title,
        ("noise", *(f"{_TITLES[titled]}, {order}" for titled, order in columns)),
        rows,
        note=f"Copies dropped of {one.copies} / articles lost of {one.unique}.",
    )


def _turns_table(title: str, found: Found) -> Table:
    rows = [
        (case.kind, _TITLES[case.titled], *score.turns[1:], score.unique - score.kept)
        for case, score in found.items()
    ]
    one = next(iter(found.values()))
    return Table(
        title,
        (
            "kind",
            "titles",
            *(f"dropped at address {turn + 1}" for turn in range(1, len(one.turns))),
            "lost",
        ),
        rows,
        note=f"Pages dropped, of {one.unique} at each address, and contents lost.",
    )


_TABLES = {
    RECORDS: _records_table,
    COUNTERS: _records_table,
    NOISE: _noise_table,
    EDITS: _turns_table,
    SERIES: _turns_table,
}
_NAMES = {part: part.capitalize() for part in PARTS} | {COUNTERS: "Records with counters"}


if __name__ == "__main__":
    main()
