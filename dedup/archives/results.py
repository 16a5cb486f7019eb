"""What a job leaves: verdicts, the records that were kept, and an export for the index of a crawl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa

from dedup.archives.columns import EDGES, LINES, PRINTS, Batches, Row, fingerprint_in, rows_of
from dedup.archives.reading import RECORD_BITS, numbered, opened
from dedup.files.exchange.lines import Header, header_line, row_line, run_line
from dedup.files.feeds import Feed, FeedError
from dedup.index import Row as IndexRow
from dedup.index import Run, Sighting
from dedup.reading.fields import FieldRule
from dedup.reading.page import PARSER
from dedup.rule.loss import words_of
from dedup.values.row import is_canonical
from dedup.values.urls import url_key
from dedup.values.verdict import Outcome, Reason, Verdict

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
# A page with its verdict and its number, and that of its canonical, in an index: what is exported.
NUMBERED = pa.schema(
    [
        *PRINTS,
        ("row", pa.int64()),
        ("canonical", pa.int64()),
        *(EDGES.field(name) for name in ("reason", *_FOUND)),
        ("canonical_url", pa.string()),
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


# Export


def export_head(recipe: Mapping[str, str], rows: int, run: Run) -> list[str]:
    """Return the first two lines of an export of so many *rows*: header and run."""
    return [line.rstrip("\n") for line in (header_line(Header(recipe, PARSER, 1, rows)), run_line(run))]


def export_lines(batches: Iterable[pa.RecordBatch], time: float) -> Batches:
    """Yield the lines (`LINES`) of an export for pages (`NUMBERED`), which were seen at *time*."""
    for batch in batches:
        lines = [row_line(_index_row(row, time)).rstrip("\n") for row in batch.to_pylist()]
        yield pa.RecordBatch.from_arrays([batch.column("row"), pa.array(lines)], ["row", "line"])


EXPORTED = pa.schema([("row", pa.int64()), *LINES])


def _index_row(row: Row, time: float) -> IndexRow:
    page = fingerprint_in(row)
    given = ("url", "title", "canonical_link", "item_key", "seen_on", "kind", "scope")
    names = {name: row[name] for name in given}
    sighting = Sighting(fingerprint=page, url_key=url_key(row["url"]), run=1, time=time, **names)
    found = {name: row[name] for name in (*_FOUND, "canonical")}
    is_kept = row["canonical"] is None
    verdict = Verdict(
        reason=_reason(row),
        kept=is_kept,
        canonical_url=row["canonical_url"] or "",
        canonical_run=None if is_kept else 1,
        words=words_of(page),
        **found,
    )
    return IndexRow(row["row"], sighting, verdict, Outcome.CONFIRMED, is_canonical(verdict))
