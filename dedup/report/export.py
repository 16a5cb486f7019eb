"""Rows as JSON Lines and CSV for programs."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from typing import IO, Any

from dedup.index import Row
from dedup.model.errors import printable
from dedup.report.clusters import Report

COLUMNS = (
    *("url", "canonical_url", "verdict", "reason", "content_distance", "structure_distance"),
    *("similarity", "run", "canonical_run", "time", "title", "outcome", "content", "structure"),
    *("action", "lost", "missing", "words", "lost_words", "other_fields"),
)
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
_CELL = 32_000  # characters of a text, before it is escaped
_LONGEST = 32_767  # characters that a spreadsheet's cell can hold


def record_of(row: Row, report: Report) -> dict[str, Any]:
    """Return *row* under the names of `COLUMNS`; `docs/reference/exports.md` says what they mean."""
    seen, verdict, page = row.sighting, row.verdict, row.sighting.fingerprint
    similarity = None if verdict.similarity is None else round(verdict.similarity, 4)
    lost = report.lost(row)
    missing = None if verdict.missing is None else min(verdict.missing, lost or 0)
    values = (
        *(seen.url, verdict.canonical_url, report.again.fate(row), verdict.reason.value),
        *(verdict.content_distance, verdict.structure_distance, similarity),
        *(seen.run, verdict.canonical_run, datetime.fromtimestamp(int(seen.time), UTC).isoformat()),
        *(seen.title, row.outcome.value),
        *(f"{page.content_simhash:016x}", f"{page.structure_simhash:016x}"),
        *(report.again.action(row), lost, missing, page.words),
        *(report.losses.words(row.id, _CELL), report.losses.fields.get(row.id, "")),
    )
    return dict(zip(COLUMNS, values, strict=True))


def write_jsonl(report: Report, file: IO[str], *, everything: bool = False) -> None:
    """Write a record for each duplicate, or each page, as JSON, one a line, in ASCII."""
    for row in report.rows(everything=everything):
        file.write(json.dumps(record_of(row, report)) + "\n")


def write_csv(report: Report, file: IO[str], *, everything: bool = False) -> None:
    """Write the same records as CSV with a header, each on one line and `inert` in a spreadsheet."""
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for row in report.rows(everything=everything):
        writer.writerow(map(inert, record_of(row, report).values()))


def inert(value: object) -> object:
    r"""Return what a spreadsheet shows and does not run: for text, what is written into the cell.

    What would be a formula gets a quote mark before it, characters that act rather than show are
    escaped, and text is cut where a cell ends.  Numbers and None stay.

    >>> inert("=1+1"), inert("a;-1"), inert("a-1\n"), inert(-1)
    ("'=1+1", "a;'-1", 'a-1\\n', -1)
    """
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\g<0>'", printable(value, _CELL))[:_LONGEST]
