"""How large the house is: what a reader has to know, and what a user has to choose from.

All text counts, whatever made it: Python, Cython, C and assets, blank lines and docstrings.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent


def texts(folder: Path) -> dict[str, str]:
    """Return all text below *folder*, by the path of its file."""
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    bodies = {path.as_posix(): path.read_bytes() for path in files}
    return {path: body.decode("utf-8", "replace") for path, body in bodies.items() if b"\0" not in body}


def counted() -> dict[str, int]:
    """Return all counts."""
    from dedup.cli import main as dedup
    from dedup.settings import setting_names

    found: dict[str, int] = {}
    for folder in ("dedup", "crawler", "tests"):
        every = texts(ROOT / folder)
        found[f"lines of {folder}"] = sum(text.count("\n") for text in every.values())
        found[f"characters of {folder}"] = sum(map(len, every.values()))
        found[f"modules of {folder}"] = sum(path.endswith(".py") for path in every)
    context = click.Context(dedup)
    commands = [dedup.get_command(context, name) for name in dedup.list_commands(context)]
    return found | {
        "settings": len(list(setting_names())),
        "commands": len(commands),
        # One that several commands have counts in each.
        "options": sum(
            isinstance(one, click.Option) for each in commands if each for one in each.params
        ),
        "public names": sum(
            len(import_module(name).__all__) for name in ("dedup", "dedup.index", "dedup.plugin")
        ),
    }


@click.command(help=(__doc__ or "").splitlines()[0])
def main() -> None:
    table = Table()
    table.add_column("what")
    table.add_column("how many", justify="right")
    for what, count in counted().items():
        table.add_row(what, f"{count:,}")
    Console().print(table)


if __name__ == "__main__":
    main()
