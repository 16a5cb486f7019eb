"""How large the house is: what a reader has to know, and what a user has to choose from.

    python -m benchmarks.size           # a table
    python -m benchmarks.size --names   # the names behind the counts

All lines count, also blank ones and docstrings.  What only Spark or a PostgreSQL server needs has a line of its
own.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
# What only other machines need.
APART = ("dedup/archives/", "dedup/index/stores/postgres/", "dedup/cli/spark.py")
LONG_CLASS = 300

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(root: Path) -> dict[str, ast.Module]:
    """Return the syntax trees of `dedup` below *root*, by their paths."""
    paths = sorted((root / "dedup").rglob("*.py"))
    return {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def lines(root: Path, paths: Iterable[str]) -> int:
    """Return how many lines the modules at *paths* have together."""
    return sum(len((root / path).read_text("utf-8").splitlines()) for path in paths)


def long_classes(trees: Iterable[ast.Module]) -> list[str]:
    """Return the names of the classes of more than `LONG_CLASS` lines."""
    classes = (node for node in _nodes(trees) if isinstance(node, ast.ClassDef))
    return [one.name for one in classes if (one.end_lineno or 0) - one.lineno >= LONG_CLASS]


def used_once(trees: Sequence[ast.Module]) -> list[str]:
    """Return the private functions whose name is used in one place only."""
    uses = Counter(
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in _nodes(trees)
        if isinstance(node, ast.Attribute | ast.Name)
    )
    return [node.name for node in _functions(trees) if _is_private(node.name) and uses[node.name] == 1]


def forwarding(trees: Iterable[ast.Module]) -> list[str]:
    """Return the methods that only call another object's method of the same name with what they got."""
    return [node.name for node in _functions(trees) if _forwards(node)]


def twice(trees: Iterable[ast.Module]) -> list[str]:
    """Return the names of classes that two modules define at their top."""
    named = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in named.items() if count > 1)


def commands() -> list[str]:
    """Return the commands of `dedup`, those of a group by both names."""
    return [name for name, one in _commands() if not isinstance(one, click.Group)]


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

    todo: list[tuple[str, click.Command]] = [("", main)]
    while todo:
        name, one = todo.pop(0)
        if name:
            yield name, one
        if isinstance(one, click.Group):
            context = click.Context(one)
            found = ((part, one.get_command(context, part)) for part in one.list_commands(context))
            todo += [(f"{name} {part}".strip(), child) for part, child in found if child is not None]


def settings() -> list[str]:
    """Return the names of the settings."""
    from dedup.front.names import setting_names

    return sorted(setting_names())


def public() -> list[str]:
    """Return the names that the packages which users import give."""
    packages = ("dedup", "dedup.index", "dedup.plugin")
    return sorted(f"{package}.{name}" for package in packages for name in import_module(package).__all__)


def counted(root: Path = ROOT) -> dict[str, list[str] | int]:
    """Return all counts, with the names behind them where there are names."""
    every = modules(root)
    own = {path: tree for path, tree in every.items() if not path.startswith(APART)}
    trees = list(own.values())
    return {
        "lines": lines(root, own),
        "lines apart (Spark, PostgreSQL)": lines(root, every.keys() - own.keys()),
        "modules": list(own),
        "modules of plugin": [path for path in own if path.startswith("dedup/plugin/")],
        "modules of index": [path for path in own if path.startswith("dedup/index/")],
        f"classes over {LONG_CLASS} lines": long_classes(trees),
        "private functions with one caller": used_once(trees),
        "forwarding methods": forwarding(trees),
        "class names used twice": twice(trees),
        "settings": settings(),
        "commands": commands(),
        "options": options(),
        "public names": public(),
    }


def _nodes(trees: Iterable[ast.Module]) -> Iterator[ast.AST]:
    return (node for tree in trees for node in ast.walk(tree))


def _functions(trees: Iterable[ast.Module]) -> Iterator[Function]:
    return (node for node in _nodes(trees) if isinstance(node, Function))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _forwards(node: Function) -> bool:
    match node.body:
        case [
            *documented,
            ast.Return(ast.Call(ast.Attribute(attr=name)))
            | ast.Expr(ast.Call(ast.Attribute(attr=name))),
        ] if len(documented) == bool(ast.get_docstring(node)):
            return name == node.name
    return False


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
