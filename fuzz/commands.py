"""Any command of `dedup` with any arguments, as in `tests/fuzz/test_commands.py`."""

from __future__ import annotations

from random import Random

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from tests.fuzz.test_commands import test_any_command as law

from fuzz.engine import MAX_BYTES, command


def judge(data: bytes) -> None:
    """Let hypothesis make an example of *data*; whatever fails is a finding."""
    law.hypothesis.fuzz_one_input(data)  # type: ignore[attr-defined]


if __name__ == "__main__":
    command(judge, [Random(number).randbytes(MAX_BYTES) for number in range(20)])()
