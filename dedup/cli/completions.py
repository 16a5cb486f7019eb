"""``dedup completions``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dedup.cli.options import json_option
from dedup.cli.terminal import print_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def completions(context: click.Context, shell: str, as_json: bool) -> None:
    """Print a script with which SHELL completes commands and options.

    \b
    Examples:
      dedup completions bash >> ~/.bashrc
      dedup completions zsh >> ~/.zshrc
      dedup completions fish > ~/.config/fish/completions/dedup.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    group = context.find_root().command
    script = found(group, {}, "dedup", "_DEDUP_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
