"""Clusters as text for people, JSON Lines and CSV for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import IO

from dedup.index import Row
from dedup.printable import printable
from dedup.report.clusters import Cluster
from dedup.words import word_hex

COLUMNS = (
    "url",
    "canonical_url",
    "reason",
    "content_distance",
    "structure_distance",
    "similarity",
    "run",
    "canonical_run",
    "time",
    "title",
    "outcome",
    "content",
    "structure",
)
# A spreadsheet would take a cell that begins like this for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def records(clusters: Sequence[Cluster]) -> Iterator[dict[str, object]]:
    """Yield one record for each page dropped, with the keys `COLUMNS`.

    *time* is ISO 8601 in UTC, *content* and *structure* are words in hexadecimal digits.
    """
    for cluster in clusters:
        for row in cluster.duplicates:
            yield _record(row, cluster.canonical)


def write_jsonl(clusters: Sequence[Cluster], file: IO[str]) -> None:
    """Write `records` as JSON, one a line, in ASCII."""
    for record in records(clusters):
        file.write(json.dumps(record) + "\n")


def write_csv(clusters: Sequence[Cluster], file: IO[str]) -> None:
    """Write `records` as CSV with a header; what a spreadsheet would run begins with a quote mark."""
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    for record in records(clusters):
        writer.writerow({name: _defused(value) for name, value in record.items()})


def write_text(clusters: Sequence[Cluster], file: IO[str]) -> None:
    """Write the clusters for a person to read."""
    dropped = sum(len(cluster.duplicates) for cluster in clusters)
    file.write(f"{dropped:,} pages dropped in {len(clusters):,} clusters\n")
    for cluster in clusters:
        canonical = cluster.canonical
        file.write(f"\n{_url(canonical)}  (kept in run {canonical.sighting.run}{_state(canonical)})\n")
        for row in cluster.duplicates:
            found = row.verdict
            measures = (
                f"content {_bits(found.content_distance)}  structure "
                f"{_bits(found.structure_distance)}  similarity {found.similarity or 0:.2f}"
            )
            file.write(
                f"  {found.reason:<16} {measures}  run {row.sighting.run}{_state(row)}  {_url(row)}\n"
            )


def _record(row: Row, canonical: Row) -> dict[str, object]:
    seen, found = row.sighting, row.verdict
    similarity = None if found.similarity is None else round(found.similarity, 4)
    values = (
        *(seen.url, canonical.sighting.url, found.reason.value),
        *(found.content_distance, found.structure_distance, similarity),
        *(seen.run, canonical.sighting.run, _iso(seen.time), seen.title, row.outcome.value),
        *(word_hex(seen.fingerprint.content), word_hex(seen.fingerprint.structure)),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _defused(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value


def _url(row: Row) -> str:
    return printable(row.sighting.url) or "(no URL)"


def _bits(distance: int | None) -> str:
    return f"{'-' if distance is None else distance:>2}"


def _state(row: Row) -> str:
    return "" if row.outcome == "confirmed" else f", {row.outcome}"
