"""JSON Lines, as `scrapy crawl -o pages.jsonl` writes them: a record on each line."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.files.feeds.base import START, BadRecord, Feed, Place, Record, Sink
from dedup.files.feeds.lines import LineSink, RawLine, read_lines
from dedup.reading.fields import FieldRule, RawPage, raw_page_of


class JsonLines(Feed):
    """A file with a JSON object on each line; empty lines are skipped."""

    form = "jsonl"
    endings = (".jsonl", ".jl", ".ndjson")
    may_be_compressed = True

    def records(self, start: Place = START) -> Iterator[Record]:
        """Yield the lines."""
        for line in read_lines(self, start):
            if not line.is_whole or line.text.strip():
                yield self._record(line)

    def _record(self, line: RawLine) -> Record:
        name = self.named(line.number)
        source = (line.text, line.is_start)
        if not line.is_whole:
            problem = "is cut off or too long" if line.is_start else ""
            return Record(line.after, name, source, size=len(line.text), problem=problem)
        return Record(line.after, name, source, line.text, len(line.text))

    @staticmethod
    def raw_page(payload: bytes, rule: FieldRule) -> RawPage | None:
        """Return the page in a line."""
        return raw_page_of(object_in(payload), rule)

    def sink(self, path: Path, *, compressed: bool) -> Sink:
        """Open *path* for lines."""
        return LineSink(path, compressed=compressed)


def object_in(line: bytes) -> dict[str, Any]:
    """Return the JSON object in *line*; raises `BadRecord`."""
    if line.strip() == b"[":
        raise BadRecord("begins an array; JSON Lines have a record on each line and nothing else")
    try:
        value = json.loads(line.removeprefix(BOM_UTF8).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRecord(f"is not a JSON object but a {type(value).__name__}")
    return value
