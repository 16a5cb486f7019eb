"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from typing import IO, Any

import numpy as np

from dedup import __version__
from dedup.index import Run
from dedup.index.notes import left_out as left_out_of
from dedup.recipes.config import DedupConfig
from dedup.report.columns import OUTCOMES, REASONS, listed
from dedup.report.contents import Choices, Contents, contents_of
from dedup.report.explanation import FATES
from dedup.report.losses import MAX_PAIRS, Place
from dedup.report.overview import Share, is_near
from dedup.report.shown import MAX_MEMBERS, URL_LIMIT
from dedup.report.side_by_side import MAX_TEXT, Same, SideBySide, Span
from dedup.rule.keys import ways
from dedup.rule.loss import LossVerifier
from dedup.values.errors import DedupError
from dedup.values.printable import moment, printable, printable_url
from dedup.values.urls import url_key
from dedup.values.verdict import Check, Match, Reason

Places = dict[int, int]


def embedded(contents: Contents) -> dict[str, object]:
    """Return the data of the tables; pages stand for themselves by their place in *pages*."""
    overview = contents.overview
    places = {row: place for place, row in enumerate(contents.book.pages)}
    pages = _pages(contents)
    sites, pages["site"] = _distinct(page.site for page in contents.book.pages.values())
    sentences, pages["why"] = _distinct(_why(contents, pages))
    return {
        "reasons": [reason.value for reason in REASONS],
        "outcomes": [outcome.value for outcome in OUTCOMES],
        "by_site": [asdict(share) for share in overview.sites[:MAX_SITES]],
        "by_run": [_run(share, contents.runs.get(int(share.name))) for share in overview.runs],
        "parts": contents.losses.answer.parts,
        "places": [_place(place, contents, places) for place in contents.losses.places[:MAX_PLACES]],
        "pages": pages,
        "sites": sites,
        "sentences": sentences,
        "clusters": [[places[row] for row in cluster.rows] for cluster in contents.clusters],
        "texts": {
            f"{places[first]}:{places[second]}": _texts(texts)
            for (first, second), texts in contents.texts.items()
        },
        "marks": _marks(contents),
    }


def _place(place: Place, contents: Contents, places: Places) -> dict[str, object]:
    """Return a place, with the examples and the copies that the file has."""

    def url(row: int) -> str:
        return printable_url(contents.choices.index.row(row).sighting.url, URL_LIMIT)

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


def _spans(side: Iterable[Span]) -> list[list[object]]:
    return [[text, int(changed)] for text, changed in side]


def _marks(contents: Contents) -> dict[str, object]:
    """Return the marks that are known, whose URLs are written as the report shows them."""
    marking = contents.choices.marking
    shown = (
        {url_key(page.url): page.url for page in contents.book.pages.values()}
        if (marking.known.rows)
        else {}
    )
    places = [name in ("page", "other") for name in marking.known.columns]
    return {
        "index": marking.index,
        "name": marking.name,
        "token": marking.token,
        "columns": marking.known.columns,
        "rows": [
            [
                shown.get(url_key(cell), cell) if is_url else cell
                for cell, is_url in zip(row, places, strict=True)
            ]
            for row in marking.known.rows
        ],
    }


def _texts(texts: SideBySide) -> dict[str, object]:
    """Return rows of paragraphs: spans with 1 where they are changed, or how many words are left out."""
    rows = [
        row.words if isinstance(row, Same) else [_spans(side) for side in (row.before, row.after)]
        for row in texts.rows
    ]
    return {"rows": rows, "is_cut": texts.is_cut}


def _run(share: Share, run: Run | None) -> dict[str, object]:
    return {
        **asdict(share),
        "spider": printable(run.spider) if run else "",
        "started": moment(run.started) if run else "",
        "ending": (printable(run.ending) or "not ended") if run else "",
        "fate": fate(run.action) if run else "",
    }


def _pages(contents: Contents) -> dict[str, Any]:
    """Return what is shown of each page, as columns; figures are of pages that the report counts."""
    pages = list(contents.book.pages.values())
    columns, counted = contents.columns, contents.counted
    places = columns.places(np.array([page.row for page in pages], np.int64))
    return {
        "url": [page.url for page in pages],
        "title": [page.title for page in pages],
        "time": [moment(page.time) for page in pages],
        "words": [counted[page.row].words if page.row in counted else page.words for page in pages],
        "run": [page.run for page in pages],
        "reason": listed(columns.reason, places),
        "outcome": listed(columns.outcome, places),
        "similarity": [_rounded(value) for value in listed(columns.similarity, places)],
        "near": listed(is_near(columns).astype(np.int8), places),
        "lost": listed(columns.lost, places),
        "nowhere": listed(columns.nowhere, places),
        "counted": [int(page.row in counted) for page in pages],
        "lost_words": [contents.losses.words(page.row) for page in pages],
    }


def _why(contents: Contents, pages: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield why each page is a copy, "" where it is none or is not counted."""
    compared = {one.row: one for cluster in contents.clusters for one in cluster.compared}
    for row, reason in zip(contents.book.pages, pages["reason"], strict=True):
        one = compared.get(row)
        if one is None or reason is None:
            yield ""
        else:
            told = why(REASONS[reason], one.check, one.on_record)
            yield contents.counted[row].counted(told) if row in contents.counted else told


def _distinct(texts: Iterable[str]) -> tuple[list[str], list[int]]:
    """Return the different *texts*, and the place of each text among them."""
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), places


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 3)


# So many sites are listed.
MAX_SITES = 1000
# So many places are shown.
MAX_PLACES = 50


def rule(config: DedupConfig) -> str:
    """Return what makes a page a duplicate."""
    asked = f"They are copies if they {LossVerifier(config).rule}."
    return f"Candidates are pages {' or '.join(ways(config))}. {asked}"


def why(reason: Reason, check: Check, on_record: str = "") -> str:
    """Return why a page is a copy, as *check* has it, which compares the two pages alone.

    Where they alone, or the settings of the report, would not make it one, the reason is the one that
    is *on_record* (`dedup.report.overview.on_record`): it was the reason of the crawl.
    """
    if reason is Reason.NEAR_DUPLICATE and not check.passes and on_record:
        return on_record
    return Match(reason, check).sentence


def facts(contents: Contents) -> list[tuple[str, str]]:
    """Return what a report was made of, each fact with its name."""
    choices = contents.choices
    return [
        ("Index", printable(choices.name)),
        *([("Judged again", choices.note)] if choices.note else []),
        ("Written", f"{moment(datetime.now(UTC).timestamp())} UTC by scrapy-dedup {__version__}"),
        ("Rule", rule(choices.config)),
        ("Forgotten rows", f"{contents.overview.forgotten:,}, left out of everything"),
    ]


def left_out(contents: Contents) -> Iterator[str]:
    """Yield what a report does not show, or shows in part."""
    overview = contents.overview
    if contents.left_out:
        yield (
            f"{contents.left_out:,} of {overview.duplicates:,} copies are counted in the figures "
            f"but not listed. The file lists {len(contents.clusters):,} of {overview.clusters:,} "
            f"clusters, those that lose most (at most {contents.choices.max_pages:,} pages, and "
            f"{MAX_MEMBERS} copies of each)."
        )
    if len(overview.sites) > MAX_SITES:
        yield (f"Of {len(overview.sites):,} sites, the {MAX_SITES:,} with the most copies are listed.")
    if contents.texts:
        yield (
            f"The texts of {len(contents.texts):,} pairs can be compared (at most {MAX_PAIRS} "
            f"pairs, the first {MAX_TEXT:,} characters of each text)."
        )
    elif overview.duplicates:
        yield "No texts can be compared, because the texts of the pages are not stored."


def fate(action: str) -> str:
    """Return what became of the duplicates of a run that had this *action*."""
    return FATES.get(action, printable(action))


# The parts of the script, in the order in which they need each other.
SCRIPTS = ("elements", "table", "texts", "pages", "parts", "review", "moving")


def write_report(choices: Choices, file: IO[str]) -> None:
    """Write the report of *choices*; raises `DedupError` where the extra ``report`` is not installed."""
    template = _template()
    contents = contents_of(choices)
    trusted = {"style": _asset("report.css"), "script": _script()}
    hashes = {f"{name}_hash": _digest(text) for name, text in trusted.items()}
    trusted["data"] = _json(embedded(contents))
    for part in template.stream(**_context(contents), **hashes, **_markup(trusted)):
        file.write(part)


def _context(contents: Contents) -> dict[str, object]:
    return {
        "name": printable(contents.choices.name),
        "version": __version__,
        "is_served": bool(contents.choices.marking.token),
        "marks_name": printable(contents.choices.marking.name),
        "colour": contents.losses.colour,
        "verdict": contents.losses.verdict,
        "answer": str(contents.losses.answer),
        "is_losing": contents.losses.answer.losing + contents.losses.answer.unknown > 0,
        "ignored": [
            printable(f"{host}: {'; '.join(gaps)}")
            for host, gaps in left_out_of(contents.choices.index.store).items()
        ][:MAX_PLACES],
        "is_partial": contents.left_out > 0,
        "facts": facts(contents),
        "left_out": list(left_out(contents)),
    }


def _json(data: dict[str, object]) -> str:
    """Return *data* as JSON that ends no script element and starts no comment, in ASCII."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script() -> str:
    """Return the script: its parts in one function, so that they are no names of the window."""
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _asset(name: str) -> str:
    return files("dedup.report").joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise DedupError('the HTML report needs pip install "scrapy-dedup[report]"') from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_asset("report.html"))


def _markup(trusted: Any) -> Any:
    """Return text of ours, or each value of a map of such, as what needs no escaping."""
    from markupsafe import Markup

    if isinstance(trusted, dict):
        return {name: Markup(text) for name, text in trusted.items()}  # noqa: S704
    return Markup(trusted)  # noqa: S704
