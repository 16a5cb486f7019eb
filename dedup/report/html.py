"""The HTML report packed into one file: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from dedup import __version__
from dedup.files.marks_file import marks_of
from dedup.index import Row
from dedup.model.errors import moment, printable, printable_url
from dedup.model.marks import Said, about
from dedup.reading.noise import gaps_named
from dedup.report.clusters import TO_MARK, Report
from dedup.report.diff import MAX_TEXT, shortened
from dedup.report.losses import MAX_PAIRS
from dedup.report.text import BESIDE, DIFFER, first, full_name, shares

# So many are shown: pages, copies of a cluster, those that lose most, and runs, and places of a list.
MAX_PAGES, MAX_MEMBERS, MAX_PLACES = 2_000, 200, 50
_PRESS = "press “These tell pages apart” below"
URL_LIMIT = 600  # characters
# What was escaped or cut is no address any more.
_LINK = re.compile(r"https?://[^\s\\…]+", re.IGNORECASE)
_MARKABLE = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\\…]+", re.IGNORECASE)


def page_of(report: Report, *, token: str = "") -> str:
    """Return *report* for a browser; with a *token* the server that shows it writes marks."""
    from jinja2 import Environment, StrictUndefined  # most commands write no HTML

    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    own = {"gaps_named": gaps_named, "shortened": shortened, "printable": printable}
    jinja.globals.update(own, is_link=_LINK.fullmatch)
    assets = Path(__file__).parent / "assets"
    html, css, js = ((assets / f"report.{end}").read_text("utf-8") for end in ("html", "css", "js"))
    name, serve = report.index.name, f"dedup report {quote(full_name(report.index))} --serve"
    clusters = clusters_of(report)
    exceptions = [*report.config.exceptions.said()]
    said, marks = {about(one): one.says for one in exceptions}, dict[int, Said]()
    for kept, copies in clusters:
        for copy in filter(report.may_lose, copies):
            mark = Said(copy.sighting.url, kept.sighting.url, "", copy.sighting.host)
            if all(_MARKABLE.fullmatch(printable(url, len(url))) for url in mark[:2]):
                marks[copy.id] = mark._replace(says=said.get(about(mark), ""))
    here = {*map(about, marks.values())}
    return jinja.from_string(html).render(
        report=report,
        verdict=report.verdict.replace(TO_MARK, _PRESS if token else f"mark the place ({serve})"),
        clusters=clusters,
        listed=sum(len(copies) for _, copies in clusters),
        marks_of_pairs=marks,
        places=[(DIFFER, report.losses.groups), (BESIDE, report.beside.groups)],
        marked=[one for one in exceptions if about(one) not in here],
        runs=first([*shares(report)], MAX_MEMBERS),
        name=printable(Path(name).name),
        marks=printable(marks_of(name).name),
        token=token,
        serve=serve,
        version=__version__,
        written=f"{moment(datetime.now(UTC).timestamp())} UTC",
        limits=(MAX_PAGES, MAX_MEMBERS, MAX_PAIRS, MAX_TEXT, MAX_PLACES),
        style=css,
        script=js,
        digest=lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        url_of=lambda row: printable_url(row.sighting.url, URL_LIMIT),
    )


def clusters_of(report: Report) -> list[tuple[Row, list[Row]]]:
    """Return the pages kept that are listed, with their copies, as they are ranked."""
    found, pages = list[tuple[Row, list[Row]]](), 0
    for _, kept, copies in report.clusters(copies=min(MAX_MEMBERS, MAX_PAGES - 1)):
        pages += 1 + len(copies)
        if pages > MAX_PAGES:
            break
        found.append((kept, copies))
    return found
