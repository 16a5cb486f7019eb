"""What a job leaves: verdicts, and the records that were kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from dedup.archives.columns import EDGES, Batches, Row, rows_of
from dedup.archives.reading import RECORD_BITS, numbered, opened
from dedup.files.feeds import Feed, FeedError
from dedup.reading.fields import FieldRule
from dedup.values.verdict import Reason

# The edge by which a page *b* was dropped for *a*, and the URL of that.
DECISIONS = pa.schema([*EDGES, ("canonical_url", pa.string())])
_FOUND = ("content_distance", "structure_distance", "similarity", "lost", "missing")
VERDICTS = pa.schema(
    [
        ("file", pa.int64()),
        ("record", pa.int64()),
        ("url", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("canonical_url", pa.string()),
        ("canonical_file", pa.int64()),
        ("canonical_record", pa.int64()),
        *(EDGES.field(name) for name in _FOUND),
        ("words", pa.int64()),
        ("problem", pa.string()),
    ]
)
RECORDS = pa.schema([("file", pa.string()), ("record", pa.binary())])
# A file, and the numbers of its records that were dropped.
DROPPED = "dropped"


def verdicts(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Yield the verdicts (`VERDICTS`) on pages (`PRINTS`) beside their `DECISIONS`, if they have one."""
    for batch in batches:
        yield pa.RecordBatch.from_pylist([_verdict(row) for row in batch.to_pylist()], VERDICTS)


def _verdict(row: Row) -> Row:
    place, canonical = row["id"], row["a"]
    return {
        **{name: row[name] for name in (*_FOUND, "url", "canonical_url", "problem")},
        "file": place >> RECORD_BITS,
        "record": _record(place),
        "verdict": "kept" if canonical is None else "dropped",
        "reason": _reason(row).value,
        "canonical_file": None if canonical is None else canonical >> RECORD_BITS,
        "canonical_record": None if canonical is None else _record(canonical),
        "words": row["words"],
    }


def _record(place: int) -> int:
    return place & (1 << RECORD_BITS) - 1


def _reason(row: Row) -> Reason:
    if row["reason"] is not None:
        return Reason(row["reason"])
    return Reason.NOT_JUDGED if row["same"] is None else Reason.NEW


# Records


def kept_rows(batches: Iterable[pa.RecordBatch], rule: FieldRule, schema: pa.Schema) -> Batches:
    """Yield the rows of Parquet files (`FILES` and `DROPPED`) that were not dropped, as *schema*."""
    for _, sources in _kept(batches, rule):
        for _, some in groupby(sources, key=lambda source: id(source[0])):
            taken = list(some)
            rows = taken[0][0].take(pa.array([index for _, index in taken]))
            yield from pa.Table.from_batches([rows]).cast(schema).to_batches()


def kept_records(batches: Iterable[pa.RecordBatch], rule: FieldRule) -> Batches:
    """Yield the records (`RECORDS`) of files that were not dropped, byte by byte as they stand there."""
    for feed, sources in _kept(batches, rule):
        for source in sources:
            row = {"file": feed.name, "record": _bytes(source)}
            yield pa.RecordBatch.from_pylist([row], RECORDS)


def _kept(batches: Iterable[pa.RecordBatch], rule: FieldRule) -> Iterator[tuple[Feed, Iterator[Any]]]:
    for file in rows_of(batches):
        gone = set(file[DROPPED] or ())
        with opened(file, rule) as feed:
            yield feed, _left(file, feed, gone)


def _left(file: Row, feed: Feed, gone: set[int]) -> Iterator[Any]:
    try:
        for place, record in numbered(file, feed):
            if place not in gone and record.source is not None:
                yield record.source
    except FeedError:  # which its fingerprints have told
        return


def _bytes(source: tuple[Any, ...]) -> bytes:
    """Return the bytes of a line, or those of a file between two places."""
    if isinstance(source[0], bytes):
        return source[0]
    path, begin, end = source
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)
