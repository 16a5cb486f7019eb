"""Every command of `dedup` in this process, as a user or a tampered file might drive it."""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.cli import main
from tests.support.pages import edited, page

CODES = (0, 1, 2, 3)  # 3 is what `dedup explain` says of two pages of which none is a copy


def small_index(path: Path) -> Path:
    """Make an index with every kind of verdict and outcome, stored pages, and a run that was interrupted."""
    config = DedupConfig(store_pages=True)
    with SQLiteIndex(path) as index:
        for seed in (0, 1):
            with Detector(index, config, "news") as detector:
                for number in range(4):
                    detector.check(page(edited(number, 2 * seed), f"http://a.example/{number}"))
                    detector.check(page(edited(number, 1), f"http://b.example/{number}"))
                detector.check(page("", "http://a.example/empty"))
        index.ledger.forget(url="http://a.example/3")
        run = index.runs.begin("added", job="dedup add x")
        index.runs.end(run, "interrupted")
    return path


def command_named(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def with_index(arguments: Sequence[str], path: Path | str) -> list[str]:
    """Return *arguments* of a command with the index at *path*, the last one unless it has --index."""
    params = command_named(arguments[0]).params
    is_named = any("--index" in param.opts for param in params)
    return [*arguments, *(["--index"] if is_named else []), str(path)]


def run(*arguments: object, **how: Any) -> Result:
    """Run ``dedup`` with *arguments*; a traceback or another exit code fails."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], **how)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        trace = "".join(traceback.format_exception(done.exception))
        raise AssertionError(f"dedup {arguments} is a traceback:\n{trace}")
    assert done.exit_code in CODES, arguments
    assert "Traceback" not in done.output, arguments
    return done


NAMES = tuple(main.commands)
