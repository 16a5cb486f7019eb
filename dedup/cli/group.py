"""The command group ``dedup``; each command stands in a module of its own."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from dedup import __version__
from dedup.values.errors import DedupError
from dedup.values.printable import printable

# Where each command is; it is loaded when it is asked for, so that the others cost nothing.
COMMANDS = {
    "add": "dedup.cli.add",
    "report": "dedup.cli.report",
    "explain": "dedup.cli.explain",
    "compare": "dedup.cli.compare",
    "find": "dedup.cli.find",
    "stats": "dedup.cli.stats",
    "serve": "dedup.cli.serve",
    "runs": "dedup.cli.runs",
    "orphans": "dedup.cli.runs",
    "withheld": "dedup.cli.restore",
    "forget": "dedup.cli.forget",
    "restore": "dedup.cli.restore",
    "check": "dedup.cli.upkeep",
    "rebuild": "dedup.cli.upkeep",
    "export": "dedup.cli.exchange",
    "import": "dedup.cli.exchange",
    "frequencies": "dedup.cli.frequencies",
}


class _Group(click.Group):
    """Turns the errors that this package raises on purpose into one line and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(COMMANDS[cmd_name]), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            raise click.ClickException(printable(str(error), limit=2000)) from error


def _show_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from dedup.native import status

        click.echo(f"dedup, version {__version__}, {status()}")
        context.exit()


@click.group(cls=_Group)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and whether compiled code runs.",
)
def main() -> None:
    """See what a crawl dropped as near-duplicates, against which page and why.

    Inside a Scrapy project every command finds the project's index by itself; elsewhere name it
    with --index.

    Exit codes: 0 for done, 1 for an error or a check that failed, 2 for a wrong option.
    """
