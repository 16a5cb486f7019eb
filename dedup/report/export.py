"""Rows as JSON Lines, JSON and CSV for programs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import IO, Any

from dedup.index import Row
from dedup.model.hashes import simhash_hex
from dedup.model.printable import printable
from dedup.report.clusters import Cluster, Report, is_duplicate
from dedup.report.overview import Share
from dedup.report.replay import JudgedAgain
from dedup.rule.loss import words_of

COLUMNS = (
    "url",
    "canonical_url",
    "verdict",
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
    "lost",
    "missing",
    "words",
    "lost_words",
    "other_fields",
)
# What became of a duplicate, by the action of its run.
_VERDICTS = {"drop": "dropped", "skip": "dropped", "mark": "marked", "report": "would_drop"}
# A spreadsheet takes a cell that begins like this for a formula; some do so after what shows as
# nothing or as a quote, and some fold full-width, small and raised signs.
_CALLS = "=⁼₌⩵⩶﹦＝@﹫＠"
_SIGNS = _CALLS + "+⁺₊﬩﹢＋−⁻₋﹣－-"
_BLANKS = r"\s\u200b\ufeff'\"`´\u2018-\u201f\u2039\u203a«»\u2032-\u2037\uff02\uff07\uff40"
_SEMICOLONS = ";;︔﹔；"
_COMMAS = ",︐﹐，|｜"
# Some cut a line at semicolons as well; at commas all do, but not inside of quotes: there coordinates
# in URLs stay as they are.
_FORMULA = re.compile(
    rf"^(?=[{_BLANKS}{_SEMICOLONS}{_COMMAS}]*[{_SIGNS}])"
    rf"|[{_SEMICOLONS}](?=[{_BLANKS}]*[{_SIGNS}])"
    rf"|[{_COMMAS}](?=[{_BLANKS}]*[{_CALLS}])"
)
_NOTHING: Mapping[str, Any] = {}
_CELL = 32_000  # characters of a text, before it is escaped
_LONGEST = 32_767  # characters that a spreadsheet's cell can hold


def records(report: Report, *, everything: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a record for each duplicate, or for each page, in the order in which they were seen.

    The keys are `COLUMNS`; `docs/reference/exports.md` says what they mean.  *time* is in UTC, to the
    second.
    """
    for row in report.selection.rows(report.index):
        if everything or is_duplicate(row):
            yield _record(row, report)


def write_jsonl(report: Report, file: IO[str], *, everything: bool = False) -> None:
    """Write `records` as JSON, one a line, in ASCII."""
    for record in records(report, everything=everything):
        file.write(_json(record) + "\n")


def write_csv(report: Report, file: IO[str], *, everything: bool = False) -> None:
    """Write `records` as CSV with a header, each on one line and `inert` in a spreadsheet."""
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    for record in records(report, everything=everything):
        writer.writerow({name: inert(value) for name, value in record.items()})


def write_json(report: Report, file: IO[str], facts: Mapping[str, Any] = _NOTHING) -> None:
    """Write one document: totals, *facts*, and the clusters with their records, the largest first."""
    overview = report.overview
    runs = {run.id: run for run in report.index.runs.all()}
    head = {
        "pages": overview.pages,
        "duplicates": overview.duplicates,
        "verdict": report.losses.verdict,
        "copies": asdict(report.losses.answer),
        "places": [asdict(place) for place in report.losses.places],
        "reasons": dict(sorted(overview.reasons.items())),
        "runs": [part | asdict(runs[int(part.pop("name"))]) for part in _parts(overview.runs)],
        "sites": _parts(overview.sites),
        "replay": report.replay and asdict(report.replay.changes) | _settings(report.replay),
        "selection": asdict(report.selection),
        **facts,
    }
    file.write(json.dumps(head)[:-1] + ', "clusters": [')
    for number, cluster in enumerate(report.clusters()):
        file.write(",\n" if number else "\n")
        file.write(_json(_cluster(cluster, report)))
    file.write("\n]}\n")


def _parts(shares: Iterable[Share]) -> list[dict[str, Any]]:
    largest = sorted(shares, key=lambda share: -share.pages)
    return [
        {"name": share.name, "pages": share.pages, "duplicates": share.duplicates} for share in largest
    ]


def inert(value: object) -> object:
    r"""Return what a spreadsheet shows and does not run: for text, what is written into the cell.

    What would be a formula gets a quote mark before it, characters that act rather than show are
    escaped, and text is cut where a cell ends.  Numbers and None stay.

    >>> inert("=1+1"), inert("a;-1"), inert("a-1\n"), inert(-1)
    ("'=1+1", "a;'-1", 'a-1\\n', -1)
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\g<0>'", printable(value, _CELL))[:_LONGEST]


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, default=datetime.isoformat)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _record(row: Row, report: Report) -> dict[str, Any]:
    seen, verdict = row.sighting, row.verdict
    similarity = None if verdict.similarity is None else round(verdict.similarity, 4)
    values = (
        *(seen.url, verdict.canonical_url, _verdict(row, report), verdict.reason.value),
        *(verdict.content_distance, verdict.structure_distance, similarity),
        *(seen.run, verdict.canonical_run, _moment(seen.time), seen.title, row.outcome.value),
        *(
            simhash_hex(seen.fingerprint.content_simhash),
            simhash_hex(seen.fingerprint.structure_simhash),
        ),
        report.actions.get(seen.run, "drop"),
        *(report.losses.lost(row), verdict.missing, words_of(seen.fingerprint)),
        *(report.losses.words(row.id, _CELL), report.losses.fields.get(row.id, "")),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _verdict(row: Row, report: Report) -> str:
    if row.verdict.kept:
        return "kept"
    if report.replay:
        return "would_drop"
    return _VERDICTS.get(report.actions.get(row.sighting.run, "drop"), "dropped")


def _settings(replay: JudgedAgain) -> dict[str, Any]:
    """Return the settings of *replay*; of exceptions how many pairs they are about."""
    return asdict(replay.config) | {"exceptions": len(replay.config.exceptions)}


def _cluster(cluster: Cluster, report: Report) -> dict[str, Any]:
    return {
        "canonical": _record(cluster.canonical, report),
        "duplicates": [_record(row, report) for row in cluster.duplicates],
    }
