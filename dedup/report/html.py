"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from dedup import __version__
from dedup.files.marks_file import marks_of
from dedup.index import Row
from dedup.model.errors import moment, printable, printable_url
from dedup.model.marks import Said, about
from dedup.model.verdict import Reason
from dedup.reading.noise import gaps_named
from dedup.report.clusters import TO_MARK, Report
from dedup.report.diff import MAX_TEXT, shortened
from dedup.report.losses import MAX_PAIRS
from dedup.report.text import full_name, shares

MAX_PAGES = 2_000  # that are listed
MAX_MEMBERS = 200  # copies of a cluster, those that lose most, and runs and sites
MAX_PLACES = 50
_PRESS = "press “These tell pages apart” below"
URL_LIMIT = 600  # characters
# What was escaped or cut is no address any more.
_LINK = re.compile(r"https?://[^\s\\…]+", re.IGNORECASE)
_MARKABLE = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\\…]+", re.IGNORECASE)


def page_of(report: Report, *, token: str = "") -> str:
    """Return *report* for a browser; with a *token* the server that shows it writes marks."""
    from jinja2 import Environment, StrictUndefined  # most commands write no HTML

    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    assets = Path(__file__).parent / "assets"
    html, css, js = ((assets / f"report.{end}").read_text("utf-8") for end in ("html", "css", "js"))
    name, serve = report.index.name, f"dedup report {quote(full_name(report.index))} --serve"
    entries, groups = entries_of(report), report.losses.groups[:MAX_PLACES]
    marks = [*(one.mark for one in entries), *(one.mark for group in groups for one in group)]
    here = {about(mark) for mark in marks if mark}
    return jinja.from_string(html).render(
        report=report,
        verdict=report.verdict.replace(TO_MARK, _PRESS if token else f"mark the place ({serve})"),
        entries=entries,
        groups=groups,
        marked=[one for one in report.config.exceptions.said() if about(one) not in here],
        shares=shares(report, MAX_MEMBERS),
        name=printable(Path(name).name),
        marks=printable(marks_of(name).name),
        token=token,
        serve=serve,
        version=__version__,
        written=f"{moment(datetime.now(UTC).timestamp())} UTC",
        limits=(MAX_PAGES, MAX_MEMBERS, MAX_PAIRS, MAX_TEXT),
        style=css,
        script=js,
        digest=lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        url_of=lambda row: printable_url(row.sighting.url, URL_LIMIT),
        is_link=_LINK.fullmatch,
        gaps_named=gaps_named,
        shortened=shortened,
        printable=printable,
    )


class Pair(NamedTuple):
    """A copy and the page *kept*.

    If it *is_open* the page kept has not all its words, or may not: somebody should look at it, and may
    make a *mark*, which has what was said, unless no mark can name the two.
    """

    kept: Row
    copy: Row
    is_open: bool
    mark: Said | None


def entries_of(report: Report) -> list[Pair]:
    """Return what is listed: whole clusters, as they are ranked, at most `MAX_PAGES` pages."""
    said = {about(one): one.says for one in report.config.exceptions.said()}
    found: list[Pair] = []
    pages = 0
    for _, kept, copies in report.clusters(copies=min(MAX_MEMBERS, MAX_PAGES - 1)):
        pages += 1 + len(copies)
        if pages > MAX_PAGES:
            break
        for copy in copies:
            is_open = copy.verdict.reason is not Reason.EXACT_DUPLICATE and report.lost(copy) != 0
            mark = Said(copy.sighting.url, kept.sighting.url, "", copy.sighting.host)
            can_be = all(_MARKABLE.fullmatch(printable(url, len(url))) for url in mark[:2])
            mark = mark._replace(says=said.get(about(mark), ""))
            found.append(Pair(kept, copy, is_open, mark if is_open and can_be else None))
    return found
