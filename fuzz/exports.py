"""Files for `dedup import`: any bytes are a valid export, or raise one `DedupError`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from dedup import Detector, MemoryIndex, Page
    from dedup.files.exchange.files import export_lines
    from tests.fuzz.laws import check_export

from fuzz.engine import command

FILE = Path(tempfile.mkdtemp(prefix="fuzz-exports-"), "export.jsonl")


def judge(data: bytes) -> None:
    """Import *data* twice; what is raised, other than `DedupError`, is a finding."""
    FILE.write_bytes(data)
    check_export(FILE)


def seeds() -> list[bytes]:
    index = MemoryIndex()
    with Detector(index, spider="news") as detector:
        for number in (1, 1, 2):
            detector.check(Page.from_text(f"some {number} words " * 9, url=f"http://a/{number}"))
    lines = list(export_lines(index))
    return ["".join(lines).encode(), "".join(lines[:2]).encode()]


if __name__ == "__main__":
    command(judge, seeds())()
