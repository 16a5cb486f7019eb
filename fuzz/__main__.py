"""Look for what breaks a law of the tests, by coverage: atheris (libFuzzer) mutates what is drawn.

    python -m fuzz tests.laws.test_pages.test_any_bytes_make_a_fingerprint --seconds 600

Those of `tests/laws` are about hostile input, but any other one without fixtures will do.  A finding
is an exception, a crash, or an input that takes more than 10 seconds or 2 GB.  libFuzzer prints it and
writes it to a file.  `pip install --group fuzz` installs atheris.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

import atheris
import click

MAX_BYTES = 4096


@click.command(help=(__doc__ or "").split("\n", maxsplit=1)[0])
@click.argument("law")
@click.option("--seconds", default=60, show_default=True, help="How long to look.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Of inputs that reached something new.")
def main(law: str, seconds: int, corpus: Path | None) -> None:
    module, _, name = law.rpartition(".")
    with atheris.instrument_imports(include=["dedup"]):
        found = getattr(import_module(module), name)
    folder = corpus or Path(tempfile.mkdtemp(prefix="fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-len_control=0", "-timeout=10"]
    command = [sys.argv[0], *limits, f"-artifact_prefix={folder}-finding-", str(folder)]
    atheris.Setup(command, found.hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
