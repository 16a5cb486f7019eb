"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import groupby, islice
from typing import IO, Any

import numpy as np

from dedup import __version__
from dedup.index import Row
from dedup.index.notes import left_out as left_out_of
from dedup.model.marks import COPY, DIFFERENT, Exceptions
from dedup.model.printable import moment, printable, printable_url
from dedup.model.urls import url_key
from dedup.prints.config import DedupConfig
from dedup.report.clusters import Report, what_is
from dedup.report.diff import MAX_TEXT, Compared
from dedup.report.explanation import why
from dedup.report.losses import MAX_PAIRS
from dedup.report.text import shares
from dedup.rule.match import in_words

MAX_PAGES = 2_000  # that are listed
MAX_MEMBERS = 200  # copies of a cluster that are listed, those that lose most
MAX_SITES = 200  # and runs
MAX_PLACES = 50
URL_LIMIT = 600  # characters
# What was escaped or cut is no address any more.
_LINK = re.compile(r"https?://[^\s\\…]+", re.IGNORECASE)
_MARKABLE = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\\…]+", re.IGNORECASE)
_TAGS = {"copy": "del", "kept": "ins"}


def write_report(
    report: Report, file: IO[str], config: DedupConfig, name: str, *, marks: str = "", token: str = ""
) -> None:
    """Write *report* for a browser: *config* has the thresholds, *name* is that of the index.

    With a *token* the server that shows it writes marks, into the file named *marks*.
    """
    from jinja2 import Environment, StrictUndefined  # most commands write no HTML
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_asset("report.html"))
    trusted = {"style": _asset("report.css"), "script": _asset("report.js")}
    hashes = {f"{one}_hash": _digest(text) for one, text in trusted.items()}
    markup = {one: Markup(text) for one, text in trusted.items()}  # noqa: S704 - it is ours
    context = _context(report, config, name)
    for part in template.stream(**context, **hashes, **markup, marks=printable(marks), token=token):
        file.write(part)


def _asset(name: str) -> str:
    return files("dedup.report").joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@dataclass(frozen=True, slots=True)
class Entry:
    """A copy and the page *kept*, with what is said of both.

    *texts* are compared where they are stored, *places* the numbers of those where the two differ.  If
    it *is_open* words are lost, or may be: it is to be reviewed.  *nowhere* is how many, -1 for unknown.
    """

    kept: Row
    copy: Row
    nowhere: int
    is_open: bool
    why: str
    texts: Compared | None
    places: tuple[int, ...]

    @property
    def is_markable(self) -> bool:
        """Whether the URLs of both can stand in a file of marks."""
        urls = (self.copy.sighting.url, self.kept.sighting.url)
        return all(_MARKABLE.fullmatch(printable(url, len(url))) for url in urls)

    @property
    def mark(self) -> dict[str, str]:
        """What a mark of the pair has, but for what it says."""
        one, other = self.copy.sighting, self.kept.sighting
        return {"site": one.host, "page": one.url, "other": other.url, "place": ""}

    def says(self, exceptions: Exceptions) -> str:
        """Return what somebody has said of the pair, "" for nothing."""
        copy, kept = url_key(self.copy.sighting.url), url_key(self.kept.sighting.url)
        if kept in exceptions.strangers(copy):
            return DIFFERENT
        return COPY if kept in exceptions.originals(copy) else ""


def entries_of(report: Report, config: DedupConfig) -> list[Entry]:
    """Return what is listed: whole clusters, those that lose most first, at most `MAX_PAGES` pages."""
    counts, losses = report.counts, report.losses
    found: list[tuple[Row, Row]] = []
    pages = 0
    for _, kept, copies in report.clusters(copies=min(MAX_MEMBERS, MAX_PAGES - 1)):
        pages += 1 + len(copies)
        if pages > MAX_PAGES:
            break
        found += ((kept, copy) for copy in copies)
    at = counts.places(np.array([copy.id for _, copy in found], np.int64))
    nowhere, is_near = counts.nowhere[at].tolist(), counts.near[at].tolist()
    differing = [frozenset(place.copies) for place in losses.places[:MAX_PLACES]]
    return [
        Entry(
            *(kept, copy, lost, near and lost != 0),
            report.counted(copy, why(kept, copy, config)),
            losses.texts.get(copy.id),
            tuple(number for number, copies in enumerate(differing) if copy.id in copies),
        )
        for (kept, copy), lost, near in zip(found, nowhere, is_near, strict=True)
    ]


def _urgency(entry: Entry) -> tuple[float, float]:
    like = entry.copy.verdict.similarity
    return -entry.nowhere, 1.0 if like is None else like


def _context(report: Report, config: DedupConfig, name: str) -> dict[str, Any]:
    """Return what the template takes."""
    entries = entries_of(report, config)
    queue = sorted((entry for entry in entries if entry.is_open), key=_urgency)
    ignored = (f"{host}: {'; '.join(gaps)}" for host, gaps in left_out_of(report.index.store).items())
    clusters = groupby(entries, key=lambda entry: entry.kept.id)
    return {
        "name": printable(name),
        "version": __version__,
        "report": report,
        "answer": report.answer,
        "entries": entries,
        "clusters": [(copies[0].kept, copies) for copies in (list(group) for _, group in clusters)],
        "queue": queue,
        "numbers": {entry.copy.id: number for number, entry in enumerate(queue)},
        "places": report.losses.places[:MAX_PLACES],
        "ignored": [printable(line) for line in islice(ignored, MAX_PLACES)],
        "shares": list(shares(report, MAX_SITES)),
        "written": f"{moment(datetime.now(UTC).timestamp())} UTC",
        "rule": in_words(config),
        "left_out": list(left_out(report, entries)),
        "url_of": lambda row: printable_url(row.sighting.url, URL_LIMIT),
        "row_of": report.index.row,
        "titles": {row.id: report.title(row) for entry in entries for row in (entry.kept, entry.copy)},
        "tags": _TAGS,
        "is_link": _LINK.fullmatch,
        "what_is": what_is,
    }


def left_out(report: Report, entries: list[Entry]) -> Iterator[str]:
    """Yield what a report does not show, or shows in part."""
    copies = report.answer.copies
    if len(entries) < copies:
        yield (
            f"{copies - len(entries):,} of {copies:,} copies are counted in the figures but not listed: "
            f"this file lists at most {MAX_PAGES:,} pages, and {MAX_MEMBERS} copies of each, those that "
            "lose most."
        )
    if texts := sum(entry.texts is not None for entry in entries):
        yield (
            f"The texts of {texts:,} pairs are compared (at most {MAX_PAIRS}, the first {MAX_TEXT:,} "
            "characters of each)."
        )
