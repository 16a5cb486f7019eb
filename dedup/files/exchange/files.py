"""Files of `dedup export`, written and read line by line, compressed by gzip or not."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, TypeVar

from dedup.files.exchange.lines import Header, header_line, header_of, row_line, row_of, run_line, run_of
from dedup.index import Index, Row, Run
from dedup.index.url_rules import UrlRules
from dedup.values.errors import DedupError

_GZIP_MAGIC = b"\x1f\x8b"
# More than a line with a title of a million characters, all of them escaped.
_LONGEST = 1 << 26

# Called with how many rows are done, and of how many.
Progress = Callable[[int, int], None]

_T = TypeVar("_T")


def export_lines(index: Index, progress: Progress | None = None) -> Iterator[str]:
    """Yield the lines of an export of *index*; what a crawl adds meanwhile is left out.

    Raises `DedupError` for an index that was never used.
    """
    rows = index.views.statistics().rows
    runs = index.runs()
    if not index.recipe():
        raise DedupError(f"there is nothing in {index.name} to export")
    rules = UrlRules(index.store).exported()
    yield header_line(Header(index.recipe(), index.parser, len(runs), rows, rules))
    yield from map(run_line, runs)
    for row in takewhile(lambda row: row.id <= rows, index.rows()):
        yield row_line(row)
        if progress:
            progress(row.id, rows)


@contextmanager
def writing(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    """Open *path* to write lines; equal lines make equal files, compressed too."""
    with path.open("wb") as raw:
        packed = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else None
        with io.TextIOWrapper(packed or raw, "ascii", newline="\n") as file:
            yield file


@dataclass(frozen=True, slots=True)
class Exported:
    """The export in the file *path*: its header and its runs; its rows are read when asked for."""

    path: Path
    header: Header
    runs: tuple[Run, ...]

    @classmethod
    def opened(cls, path: Path) -> Exported:
        """Read the beginning of *path*; raises `DedupError` where it is damaged or no export."""
        lines = _lines(path)
        header = _read(path, next(lines, (1, b"")), header_of)
        runs = [
            _read(path, line, partial(run_of, number=line[0] - 1)) for line in islice(lines, header.runs)
        ]
        if len(runs) != header.runs:
            raise DedupError(f"{path} is cut off: it has {len(runs)} of {header.runs} runs")
        return cls(path, header, tuple(runs))

    def rows(self) -> Iterator[Row]:
        """Yield the rows; raises `DedupError` with the number of a damaged line."""
        before = 1 + len(self.runs)
        number = 0
        for line in islice(_lines(self.path), before, None):
            number = line[0] - before
            yield _read(self.path, line, partial(row_of, number=number, runs=len(self.runs)))
        if number != self.header.rows:
            raise DedupError(f"{self.path} is cut off: it has {number} of {self.header.rows} rows")

    def check(self, progress: Progress | None = None) -> None:
        """Read all of it; raises `DedupError` where it is damaged."""
        for row in self.rows():
            if progress:
                progress(row.id, self.header.rows)


def _read(path: Path, line: tuple[int, bytes], reader: Callable[[bytes], _T]) -> _T:
    number, data = line
    try:
        return reader(data)
    except ValueError as error:
        raise DedupError(f"{path}, line {number}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, from 1."""
    number = 0
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if is_packed else raw
            while line := file.readline(_LONGEST):
                number += 1
                if not line.endswith(b"\n"):
                    raise DedupError(f"{path}, line {number} is cut off or too long")
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        cause = getattr(error, "strerror", None) or "what was compressed is damaged or cut off"
        raise DedupError(f"{path} cannot be read after line {number}: {cause}") from error
