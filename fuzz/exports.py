"""Files of `dedup import`: any bytes are an export that can be recorded, or one `DedupError`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dedup"]):
    from dedup import DedupConfig, Detector, MemoryIndex, Page
    from dedup.errors import DedupError
    from dedup.exchange.files import Exported, export_lines
    from dedup.exchange.merge import import_export

from fuzz.engine import command

FILE = Path(tempfile.mkdtemp(prefix="fuzz-exports-"), "export.jsonl")
CONFIG = DedupConfig()


def judge(data: bytes) -> None:
    """Import *data* twice; what is raised, other than `DedupError`, is a finding."""
    FILE.write_bytes(data)
    index = MemoryIndex()
    try:
        export = Exported.opened(FILE)
        export.check()
        first = import_export(index, export, CONFIG)
    except DedupError:
        return
    assert first.rows == export.header.rows
    lines = list(export_lines(index))
    assert len(lines) == 1 + export.header.runs + first.rows
    # Rows that are equal in all that is told of them count as one.
    assert import_export(index, export, CONFIG).rows == first.rows


def seeds() -> list[bytes]:
    index = MemoryIndex()
    with Detector(index, spider="news") as detector:
        for number in (1, 1, 2):
            detector.check(Page.from_text(f"some {number} words " * 9, url=f"http://a/{number}"))
    lines = list(export_lines(index))
    return ["".join(lines).encode(), "".join(lines[:2]).encode()]


if __name__ == "__main__":
    command(judge, seeds())()
