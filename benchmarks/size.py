"""How large the house is: what a reader has to know, and what a user has to choose from.

    python -m benchmarks.size           # a table
    python -m benchmarks.size --names   # the names behind the counts

All text counts, whatever made it: Python, Cython, C and assets, blank lines and docstrings.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent


def texts(folder: Path) -> dict[str, str]:
    """Return all text below *folder*, by the path of its file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            body = path.read_bytes()
            if b"\0" not in body:
                found[path.relative_to(folder.parent).as_posix()] = body.decode("utf-8", "replace")
    return found


def commands() -> list[str]:
    """Return the commands of `dedup`."""
    return [name for name, _ in _commands()]


def options() -> list[str]:
    """Return the options of all commands; one that several have counts in each."""
    return [
        f"{name} {option.opts[-1]}"
        for name, one in _commands()
        for option in one.params
        if isinstance(option, click.Option)
    ]


def _commands() -> Iterator[tuple[str, click.Command]]:
    from dedup.cli import main

    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield name, command


def settings() -> list[str]:
    """Return the names of the settings."""
    from dedup.settings import setting_names

    return sorted(setting_names())


def public() -> list[str]:
    """Return the names that the packages which users import give."""
    packages = ("dedup", "dedup.index", "dedup.plugin")
    return sorted(f"{package}.{name}" for package in packages for name in import_module(package).__all__)


def counted(root: Path = ROOT) -> dict[str, list[str] | int]:
    """Return all counts, with the names behind them where there are names."""
    found: dict[str, list[str] | int] = {}
    for folder in ("dedup", "crawler", "tests"):
        every = texts(root / folder)
        found[f"lines of {folder}"] = sum(text.count("\n") for text in every.values())
        found[f"characters of {folder}"] = sum(map(len, every.values()))
        found[f"modules of {folder}"] = [path for path in every if path.endswith(".py")]
    return found | {
        "settings": settings(),
        "commands": commands(),
        "options": options(),
        "public names": public(),
    }


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--names", is_flag=True, help="List the names behind the counts.")
def main(*, names: bool) -> None:
    table = Table()
    table.add_column("what")
    table.add_column("how many", justify="right")
    for what, found in counted().items():
        table.add_row(what, f"{found if isinstance(found, int) else len(found):,}")
        if names and not isinstance(found, int):
            click.echo(f"{what}: {', '.join(found)}\n")
    Console().print(table)


if __name__ == "__main__":
    main()
