"""Any values in an index, read by every command, as in `tests/fuzz/test_damage.py`."""

from __future__ import annotations

from random import Random

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from tests.fuzz.test_damage import test_anything_in_a_row_is_an_answer_or_one_error as law

from fuzz.engine import MAX_BYTES, command


def judge(data: bytes) -> None:
    """Let hypothesis make an example of *data*; whatever fails is a finding."""
    law.hypothesis.fuzz_one_input(data)


if __name__ == "__main__":
    command(judge, [Random(number).randbytes(MAX_BYTES) for number in range(20)])()
