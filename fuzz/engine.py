"""Run a target under libFuzzer."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import atheris
import click

Target = Callable[[bytes], None]

# Mutations of a small page reach what a large one would; sizes are `benchmarks.bombs`.
MAX_BYTES = 4096
SECONDS_AN_INPUT = 10


def command(target: Target, seeds: Sequence[bytes]) -> click.Command:
    """Return the command that fuzzes *target*, beginning with *seeds*."""

    @click.command(help=(sys.modules[target.__module__].__doc__ or "").split("\n")[0])
    @click.option("--seconds", default=60, show_default=True, help="How long to look.")
    @click.option(
        "--corpus",
        type=click.Path(path_type=Path),
        help="Folder of the inputs that reached something new.",
    )
    def fuzz(seconds: int, corpus: Path | None) -> None:
        folder = corpus or Path(tempfile.mkdtemp(prefix="fuzz-"))
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"seed-{number}").write_bytes(seed)
        limits = [
            f"-max_total_time={seconds}",
            f"-max_len={MAX_BYTES}",
            "-len_control=0",
            f"-timeout={SECONDS_AN_INPUT}",
            f"-artifact_prefix={folder}-finding-",
        ]
        atheris.Setup([sys.argv[0], *limits, str(folder)], target)
        atheris.Fuzz()

    return fuzz
