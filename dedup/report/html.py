"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import IO, Any

import numpy as np

from dedup import __version__
from dedup.index import Row, Run
from dedup.index.notes import left_out as left_out_of
from dedup.model.errors import ConfigError, DedupError
from dedup.model.marks import Marks
from dedup.model.printable import moment, printable, printable_url
from dedup.model.urls import url_key
from dedup.model.verdict import Match, Reason
from dedup.prints.config import DedupConfig
from dedup.report.clusters import Report
from dedup.report.columns import OUTCOMES, REASONS, SiteNames, listed
from dedup.report.diff import MAX_TEXT, Same, SideBySide, Span
from dedup.report.explanation import FATES, on_record
from dedup.report.losses import MAX_PAIRS, Place
from dedup.report.overview import Share, is_near
from dedup.report.text import heading
from dedup.rule.decide import SAME_TEXT
from dedup.rule.keys import ways
from dedup.rule.loss import LossVerifier, words_of
from dedup.rule.match import match

MAX_PAGES = 2_000  # that are listed
MAX_MEMBERS = 200  # copies of a cluster that are listed, those that lose most
MAX_SITES = 1_000
MAX_PLACES = 50
URL_LIMIT = 600  # characters
_DIGITS = 3  # of a similarity
# The parts of the script, in the order in which they need each other.
SCRIPTS = ("tables", "review", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """What somebody has said of pairs of the index with the id *index*, and where more of it goes.

    *known* is what the report knows, *name* the file to write all marks to.  With a *token* the server
    that shows the report writes it; "" is for a report in a file.
    """

    index: str = ""
    known: Marks = field(default=Marks())
    name: str = "marks.csv"
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How a report is shown: the *config* has the thresholds, *name* is that of the index.

    At most *max_pages* are listed.  *marking* has the marks of the review.
    """

    config: DedupConfig
    name: str
    max_pages: int = MAX_PAGES
    marking: Marking = field(default=Marking())

    def __post_init__(self) -> None:
        if self.max_pages < 2:
            raise ConfigError(f"max_pages ({self.max_pages}) must be 2 or more")


@dataclass(frozen=True, slots=True)
class Contents:
    """What is shown of a *report*: its figures, and the *rows* of *clusters*, the canonical first."""

    report: Report
    choices: Choices
    clusters: Sequence[Sequence[int]]
    rows: Mapping[int, Row]

    @property
    def texts(self) -> dict[tuple[int, int], SideBySide]:
        """The texts of a canonical and a copy side by side, by their rows."""
        pairs = ((kept, copy) for kept, *copies in self.clusters for copy in copies)
        texts = self.report.losses.texts
        return {pair: texts[pair[1]] for pair in pairs if pair[1] in texts}


def contents_of(report: Report, choices: Choices) -> Contents:
    """Return what is shown of *report*."""
    clusters: list[Sequence[int]] = []
    rows: dict[int, Row] = {}
    copies = min(MAX_MEMBERS, choices.max_pages - 1)
    for canonical, _, members in report.ranked.each(copies=copies):
        if len(rows) + 1 + len(members) > choices.max_pages:
            break
        clusters.append((canonical, *members))
        rows.update({row.id: row for row in report.index.rows_of(clusters[-1])})
    return Contents(report, choices, clusters, rows)


def write_report(report: Report, choices: Choices, file: IO[str]) -> None:
    """Write *report* for a browser; raises `DedupError` where the extra ``report`` is not installed."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise DedupError('the HTML report needs pip install "scrapy-dedup[report]"') from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(_asset("report.html"))
    contents = contents_of(report, choices)
    # In one function, so that the parts of the script are no names of the window.
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    trusted = {"style": _asset("report.css"), "script": f'"use strict";\n(() => {{\n{parts}}})();\n'}
    hashes = {f"{name}_hash": _digest(text) for name, text in trusted.items()}
    trusted["data"] = _json(embedded(contents))
    markup = {name: Markup(text) for name, text in trusted.items()}  # noqa: S704 - it is ours
    for part in template.stream(**_context(contents), **hashes, **markup):
        file.write(part)


def _asset(name: str) -> str:
    return files("dedup.report").joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(data: dict[str, object]) -> str:
    """Return *data* as JSON that ends no script element and starts no comment, in ASCII."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# What the template takes


def _context(contents: Contents) -> dict[str, object]:
    choices, losses = contents.choices, contents.report.losses
    ignored = left_out_of(contents.report.index.store).items()
    return {
        "name": printable(choices.name),
        "version": __version__,
        "is_served": bool(choices.marking.token),
        "marks_name": printable(choices.marking.name),
        "colour": losses.colour,
        "verdict": losses.verdict,
        "answer": str(losses.answer),
        "is_losing": losses.answer.losing + losses.answer.unknown > 0,
        "ignored": [printable(f"{host}: {'; '.join(gaps)}") for host, gaps in ignored][:MAX_PLACES],
        "is_partial": _unlisted(contents) > 0,
        "facts": facts(contents),
        "left_out": list(left_out(contents)),
    }


def facts(contents: Contents) -> list[tuple[str, str]]:
    """Return what a report was made of, each fact with its name."""
    choices, report = contents.choices, contents.report
    return [
        ("Index", printable(choices.name)),
        *([("Judged again", str(report.replay))] if report.replay else []),
        ("Written", f"{moment(datetime.now(UTC).timestamp())} UTC by scrapy-dedup {__version__}"),
        ("Rule", rule(choices.config)),
        ("Forgotten rows", f"{report.overview.forgotten:,}, left out of everything"),
    ]


def rule(config: DedupConfig) -> str:
    """Return what makes a page a duplicate."""
    asked = f"They are copies if they {LossVerifier(config).rule}."
    return f"Candidates are pages {' or '.join(ways(config))}. {asked}"


def left_out(contents: Contents) -> Iterator[str]:
    """Yield what a report does not show, or shows in part."""
    overview, texts = contents.report.overview, contents.texts
    if unlisted := _unlisted(contents):
        yield (
            f"{unlisted:,} of {overview.duplicates:,} copies are counted in the figures "
            f"but not listed. The file lists {len(contents.clusters):,} of {overview.clusters:,} "
            f"clusters, those that lose most (at most {contents.choices.max_pages:,} pages, and "
            f"{MAX_MEMBERS} copies of each)."
        )
    if len(overview.sites) > MAX_SITES:
        yield f"Of {len(overview.sites):,} sites, the {MAX_SITES:,} with the most copies are listed."
    if texts:
        yield (
            f"The texts of {len(texts):,} pairs can be compared (at most {MAX_PAIRS} "
            f"pairs, the first {MAX_TEXT:,} characters of each text)."
        )
    elif overview.duplicates:
        yield "No texts can be compared, because the texts of the pages are not stored."


def _unlisted(contents: Contents) -> int:
    """Return how many duplicates are counted in the figures only."""
    return contents.report.overview.duplicates - sum(len(copies) for _, *copies in contents.clusters)


# What the script takes


def embedded(contents: Contents) -> dict[str, object]:
    """Return the data of the tables; pages stand for themselves by their place in *pages*."""
    overview, losses = contents.report.overview, contents.report.losses
    places = {row: place for place, row in enumerate(contents.rows)}
    runs = {run.id: run for run in contents.report.index.runs.all()}
    pages = _pages(contents)
    sites, pages["site"] = _distinct(map(SiteNames().of, _urls(contents)))
    sentences, pages["why"] = _distinct(_why(contents))
    return {
        "reasons": [reason.value for reason in REASONS],
        "outcomes": [outcome.value for outcome in OUTCOMES],
        "by_site": [asdict(share) for share in overview.sites[:MAX_SITES]],
        "by_run": [_run(share, runs.get(int(share.name))) for share in overview.runs],
        "parts": losses.answer.parts,
        "places": [_place(place, contents, places) for place in losses.places[:MAX_PLACES]],
        "pages": pages,
        "sites": sites,
        "sentences": sentences,
        "clusters": [[places[row] for row in cluster] for cluster in contents.clusters],
        "texts": {
            f"{places[kept]}:{places[copy]}": _texts(texts)
            for (kept, copy), texts in contents.texts.items()
        },
        "marks": _marks(contents.choices.marking, pages["url"]),
    }


def _urls(contents: Contents) -> list[str]:
    return [row.sighting.url for row in contents.rows.values()]


def _pages(contents: Contents) -> dict[str, Any]:
    """Return what is shown of each page, as columns; figures are of pages that the report counts."""
    columns, losses = contents.report.columns, contents.report.losses
    places = columns.places(np.array(list(contents.rows), np.int64))
    whole = {row: found for row, found in losses.texts.items() if not found.is_cut}
    words = {row.id: words_of(row.sighting.fingerprint) for row in contents.rows.values()}
    return {
        "url": [printable_url(url, URL_LIMIT) for url in _urls(contents)],
        "title": [heading(row, contents.report.index) for row in contents.rows.values()],
        "words": [whole[row].words if row in whole else words[row] for row in words],
        "run": [row.sighting.run for row in contents.rows.values()],
        "reason": listed(columns.reason, places),
        "outcome": listed(columns.outcome, places),
        "similarity": [one and round(one, _DIGITS) for one in listed(columns.similarity, places)],
        "near": listed(is_near(columns).astype(np.int8), places),
        "lost": listed(columns.lost, places),
        "nowhere": listed(columns.nowhere, places),
        "counted": [int(row in whole) for row in contents.rows],
        "lost_words": [losses.words(row) for row in contents.rows],
    }


def _why(contents: Contents) -> Iterator[str]:
    """Yield why each page is a copy, "" where it is none."""
    rows, texts, config = contents.rows, contents.report.losses.texts, contents.choices.config
    canonicals = {copy: kept for kept, *copies in contents.clusters for copy in copies}
    for number, row in rows.items():
        if number not in canonicals:
            yield ""
            continue
        kept = rows[canonicals[number]]
        matched = match(kept.sighting.fingerprint, row.sighting.fingerprint, config)
        told = why(row.verdict.reason, matched, on_record(row))
        yield texts[number].counted(told) if number in texts else told


def why(reason: Reason, matched: Match, on_record: str = "") -> str:
    """Return why a page is a copy, as *matched* has it, which compares the two pages alone.

    Where they alone, or the settings of the report, would not make it one, the reason is the one that
    is *on_record* (`dedup.report.explanation.on_record`): it was the reason of the crawl.
    """
    if reason is Reason.NEAR_DUPLICATE and not matched.is_duplicate and on_record:
        return on_record
    return SAME_TEXT if reason is Reason.UNCHANGED else matched.sentence


def _place(place: Place, contents: Contents, places: Mapping[int, int]) -> dict[str, object]:
    """Return a place, with the examples and the copies that the file has."""

    def url(row: int) -> str:
        return printable_url(contents.report.index.row(row).sighting.url, URL_LIMIT)

    return {
        "shown": place.shown,
        "where": place.where,
        "means": place.means.removeprefix(": ").removeprefix("; "),
        "host": place.host,
        "names": place.names,
        "copies": [places[row] for row in place.copies if row in places],
        "examples": [
            {"kept": url(kept), "copy": url(copy), "rows": [_spans(lines.before), _spans(lines.after)]}
            for kept, copy, lines in place.examples
        ],
    }


def _texts(texts: SideBySide) -> dict[str, object]:
    """Return rows of paragraphs: spans with 1 where they are changed, or how many words are left out."""
    rows = [
        row.words if isinstance(row, Same) else [_spans(side) for side in (row.before, row.after)]
        for row in texts.rows
    ]
    return {"rows": rows, "is_cut": texts.is_cut}


def _spans(side: Iterable[Span]) -> list[list[object]]:
    return [[text, int(changed)] for text, changed in side]


def _marks(marking: Marking, urls: Iterable[str]) -> dict[str, object]:
    """Return the marks that are known, whose URLs are written as the report shows them: *urls*."""
    known = marking.known
    shown = {url_key(url): url for url in urls} if known.rows else {}
    are_urls = [name in ("page", "other") for name in known.columns]
    return {
        "index": marking.index,
        "name": marking.name,
        "token": marking.token,
        "columns": known.columns,
        "rows": [
            [
                shown.get(url_key(cell), cell) if is_url else cell
                for cell, is_url in zip(row, are_urls, strict=True)
            ]
            for row in known.rows
        ],
    }


def _run(share: Share, run: Run | None) -> dict[str, object]:
    return {
        **asdict(share),
        "spider": printable(run.spider) if run else "",
        "started": moment(run.started) if run else "",
        "ending": (printable(run.ending) or "not ended") if run else "",
        "fate": fate(run.action) if run else "",
    }


def fate(action: str) -> str:
    """Return what became of the duplicates of a run that had this *action*."""
    return FATES.get(action, printable(action))


def _distinct(texts: Iterable[str]) -> tuple[list[str], list[int]]:
    """Return the different *texts*, and the place of each text among them."""
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), places
