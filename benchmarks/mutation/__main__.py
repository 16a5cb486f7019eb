"""Change the core in one place at a time, and see whether a test notices.

    python -m benchmarks.mutation --mutants 150 --seed 0
    python -m benchmarks.mutation --modules "dedup/index/*" --again

Mutants are drawn at random, the same for a seed wherever code has moved to.  Each is tested in a copy of
the repository by the tests that belong to its module, see `benchmarks.mutation.table`.  What is found is
added to OUT row by row; a command broken off goes on where it was, and what OUT has is not tested again,
but with --again what survived is.  Survivors are no failure: they are for a person to read.

Why our own: mutmut 3 changes functions only, no properties, and finds their tests by running all of them in
one process; cosmic-ray has one command of tests for all modules.  Neither draws a sample, leaves out
statements, swaps arguments or cuts slices.
"""

from __future__ import annotations

import csv
import signal
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatch
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from benchmarks.mutation.operators import Change, Mutant, mutants
from benchmarks.mutation.running import ROOT, Bench
from benchmarks.mutation.table import EQUIVALENT, TESTS

OUT = ROOT / "build" / "mutation.csv"


@dataclass(frozen=True, slots=True)
class Found(Change):
    """A row of the file: a mutant, and its *outcome*: killed, survived, or equivalent.

    *by* is what test killed it, or why no test can.
    """

    outcome: str
    by: str
    seconds: float

    def __str__(self) -> str:
        sign = f"{self.module}:{self.line}  {self.outcome}"
        return f"{sign} {self.by} ({self.seconds:.1f} s)\n  - {self.before}\n  + {self.after}"


Known = Mapping[tuple[str, str, str, int], Found]


def tests_of(module: str, table: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the tests of *module* by the first pattern of *table* that fits, none where none does."""
    return next((tests for pattern, tests in table.items() if fnmatch(module, pattern)), ())


def modules_of(
    root: Path, table: Mapping[str, Sequence[str]], patterns: Sequence[str] = ()
) -> list[str]:
    """Return the modules that *table* has tests for, those that fit one of *patterns* if there are any."""
    paths = (path.relative_to(root).as_posix() for path in sorted((root / "dedup").rglob("*.py")))
    return [
        path
        for path in paths
        if tests_of(path, table) and (not patterns or any(fnmatch(path, one) for one in patterns))
    ]


def sample(all_mutants: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return *size* mutants, or all; other code, or where it stands, does not change which."""

    def rank(mutant: Mutant) -> bytes:
        drawn = repr((seed, mutant.before, mutant.after, mutant.place))
        return blake2b(drawn.encode(), digest_size=8).digest()

    return sorted(all_mutants, key=lambda mutant: (rank(mutant), mutant.module))[:size]


def reason(mutant: Mutant, equivalent: Mapping[str, str]) -> str:
    """Return why no test can tell *mutant* from its module, empty where nothing is known of that."""
    line = f"{mutant.module}: {mutant.before}"
    return equivalent.get(f"{line} -> {mutant.after}", equivalent.get(line, ""))


def read(path: Path) -> list[Found]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Found(
                row[0], int(row[1]), row[2], row[3], row[4], int(row[5]), row[6], row[7], float(row[8])
            )
            for row in list(csv.reader(file))[1:]
        ]


def write(path: Path, rows: Iterable[Found], *, anew: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    begins = anew or not path.exists()
    with path.open("w" if anew else "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Found)], lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def judged(
    chosen: Sequence[Mutant],
    known: Known,
    bench: Bench,
    table: Mapping[str, Sequence[str]],
    equivalent: Mapping[str, str],
) -> Iterator[tuple[Found, bool]]:
    """Yield what became of each of *chosen*, and whether it is new; those *known* are not tested again."""
    new = [one for one in chosen if one.key not in known and not reason(one, equivalent)]
    if new:
        bench.prepare(all_tests(new, table))
    for mutant in chosen:
        before = known.get(mutant.key)
        if why := reason(mutant, equivalent):
            yield _found(mutant, "equivalent", why, 0.0), False
        elif before:
            yield replace(before, line=mutant.line), False
        else:
            fate = bench.fate(mutant, tests_of(mutant.module, table))
            outcome = "killed" if fate.is_killed else "survived"
            yield _found(mutant, outcome, fate.by, round(fate.seconds, 1)), True


def all_tests(chosen: Iterable[Mutant], table: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the modules of *chosen*, for their doctests, and their tests, each once."""
    modules = {mutant.module: tests_of(mutant.module, table) for mutant in chosen}
    return list(dict.fromkeys([*modules, *chain.from_iterable(modules.values())]))


def _found(mutant: Mutant, outcome: str, by: str, seconds: float) -> Found:
    return Found(mutant.module, mutant.line, mutant.operator, *mutant.key[1:], outcome, by, seconds)


def summary(rows: Sequence[Found]) -> str:
    """Return the counts by module, survivors, and the share that was killed of those that could be."""
    by_module = defaultdict(list)
    for row in rows:
        by_module[row.module].append(row)
    width = max(map(len, by_module), default=0)
    lines = [f"{'':{width}} killed survived equivalent"]
    for module, own in [*sorted(by_module.items()), ("all", list(rows))]:
        killed, survived, equivalent = (_count(own, one) for one in ("killed", "survived", "equivalent"))
        lines.append(f"{module:{width}} {killed:6} {survived:8} {equivalent:10}")
    killed, survived = _count(rows, "killed"), _count(rows, "survived")
    if killed + survived:
        seconds = [row.seconds for row in rows if row.outcome != "equivalent"]
        lines.append(
            f"{killed / (killed + survived):.1%} of {killed + survived} killed; "
            f"{statistics.mean(seconds):.1f} s a mutant, median {statistics.median(seconds):.1f} s"
        )
    return "\n".join(lines)


def _count(rows: Iterable[Found], outcome: str) -> int:
    return sum(row.outcome == outcome for row in rows)


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--mutants", "size", default=150, show_default=True, help="How many are drawn.")
@click.option("--seed", default=0, show_default=True, help="Which are drawn.")
@click.option("--modules", "patterns", multiple=True, metavar="GLOB", help="Of these modules only.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=OUT)
@click.option("--again", is_flag=True, help="Test those again that survived before.")
def main(*, size: int, seed: int, patterns: tuple[str, ...], out: Path, again: bool) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # with the tests under way
    modules = modules_of(ROOT, TESTS, patterns)
    every = [mutant for module in modules for mutant in mutants(module, (ROOT / module).read_bytes())]
    chosen = sample(every, size, seed)
    click.echo(f"{len(chosen)} of {len(every):,} mutants of {len(modules)} modules", err=True)
    rows = [row for row in read(out) if not (again and row.outcome == "survived")]
    write(out, rows, anew=True)
    found = tested(chosen, {row.key: row for row in rows}, out)
    survivors = [str(row) for row in found if row.outcome == "survived"]
    click.echo("\n".join([*survivors, summary(found)]))


def tested(chosen: Sequence[Mutant], known: Known, out: Path) -> list[Found]:
    """Return what became of *chosen*; shows it, with a bar on a terminal, and adds what is new to *out*."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="dedup-") as folder,
        Progress(*columns, console=console, disable=not console.is_terminal) as bar,
    ):
        fates = judged(chosen, known, Bench(ROOT, Path(folder)), TESTS, EQUIVALENT)
        for row, is_new in bar.track(fates, len(chosen), description="mutants"):
            found.append(row)
            if is_new:
                write(out, [row])
                console.print(str(row))
    return found


if __name__ == "__main__":
    main()
