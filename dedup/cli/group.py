"""The command group ``dedup``; each command stands in a module of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from dedup import __version__
from dedup.model.errors import DedupError
from dedup.model.printable import printable

_LONGEST_NAME = 60
# What was given to the command, for `click.Context.meta`.
_GIVEN = "dedup.given"
_ADDRESS = re.compile(r"postgres(?:ql)?:/[^\s'\"]*", re.IGNORECASE)
# Where each command is, and what it does: a command is loaded when it is asked for, so that the others
# and the list of all cost nothing.
GROUPS = {
    "Look": {
        "try": ("trying", "Crawl some pages, and see what repeats."),
        "report": ("report", "Show what was dropped, and for what."),
        "explain": ("explain", "Why a page was kept or dropped; compare."),
        "places": ("manage", "What was left out, as it changes by itself."),
    },
    "Undo": {
        "restore": ("manage", "Get back what was dropped."),
        "forget": ("manage", "Forget pages: undo a crawl."),
    },
    "Files": {
        "add": ("add", "Judge and add the pages of files."),
        "merge": ("manage", "Judge the pages of another index."),
    },
    "Rules": {"rules": ("rules", "Rules for URLs, learned from copies.")},
    "Upkeep": {"check": ("manage", "Test or rebuild the file.")},
}
COMMANDS = {name: found for group in GROUPS.values() for name, found in group.items()}


class _Group(click.Group):
    """Turns the errors that this package raises on purpose into one line and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = import_module(f"dedup.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            ctx.fail(_unknown(name))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<7}", what) for name, (_, what) in group.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_GIVEN] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            message = _without_passwords(str(error), ctx.meta[_GIVEN])
            raise click.ClickException(printable(message, limit=2000)) from error
        except click.ClickException as error:
            vars(error)["message"] = _without_passwords(error.message, ctx.meta[_GIVEN])
            raise


def _without_passwords(text: str, given: Sequence[str]) -> str:
    """Return *text* with addresses of indexes as they are shown, wherever they were *given*."""
    from dedup.index.address import shown_address

    for argument in given:
        if found := _ADDRESS.search(argument):
            address = argument[found.start() :]
            for said in {address, printable(address), repr(address)[1:-1]}:
                text = text.replace(said, shown_address(address))
    return _ADDRESS.sub(lambda found: shown_address(found[0]), text)


def _unknown(name: str) -> str:
    """Return that there is no command of that *name*, and which one may be meant."""
    name = _without_passwords(name, (name,))
    near = get_close_matches(name[:_LONGEST_NAME].lower(), COMMANDS, 2, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See dedup --help."
    return f"No such command {printable(name, _LONGEST_NAME)!r}. {hint}"


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="scrapy-dedup")
def main() -> None:
    """See which copies a crawl dropped, which page was kept, and which words were lost.

    Inside a Scrapy project every command finds the project's index by itself; elsewhere name it as
    the last argument, and for `dedup add` with --index.

    Exit codes: 0 for done, 1 for an error or a check that failed, 2 for a wrong option.
    """
