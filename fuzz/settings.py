"""Any values of any settings, as in `tests/fuzz/test_settings.py`."""

from __future__ import annotations

from random import Random

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from tests.fuzz.test_settings import test_any_values_are_taken_or_refused_by_a_name as law

from fuzz.engine import MAX_BYTES, command


def judge(data: bytes) -> None:
    """Let hypothesis make an example of *data*; whatever fails is a finding."""
    law.hypothesis.fuzz_one_input(data)  # type: ignore[attr-defined]


if __name__ == "__main__":
    command(judge, [Random(number).randbytes(MAX_BYTES) for number in range(20)])()
