"""The format of `dedup export`: JSON Lines, a header, the runs, then the rows as they were seen.

`docs/reference/exports.md` describes it.  Readers ignore keys that they do not know; `VERSION` changes
when a key means something else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from dedup.index import Row, Run, Sighting
from dedup.recipes.sketch import BINS
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import is_canonical
from dedup.values.run import EARLIEST, LATEST
from dedup.values.simhashes import SIMHASH_BITS, simhash_hex
from dedup.values.urls import url_key
from dedup.values.verdict import DUPLICATE_REASONS, Outcome, Reason, Verdict

FORMAT = "scrapy-dedup fingerprints"
VERSION = 1

_DIGEST = 16
# What SQLite can hold.
_MOST = 2**63 - 1

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: how fingerprints were made, and how many *runs* and *rows* follow."""

    recipe: Mapping[str, str]
    parser: str
    runs: int
    rows: int


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
        }
    )


def run_line(run: Run) -> str:
    """Return the line of a run."""
    return _line(
        {
            "run": run.id,
            "spider": run.spider,
            "job": run.job,
            "settings": run.settings,
            "started": run.started,
            "ended": run.ended,
            "ending": run.ending,
            "action": run.action,
        }
    )


def row_line(row: Row) -> str:
    """Return the line of a row."""
    return _line(row_record(row))


def row_record(row: Row) -> dict[str, Any]:
    """Return all that is known of a page, as it stands in its line."""
    seen, page, found = row.sighting, row.sighting.fingerprint, row.verdict
    return {
        "row": row.id,
        "run": seen.run,
        "kind": seen.kind,
        "scope": seen.scope,
        "url": seen.url,
        "time": seen.time,
        "title": seen.title,
        "canonical_link": seen.canonical_link,
        "content": simhash_hex(page.content_simhash),
        "structure": simhash_hex(page.structure_simhash),
        "sketch": base64.b64encode(page.sketch).decode("ascii"),
        "body_digest": page.body_digest.hex(),
        "token_digest": page.token_digest.hex(),
        "tokens": page.tokens,
        "reason": found.reason.value,
        "kept": found.kept,
        "content_distance": found.content_distance,
        "structure_distance": found.structure_distance,
        "similarity": found.similarity,
        "canonical": found.canonical,
        "previous": found.previous,
        "replaces": found.replaces,
        "represents": found.represents,
        "outcome": row.outcome.value,
        "listed": row.listed,
        "item_key": seen.item_key,
        "redirects": list(seen.redirects),
        "seen_on": seen.seen_on,
        "dry": seen.is_dry,
    }


def header_of(line: bytes) -> Header:
    """Return the header behind the first line; raises ValueError for another format or version."""
    fields = _Fields(line)
    if fields.values.get("format") != FORMAT:
        raise ValueError("this is no file of `dedup export`")
    version = fields.whole("version", 1)
    if version > VERSION:
        raise ValueError(f"format version {version} is newer than {VERSION}; upgrade scrapy-dedup")
    recipe = fields.values.get("recipe")
    if not (isinstance(recipe, dict) and "recipe" in recipe):
        raise ValueError("recipe must be an object with the key recipe")
    texts = _Fields(recipe)
    return Header(
        recipe={name: texts.text(name) for name in recipe},
        parser=fields.text("parser"),
        runs=fields.whole("runs"),
        rows=fields.whole("rows"),
    )


def run_of(line: bytes, number: int) -> Run:
    """Return run *number* behind its line; raises ValueError for anything else."""
    fields = _Fields(line)
    return Run(
        id=fields.whole("run", number, number),
        spider=fields.text("spider"),
        job=fields.text("job"),
        settings=fields.text("settings"),
        started=fields.number("started", EARLIEST, LATEST),
        ended=fields.maybe("ended", lambda name: fields.number(name, EARLIEST, LATEST)),
        ending=fields.text("ending"),
        action=fields.text("action"),
    )


def row_of(line: bytes, number: int, runs: int) -> Row:
    """Return row *number* behind its line; raises ValueError for anything else.

    What a row refers to comes before it, and its verdict is one that there can be.
    """
    fields = _Fields(line)
    row = fields.whole("row", number, number)
    verdict = Verdict(
        reason=Reason(fields.choice("reason", Reason)),
        kept=fields.flag("kept"),
        content_distance=fields.maybe("content_distance", lambda n: fields.whole(n, 0, SIMHASH_BITS)),
        structure_distance=fields.maybe(
            "structure_distance", lambda n: fields.whole(n, 0, SIMHASH_BITS)
        ),
        similarity=fields.maybe("similarity", lambda name: fields.number(name, 0, 1)),
        canonical=fields.earlier("canonical", row),
        previous=fields.earlier("previous", row),
        replaces=fields.earlier("replaces", row),
        represents=fields.earlier("represents", row),
    )
    url = fields.text("url")
    sighting = Sighting(
        fingerprint=_fingerprint(fields),
        url=url,
        url_key=url_key(url),
        kind=fields.text("kind"),
        scope=fields.text("scope"),
        run=fields.whole("run", 1, runs),
        time=fields.number("time", EARLIEST, LATEST),
        title=fields.text("title"),
        canonical_link=fields.text("canonical_link"),
        # Files of earlier releases do not have these.
        item_key=fields.maybe("item_key", fields.text) or "",
        redirects=tuple(fields.texts("redirects")),
        seen_on=fields.maybe("seen_on", fields.text),
        is_dry="dry" in fields.values and fields.flag("dry"),
    )
    outcome = Outcome(fields.choice("outcome", Outcome))
    found = Row(row, sighting, verdict, outcome, fields.flag("listed"))
    _check_sense(found)
    return found


def _check_sense(row: Row) -> None:
    found = row.verdict
    if row.sighting.fingerprint.is_empty != (found.reason is Reason.NOT_JUDGED):
        raise ValueError(f"body_digest does not go with {found.reason.value}")
    repeats = found.reason in DUPLICATE_REASONS or found.reason is Reason.UNCHANGED
    if repeats != (found.canonical is not None):
        raise ValueError(f"canonical ({found.canonical}) does not go with {found.reason.value}")
    if (found.kept and found.reason in DUPLICATE_REASONS) or not (found.kept or repeats):
        raise ValueError(f"kept ({found.kept}) does not go with {found.reason.value}")
    stands = row.outcome in (Outcome.CONFIRMED, Outcome.PENDING) and is_canonical(found)
    if row.listed and not stands:
        raise ValueError(f"listed does not go with {found.reason.value}, {row.outcome.value}")


def _fingerprint(fields: _Fields) -> Fingerprint:
    sketch = base64.b64decode(fields.text("sketch"), validate=True)
    if len(sketch) != BINS:
        raise ValueError(f"sketch has {len(sketch)} bytes, it must have {BINS}")
    return Fingerprint(
        content_simhash=int.from_bytes(fields.digits("content", (8,))),
        structure_simhash=int.from_bytes(fields.digits("structure", (8,))),
        sketch=sketch,
        body_digest=fields.digits("body_digest", (0, _DIGEST)),
        token_digest=fields.digits("token_digest", (0, _DIGEST)),
        tokens=fields.whole("tokens"),
    )


class _Fields:
    """The object of a line; every reader raises ValueError, which names the field."""

    def __init__(self, line: bytes | dict[str, Any]) -> None:
        values = line if isinstance(line, dict) else _parsed(line)
        if not isinstance(values, dict):
            raise ValueError("a line must be a JSON object")
        self.values = values

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str) or not _is_unicode(value):
            raise ValueError(f"{name} must be text")
        return value

    def texts(self, name: str) -> list[str]:
        values = self.values.get(name) or []
        if not (isinstance(values, list) and all(isinstance(v, str) and _is_unicode(v) for v in values)):
            raise ValueError(f"{name} must be a list of texts")
        return values

    def choice(self, name: str, choices: Iterable[str]) -> str:
        value = self.text(name)
        if value not in list(choices):
            raise ValueError(f"{name} ({value!r:.50}) must be one of {', '.join(choices)}")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false")
        return value

    def whole(self, name: str, low: int = 0, high: int = _MOST) -> int:
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number, {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        value = self.values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{name} must be a number, {low:g} to {high:g}")
        return float(value)

    def maybe(self, name: str, read: Callable[[str], _T]) -> _T | None:
        return None if self.values.get(name) is None else read(name)

    def earlier(self, name: str, row: int) -> int | None:
        return self.maybe(name, lambda name: self.whole(name, 1, row - 1))

    def digits(self, name: str, lengths: tuple[int, ...]) -> bytes:
        value = bytes.fromhex(self.text(name))
        if len(value) not in lengths:
            raise ValueError(f"{name} must have {2 * lengths[-1]} hexadecimal digits")
        return value


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from error


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":")) + "\n"
