"""The format of `dedup export`: JSON Lines, a header, the runs, then the rows as they were seen.

The columns of `dedup.index.schema` say which keys there are.  `docs/reference/exports.md` describes the
format.  Readers ignore keys that they do not know; `VERSION` changes when a key means something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dedup.files.exchange.json_values import LARGEST, JsonObject, Values, is_unicode
from dedup.index import Row, Run, Sighting
from dedup.index.schema import PAGES, RUNS, SCOPES
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import is_canonical
from dedup.values.urls import url_key
from dedup.values.verdict import DUPLICATE_REASONS, Outcome, Reason, Verdict

FORMAT = "scrapy-dedup fingerprints"
VERSION = 1

_RUN = JsonObject(RUNS.exported)
_ROW = JsonObject((*PAGES.exported[:2], *SCOPES.exported, *PAGES.exported[2:]))


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: how fingerprints were made, how many *runs* and *rows* follow, and rules for URLs.

    These are as `dedup.index.url_rules.UrlRules.exported` gives them.
    """

    recipe: Mapping[str, str]
    parser: str
    runs: int
    rows: int
    url_rules: Mapping[str, Any] = field(default_factory=dict)


def header_line(header: Header) -> str:
    """Return the first line of a file."""
    return _line(
        {
            "format": FORMAT,
            "version": VERSION,
            "recipe": dict(sorted(header.recipe.items())),
            "parser": header.parser,
            "runs": header.runs,
            "rows": header.rows,
            **({"url_rules": dict(header.url_rules)} if any(header.url_rules.values()) else {}),
        }
    )


def header_of(line: bytes) -> Header:
    """Return the header behind the first line; raises ValueError for another format or version."""
    values = Values.of_line(line)
    if values.get("format") != FORMAT:
        raise ValueError("this is no file of `dedup export`")
    version = values.whole("version", 1, LARGEST)
    if version > VERSION:
        raise ValueError(f"format version {version} is newer than {VERSION}; upgrade scrapy-dedup")
    recipe = values.get("recipe")
    if not (isinstance(recipe, dict) and "recipe" in recipe):
        raise ValueError("recipe must be an object with the key recipe")
    texts, rules = Values(recipe), values.get("url_rules")
    if not is_unicode(json.dumps(rules, ensure_ascii=False)):
        raise ValueError("url_rules must be valid Unicode")
    return Header(
        recipe={name: texts.text(name) for name in recipe},
        parser=values.text("parser"),
        runs=values.whole("runs", 0, LARGEST),
        rows=values.whole("rows", 0, LARGEST),
        url_rules=rules if isinstance(rules, dict) else {},
    )


def run_line(run: Run) -> str:
    """Return the line of a run."""
    return _line(_RUN.record(run))


def run_of(line: bytes, number: int) -> Run:
    """Return run *number* behind its line; raises ValueError for anything else."""
    values = Values.of_line(line)
    values.whole("run", number, number)
    return Run(**_RUN.fields(values)[""])


def row_line(row: Row) -> str:
    """Return the line of a row."""
    return _line(_ROW.record(row))


def row_of(line: bytes, number: int, runs: int) -> Row:
    """Return row *number* behind its line; raises ValueError for anything else.

    What a row refers to comes before it, and its verdict is one that there can be.
    """
    values = Values.of_line(line, earlier=number - 1, runs=runs)
    values.whole("row", number, number)
    objects = _ROW.fields(values)
    seen = objects["sighting"]
    page = Fingerprint(**objects["sighting.fingerprint"])
    sighting = Sighting(fingerprint=page, url_key=url_key(seen["url"]), **seen)
    row = Row(sighting=sighting, verdict=Verdict(**objects["verdict"]), **objects[""])
    _check_consistent(row)
    return row


def _check_consistent(row: Row) -> None:
    verdict, reason = row.verdict, row.verdict.reason
    if row.sighting.fingerprint.is_empty != (reason is Reason.NOT_JUDGED):
        raise ValueError(f"body_digest does not go with {reason.value}")
    repeats = reason in DUPLICATE_REASONS or reason is Reason.UNCHANGED
    if repeats != (verdict.canonical is not None):
        raise ValueError(f"{reason.value} {'needs a' if repeats else 'has no'} canonical")
    if (verdict.kept and reason in DUPLICATE_REASONS) or not (verdict.kept or repeats):
        raise ValueError(f"{reason.value} is {'not ' if verdict.kept else ''}kept")
    stands = row.outcome in (Outcome.CONFIRMED, Outcome.PENDING) and is_canonical(verdict)
    if row.listed and not stands:
        raise ValueError(f"listed does not go with {reason.value}, {row.outcome.value}")


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":")) + "\n"
