"""Clusters as text for people, JSON Lines and CSV for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO

from dedup.index import Row
from dedup.printable import printable
from dedup.report.clusters import Cluster, Report
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
    "action",
    "best_url",
    "best_by",
)
# A spreadsheet would take a cell that begins like this for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def records(report: Report) -> Iterator[dict[str, object]]:
    """Yield one record for each page that repeats another one, with the keys `COLUMNS`.

    *time* is ISO 8601 in UTC, *content* and *structure* are words in hexadecimal digits, *action*
    is what the run did with copies, and *best_url* is the member of the cluster that is best by
    the rule *best_by*.
    """
    for cluster in report.clusters:
        for row in cluster.duplicates:
            yield _record(row, cluster, report)


def write_jsonl(report: Report, file: IO[str]) -> None:
    """Write `records` as JSON, one a line, in ASCII."""
    for record in records(report):
        file.write(json.dumps(record) + "\n")


def write_csv(report: Report, file: IO[str]) -> None:
    """Write `records` as CSV with a header; what a spreadsheet would run begins with a quote mark."""
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    for record in records(report):
        writer.writerow({name: _defused(value) for name, value in record.items()})


def write_text(report: Report, file: IO[str]) -> None:
    """Write the clusters for a person to read."""
    file.write(f"{report.duplicates:,} {_participle(report)} in {len(report.clusters):,} clusters\n")
    for cluster in report.clusters:
        canonical, best = cluster.canonical, cluster.best
        file.write(f"\n{_url(canonical)}  (kept in run {canonical.sighting.run}{_state(canonical)})\n")
        if best.id != canonical.id:
            file.write(f"  best by {report.keep}: {_url(best)}  (seen in run {best.sighting.run})\n")
        for row in cluster.duplicates:
            found = row.verdict
            measures = (
                f"content {_bits(found.content_distance)}  structure "
                f"{_bits(found.structure_distance)}  similarity {found.similarity or 0:.2f}"
            )
            action = report.actions.get(row.sighting.run, "drop")
            what = "" if action == "drop" else f", {printable(action)}"
            where = f"run {row.sighting.run}{what}{_state(row)}  {_url(row)}"
            file.write(f"  {found.reason:<16} {measures}  {where}\n")


def _participle(report: Report) -> str:
    """Return what became of all the pages, in words."""
    actions = {
        report.actions.get(row.sighting.run, "drop")
        for cluster in report.clusters
        for row in cluster.duplicates
    }
    return "pages dropped" if actions <= {"drop"} else "copies found, not all of them dropped,"


def _record(row: Row, cluster: Cluster, report: Report) -> dict[str, object]:
    seen, found, canonical = row.sighting, row.verdict, cluster.canonical
    similarity = None if found.similarity is None else round(found.similarity, 4)
    values = (
        *(seen.url, canonical.sighting.url, found.reason.value),
        *(found.content_distance, found.structure_distance, similarity),
        *(seen.run, canonical.sighting.run, _iso(seen.time), seen.title, row.outcome.value),
        *(word_hex(seen.fingerprint.content), word_hex(seen.fingerprint.structure)),
        *(report.actions.get(seen.run, "drop"), cluster.best.sighting.url, report.keep),
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
