"""Run the commands behind the promises, and name what fell.

    python -m benchmarks.gates --list                  # what is promised
    python -m benchmarks.gates --data FOLDER           # all of it
    python -m benchmarks.gates --only Settings --only Lines

The promises stand in `benchmarks/gates.toml`: a command, the figure that it prints, and the worst value that is
allowed.  Run it before a change is landed; it is not for CI, where machines are noisy.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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

    def __post_init__(self) -> None:
        if (self.most is None) == (self.least is None) or re.compile(self.figure).groups != 1:
            raise click.ClickException(f"{self.promise}: give `most` or `least`, and one group")

    def value_in(self, output: str) -> float | None:
        """Return the figure in the *output* of the command, the worst of several, None for none."""
        values = [float(one.replace(",", "")) for one in re.findall(self.figure, output, re.DOTALL)]
        return None if not values else min(values) if self.most is None else max(values)

    def holds(self, value: float | None) -> bool:
        """Return whether *value* is allowed; the bound itself is, a figure that is missing is not."""
        if value is None:
            return False
        return value >= (self.least or 0.0) if self.most is None else value <= self.most

    @property
    def bound(self) -> str:
        return f"≥ {self.least:,g}" if self.most is None else f"≤ {self.most:,g}"


def gates() -> list[Gate]:
    """Return the promises in the table."""
    return [Gate(**one) for one in tomllib.loads(TABLE.read_text("utf-8"))["gate"]]


@cache
def output_of(command: str) -> str:
    """Return what *command* prints, errors too."""
    parts = shlex.split(command)
    return subprocess.run(
        parts if parts[0] == "make" else [sys.executable, *parts],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Labelled pages."
)
@click.option("--only", multiple=True, metavar="TEXT", help="Promises with this text; may be repeated.")
@click.option("--list", "is_listed", is_flag=True, help="List the promises, and measure nothing.")
def main(*, data: Path | None, only: tuple[str, ...], is_listed: bool) -> None:
    chosen = [
        one for one in gates() if not only or any(text.lower() in one.promise.lower() for text in only)
    ]
    if not chosen:
        raise click.ClickException("no promise has that text; --list shows all")
    table = Table("promise", "allowed", "command" if is_listed else "measured")
    fallen = []
    with tempfile.TemporaryDirectory(prefix="dedup-manuals-") as manual:
        if data and not is_listed and any("{manual}" in one.command for one in chosen):
            with tarfile.open(data / MANUALS) as archive:
                archive.extractall(manual, filter="data")
        for gate in chosen:
            if is_listed:
                table.add_row(gate.promise, gate.bound, gate.command)
                continue
            is_possible = data or "{" not in gate.command
            value = (
                gate.value_in(output_of(gate.command.format(data=data, manual=manual)))
                if is_possible
                else None
            )
            told = (
                f"{value:,g}"
                if value is not None
                else "no such figure"
                if is_possible
                else "give --data"
            )
            if not gate.holds(value):
                fallen.append(gate.promise)
                told = f"[red]{told}"
            table.add_row(gate.promise, gate.bound, told)
    Console().print(table)
    if fallen:
        raise click.ClickException("not kept: " + "; ".join(fallen))


if __name__ == "__main__":
    main()
