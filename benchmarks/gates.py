"""Run the commands behind the promises, and name what fell.

    python -m benchmarks.gates --list                  # what is promised
    python -m benchmarks.gates --data FOLDER           # all of it
    python -m benchmarks.gates --only Settings --only Lines

The promises stand in `benchmarks/gates.toml`: a command, the figure that it prints, and the worst value that is
allowed.  Figures that depend on the machine are measured here and in the commit before (--against), in turn, and
the ratio of the medians counts.  Run it before a change is landed; it is not for CI, where machines are noisy.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
# The folder of labelled pages in which the manuals are.
MANUALS = "manual_versions/html.tar.xz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A promise; the fields are explained in the table."""

    promise: str
    command: str
    figure: str
    most: float | None = None
    least: float | None = None
    paired: bool = False

    def __post_init__(self) -> None:
        if (self.most is None) == (self.least is None):
            raise click.ClickException(f"{self.promise}: give the most that is allowed, or the least")
        if re.compile(self.figure).groups != 1:
            raise click.ClickException(f"{self.promise}: the figure must have one group")

    def holds(self, value: float) -> bool:
        """Return whether *value* is allowed; the bound itself is."""
        return value <= self.most if self.most is not None else value >= (self.least or 0.0)

    @property
    def bound(self) -> str:
        """What is allowed, as the report says it."""
        sign, value = ("≥", self.least) if self.most is None else ("≤", self.most)
        return f"{sign} {value:,g}{' times' if self.paired else ''}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a gate: the *value* that counts, what was measured, or why nothing was."""

    gate: Gate
    value: float | None
    told: str

    @property
    def is_kept(self) -> bool:
        """Whether the promise is kept; one that could not be measured is not."""
        return self.value is not None and self.gate.holds(self.value)


def gates(path: Path = TABLE) -> list[Gate]:
    """Return the promises in the table."""
    return [Gate(**one) for one in tomllib.loads(path.read_text("utf-8"))["gate"]]


def figure_in(gate: Gate, output: str) -> float | None:
    """Return the figure of *gate* in the output of its command, the worst of several, None for none."""
    values = [float(found.replace(",", "")) for found in re.findall(gate.figure, output, re.DOTALL)]
    return None if not values else max(values) if gate.most is not None else min(values)


class Bench:
    """Runs commands in folders of the repository; each once, unless it is asked to run again."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = places
        self._outputs: dict[tuple[Path, str], str] = {}

    def output(self, command: str, folder: Path = ROOT, *, again: bool = False) -> str:
        """Return what *command* prints in *folder*, errors too."""
        key = (folder, command)
        if again or key not in self._outputs:
            self._outputs[key] = self._run(command, folder)
        return self._outputs[key]

    def lacks(self, command: str) -> str:
        """Return the name of a folder that *command* needs and that was not given, "" for none."""
        needed = re.findall(r"\{(\w+)\}", command)
        return next((name for name in needed if name not in self._places), "")

    def _run(self, command: str, folder: Path) -> str:
        parts = shlex.split(command.format(**self._places))
        arguments = parts if parts[0] == "make" else [sys.executable, *parts]
        environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"}
        done = subprocess.run(
            arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr


def measured(gate: Gate, bench: Bench, before: Path | None, rounds: int) -> Outcome:
    """Return the outcome of *gate*; a paired one is measured in turn here and in the folder *before*."""
    if name := bench.lacks(gate.command):
        return Outcome(
            gate,
            None,
            f"not measured: --data has no {name}" if name != "data" else "not measured: give --data",
        )
    if not gate.paired:
        value = figure_in(gate, bench.output(gate.command))
        return Outcome(
            gate, value, "the command printed no such figure" if value is None else f"{value:,g}"
        )
    if before is None:
        return Outcome(gate, None, "not measured: there is no commit before")
    turns = [
        [figure_in(gate, bench.output(gate.command, folder, again=True)) for folder in (before, ROOT)]
        for _ in range(rounds)
    ]
    then, now = ([one for one in column if one is not None] for column in zip(*turns, strict=True))
    if len(then) < rounds or len(now) < rounds or not median(then):
        return Outcome(gate, None, "the command printed no such figure")
    ratio = median(now) / median(then)
    spread = f"{min(now):,g} to {max(now):,g}, before {min(then):,g} to {max(then):,g}"
    return Outcome(gate, ratio, f"{ratio:.3f} times ({spread})")


@contextmanager
def checked_out(revision: str) -> Iterator[Path | None]:
    """Give a folder with the repository at *revision*, compiled as it is here; None if there is none."""
    with tempfile.TemporaryDirectory(prefix="dedup-gates-") as scratch:
        folder = Path(scratch, "before")
        add = ["git", "worktree", "add", "--quiet", "--detach", str(folder), revision]
        if subprocess.run(add, cwd=ROOT, check=False).returncode:
            yield None
            return
        try:
            _compile(folder)
            yield folder
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True)


def _compile(folder: Path) -> None:
    """Put the compiled modules where the sources are."""
    with tempfile.TemporaryDirectory(prefix="dedup-gates-") as target:
        install = ["install", "--quiet", "--no-deps", "--target", target, str(folder)]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
        for part in Path(target, "dedup", "native").glob("_*.*"):
            if part.suffix in (".so", ".pyd"):
                shutil.copy(part, folder / "dedup" / "native")


@contextmanager
def places_in(data: Path | None, commands: Iterable[str]) -> Iterator[dict[str, Path]]:
    """Give the folders that commands name in braces, the manuals unpacked if one of them names those."""
    if data is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="dedup-manuals-") as scratch:
        places = {"data": data.resolve()}
        if (data / MANUALS).exists() and any("{manual}" in command for command in commands):
            with tarfile.open(data / MANUALS) as archive:
                archive.extractall(scratch, filter="data")
            places["manual"] = Path(scratch)
        yield places


@cache
def _console() -> Console:
    return Console(stderr=True)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Labelled pages."
)
@click.option("--only", multiple=True, metavar="TEXT", help="Promises with this text; may be repeated.")
@click.option(
    "--against", default="HEAD~1", show_default=True, help="The commit that speed is paired with."
)
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1), help="Turns of what is paired."
)
@click.option("--list", "is_listed", is_flag=True, help="List the promises, and measure nothing.")
def main(
    *, data: Path | None, only: tuple[str, ...], against: str, rounds: int, is_listed: bool
) -> None:
    chosen = [
        one for one in gates() if not only or any(text.lower() in one.promise.lower() for text in only)
    ]
    if not chosen:
        raise click.ClickException("no promise has that text; --list shows all")
    if is_listed:
        listed(chosen)
        return
    outcomes = list(_measured(chosen, data, against, rounds))
    report(outcomes)
    if fallen := [one.gate.promise for one in outcomes if not one.is_kept]:
        raise click.ClickException("not kept: " + "; ".join(fallen))


def _measured(chosen: Sequence[Gate], data: Path | None, against: str, rounds: int) -> Iterator[Outcome]:
    is_paired = any(one.paired for one in chosen)
    with places_in(data, [one.command for one in chosen]) as places:
        bench = Bench(places)
        with checked_out(against) if is_paired else _nothing() as before:
            for number, gate in enumerate(chosen, 1):
                with _console().status(f"{number} of {len(chosen)}: {gate.promise}"):
                    outcome = measured(gate, bench, before, rounds)
                sign = "kept" if outcome.is_kept else "NOT KEPT"
                _console().print(
                    f"{sign}: {gate.promise}: {outcome.told}", highlight=False, markup=False
                )
                yield outcome


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


def listed(chosen: Iterable[Gate]) -> None:
    """Print the promises with their commands."""
    table = Table("promise", "allowed", "command")
    for gate in chosen:
        table.add_row(gate.promise, gate.bound, gate.command)
    Console().print(table)


def report(outcomes: Iterable[Outcome]) -> None:
    """Print what was measured beside what is allowed."""
    table = Table("promise", "allowed", "measured", "")
    for one in outcomes:
        table.add_row(
            one.gate.promise, one.gate.bound, one.told, "kept" if one.is_kept else "[red]NOT KEPT"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
