"""The report as one HTML file for a person who looks: it loads nothing and runs no script of a page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import IO, Any, Protocol, TypeVar

import numpy as np

from dedup import __version__
from dedup.index import Glance, Index
from dedup.recipes.config import DedupConfig
from dedup.report.book import MAX_CHARACTERS, MAX_MEMBERS, Book, ShownCluster, shown_clusters
from dedup.report.borderline import PAIRS, Borderline, Pair, borderline_of
from dedup.report.charts import distance_chart, similarity_chart
from dedup.report.columns import OUTCOMES, REASONS, Columns, columns_of
from dedup.report.diff import EQUAL, units, word_diff
from dedup.report.likeness import MAX_COMPARED
from dedup.report.overview import STEPS, Overview, Share, overview_of
from dedup.report.templates import MAX_TEMPLATES, Templates, templates_of
from dedup.report.templates import MAX_WORDS as MAX_STRUCTURES
from dedup.rule.keys import banding_of, uses_content, uses_structure
from dedup.values.errors import ConfigError, DedupError
from dedup.values.printable import printable
from dedup.values.verdict import Reason

MAX_PAGES = 100_000
# So many sites and pairs of texts are in a file; of a text so many characters are compared.
MAX_SITES = 1000
MAX_DIFFS = 150
MAX_TEXT = 20_000
# Longer runs of equal words are shown by their ends.
_EQUAL_WORDS = 60
_END_WORDS = 25

T = TypeVar("T")
TextOf = Callable[[int], str | None]

_MEANINGS = {
    "new": "nothing like it was known: kept",
    "exact_duplicate": "another page has the same bytes",
    "near_duplicate": "another page has much the same text",
    "canonical_link": "it names another page as its canonical one",
    "unchanged": "an earlier crawl saw this page with the same words",
    "updated": "an earlier crawl saw this page with other words: kept",
    "not_judged": "there was nothing to judge: kept",
}
_ACTIONS = {"drop": "dropped", "mark": "marked", "dry run": "let through"}


class Track(Protocol):
    """Something that watches what goes by, for instance a progress bar."""

    def __call__(self, values: Iterable[T], description: str, total: int) -> Iterable[T]:
        """Return *values* as they are."""


def _unwatched(values: Iterable[T], description: str, total: int) -> Iterable[T]:  # noqa: ARG001
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """How a report is written.

    *glances* are the rows that it is about, all of the index unless given; their canonicals and texts
    are looked up in the index.  *config* has the thresholds, *keep* the rule for the best of a cluster
    (`dedup.report.clusters.KEEPS`), *max_pages* bounds the file.  *text_of* gives the text of the page
    of a row, None where there is none; unless given, `stored_texts` do.  *note* is a sentence among
    the facts.
    """

    index: Index
    config: DedupConfig
    name: str
    note: str = ""
    glances: Iterable[Glance] | None = None
    keep: str = "first"
    max_pages: int = MAX_PAGES
    text_of: TextOf | None = None
    track: Track = field(default=_unwatched)

    def __post_init__(self) -> None:
        if self.max_pages < 2:
            raise ConfigError(f"max_pages ({self.max_pages}) must be 2 or more")

    def write(self, file: IO[str]) -> None:
        """Write the report; raises `DedupError` where the extra ``report`` is not installed."""
        template = _template()
        columns = self._columns()
        overview = overview_of(columns)
        shown = self._shown(columns)
        context = {
            "name": printable(self.name),
            "version": __version__,
            "sentence": _sentence(overview),
            "tiles": _tiles(overview),
            "is_partial": shown.copies < overview.copies,
            "has_exact": overview.reasons.get(Reason.EXACT_DUPLICATE, 0) > 0,
            "charts": _charts(overview, self.config),
            "rule": _rule(self.config),
            "looked_up": _looked_up(shown.borderline),
            "templates_sentence": _templates_sentence(shown.templates, self.config),
            "facts": self._facts(overview),
            "left_out": list(self._left_out(overview, shown)),
        }
        assets = {"style": _asset("report.css"), "script": _asset("report.js")}
        hashes = {f"{name}_hash": _digest(text) for name, text in assets.items()}
        trusted = {**assets, "data": _json(self._data(overview, columns, shown))}
        for part in template.stream(**context, **hashes, **_markup(trusted)):
            file.write(part)

    def _columns(self) -> Columns:
        if self.glances is not None:
            return columns_of(self.glances)
        rows = self.index.views.statistics().rows
        return columns_of(self.track(self.index.views.glances(), "reading", rows))

    def _shown(self, columns: Columns) -> _Shown:
        book = Book(self.index)
        clusters = shown_clusters(
            columns,
            book,
            self.max_pages,
            self.keep,
            lambda rows, total: self.track(rows, "looking up", total),
        )
        borderline = borderline_of(columns, self.index, self.config)
        templates = templates_of(columns, self.config.same_template_distance)
        pairs = (*borderline.inside, *borderline.outside)
        book.add_all(row for pair in pairs for row in (pair.first, pair.second))
        book.add_all(row for template in templates.groups for row in template.examples)
        diffs = self._diffs(clusters, pairs)
        return _Shown(book, clusters, borderline, templates, diffs)

    def _diffs(
        self, clusters: Sequence[ShownCluster], pairs: Sequence[Pair]
    ) -> dict[tuple[int, int], dict[str, object]]:
        """Return the pairs of texts that are shown: those on the edge, then copies of each cluster."""
        candidates = [(pair.first, pair.second) for pair in pairs[: MAX_DIFFS // 2]]
        for turn in range(1, 1 + max((len(cluster.rows) for cluster in clusters), default=0)):
            if len(candidates) >= MAX_DIFFS:
                break
            candidates += [
                (cluster.rows[0], cluster.rows[turn]) for cluster in clusters if turn < len(cluster.rows)
            ]
        diffs: dict[tuple[int, int], dict[str, object]] = {}
        text_of = stored_texts(self.index) if self.text_of is None else self.text_of
        for first, second in self.track(candidates[:MAX_DIFFS], "comparing texts", MAX_DIFFS):
            one, other = text_of(first), text_of(second)
            if one is not None and other is not None and one != other:
                diffs[first, second] = _shown_diff(one, other)
        return diffs

    def _data(self, overview: Overview, columns: Columns, shown: _Shown) -> dict[str, object]:
        places = {row: place for place, row in enumerate(shown.book.pages)}
        sites: dict[str, int] = {}
        runs = {run.id: run for run in self.index.runs()}
        return {
            "keep": self.keep,
            "compared": MAX_COMPARED,
            "rule": {"share": round(100 * self.config.min_similarity) if self.config.verify else None},
            "reasons": [reason.value for reason in REASONS],
            "outcomes": [outcome.value for outcome in OUTCOMES],
            "by_site": [_share(share) for share in overview.sites[:MAX_SITES]],
            "by_run": [{**_share(share), **_run(runs.get(int(share.name)))} for share in overview.runs],
            "by_reason": [
                {"name": name, "pages": pages, "meaning": _MEANINGS[name]}
                for name, pages in overview.reasons.items()
            ],
            "pages": _pages(shown.book, columns, sites),
            "sites": list(sites),
            "clusters": {
                "members": [[places[row] for row in cluster.rows] for cluster in shown.clusters],
                "size": [cluster.size for cluster in shown.clusters],
                "least": [_thousandths(cluster.least.similarity) for cluster in shown.clusters],
                "pair": [
                    [
                        places[cluster.rows[cluster.least.first]],
                        places[cluster.rows[cluster.least.second]],
                    ]
                    for cluster in shown.clusters
                ],
                "best": [places[cluster.best] for cluster in shown.clusters]
                if self.keep != "first"
                else [],
            },
            "inside": [_pair(pair, places) for pair in shown.borderline.inside],
            "outside": [_pair(pair, places) for pair in shown.borderline.outside],
            "templates": [
                {
                    "pages": template.pages,
                    "copies": template.copies,
                    "words": template.words,
                    "sites": template.sites,
                    "examples": [places[row] for row in template.examples],
                }
                for template in shown.templates.groups
            ],
            "diffs": {
                f"{places[first]}:{places[second]}": diff
                for (first, second), diff in shown.diffs.items()
            },
        }

    def _facts(self, overview: Overview) -> list[tuple[str, str]]:
        config = self.config
        now = datetime.now(UTC)
        return [
            ("Index", printable(self.name)),
            *([("Judged again", self.note)] if self.note else []),
            ("Written", f"{now:%Y-%m-%d %H:%M} UTC by scrapy-dedup {__version__}"),
            ("Candidates", f"pages {', or '.join(_ways(config))}"),
            (
                "Confirmed",
                f"similarity of at least {config.min_similarity:g}" if config.verify else "not",
            ),
            ("Best of a cluster", self.keep),
            ("Forgotten rows", f"{overview.forgotten:,}, left out of everything"),
        ]

    def _left_out(self, overview: Overview, shown: _Shown) -> Iterator[str]:
        if shown.copies < overview.copies:
            yield (
                f"{overview.copies - shown.copies:,} of {overview.copies:,} copies are counted in the "
                f"figures but not listed: the file lists the largest {len(shown.clusters):,} of "
                f"{overview.clusters:,} clusters (at most {self.max_pages:,} pages, "
                f"{MAX_CHARACTERS:,} characters) and of each the first {MAX_MEMBERS:,} copies."
            )
        if len(overview.sites) > MAX_SITES:
            yield f"Of {len(overview.sites):,} sites those {MAX_SITES:,} with most copies are listed."
        if len(shown.borderline.inside) == PAIRS or len(shown.borderline.outside) == PAIRS:
            yield f"Of the borderline pairs the nearest {PAIRS} on each side are listed."
        if shown.diffs:
            yield (
                f"Texts are side by side for {len(shown.diffs):,} pairs, the first "
                f"{MAX_TEXT:,} characters of each (at most {MAX_DIFFS} pairs)."
            )
        elif overview.copies:
            yield "No texts are side by side: the texts of the pages are not stored."


def stored_texts(index: Index) -> TextOf:
    """Return the function that gives the stored text of a row of *index*."""

    return lambda row: index.views.text_of(index.row(row))


@dataclass(frozen=True, slots=True)
class _Shown:
    """What stands in the file page by page."""

    book: Book
    clusters: list[ShownCluster]
    borderline: Borderline
    templates: Templates
    diffs: dict[tuple[int, int], dict[str, object]]

    @property
    def copies(self) -> int:
        """How many copies are listed."""
        return sum(len(cluster.rows) - 1 for cluster in self.clusters)


def _sentence(overview: Overview) -> str:
    return (
        f"Of {overview.pages:,} pages seen, {overview.copies:,} ({overview.share:.1%}) repeat one of "
        f"{overview.clusters:,} pages that were kept."
    )


def _tiles(overview: Overview) -> list[tuple[str, str]]:
    return [
        ("pages seen", f"{overview.pages:,}"),
        ("kept", f"{overview.pages - overview.copies:,}"),
        ("copies", f"{overview.copies:,}"),
        ("share of copies", f"{overview.share:.1%}"),
        ("clusters", f"{overview.clusters:,}"),
        ("sites", f"{len(overview.sites):,}"),
        ("runs", f"{len(overview.runs):,}"),
    ]


def _charts(overview: Overview, config: DedupConfig) -> list[dict[str, object]]:
    distances, similarities = overview.distances, overview.similarities
    max_distance = config.max_distance if uses_content(config) else None
    min_similarity = config.min_similarity if config.verify else None
    return [
        {
            "title": "How far the texts of copies are from the page kept",
            "label": "bits",
            "summary": _chart_summary(
                distances, "bits", [str(bits) for bits in range(len(distances[0]))]
            )
            + (
                " No threshold: content simhashes find no candidates."
                if max_distance is None
                else f" Threshold: {max_distance} bits."
            ),
            "drawing": _markup(distance_chart(distances, max_distance)),
            "figures": _figures(distances, [str(bits) for bits in range(len(distances[0]))]),
        },
        {
            "title": "How much of their text they share",
            "label": "similarity",
            "summary": _chart_summary(similarities, "similarity", _steps())
            + (
                " No threshold: candidates are not verified."
                if min_similarity is None
                else f" Threshold: {min_similarity:g}."
            ),
            "drawing": _markup(similarity_chart(similarities, min_similarity)),
            "figures": _figures(similarities, _steps()),
        },
    ]


def _steps() -> list[str]:
    return [f"{step / STEPS:.2f} to {(step + 1) / STEPS:.2f}" for step in range(STEPS)]


def _figures(counts: Sequence[Sequence[int]], names: Sequence[str]) -> list[tuple[str, str, str]]:
    rows = zip(names, *counts, strict=True)
    return [(name, f"{exact:,}", f"{near:,}") for name, exact, near in rows if exact or near]


def _chart_summary(counts: Sequence[Sequence[int]], what: str, names: Sequence[str]) -> str:
    totals = [exact + near for exact, near in zip(*counts, strict=True)]
    most = max(range(len(totals)), key=lambda place: totals[place])
    return (
        f"Histogram of {sum(totals):,} copies by {what}; most, {totals[most]:,}, are at {names[most]}."
    )


def _rule(config: DedupConfig) -> str:
    check = f" if their similarity is at least {config.min_similarity:g}" if config.verify else ""
    return f"Pages {', or '.join(_ways(config))} are copies{check}."


def _ways(config: DedupConfig) -> Iterator[str]:
    """Yield what makes a page a candidate."""
    if uses_content(config):
        yield f"whose content simhashes differ in at most {config.max_distance} bits"
    if uses_structure(config):
        yield f"whose structure simhashes differ in at most {config.structure_max_distance} bits"
    if cut := banding_of(config):
        yield f"whose sketches have one of {cut.bands} bands in common"


def _looked_up(borderline: Borderline) -> str:
    if borderline.looked_up == borderline.kept:
        return f"All {borderline.kept:,} pages that are compared with were looked up for near ones."
    return (
        f"{borderline.looked_up:,} of {borderline.kept:,} pages that are compared with, evenly spread, "
        "were looked up for near ones."
    )


def _templates_sentence(templates: Templates, config: DedupConfig) -> str:
    return (
        f"Pages whose structure simhashes differ in at most {config.same_template_distance} bits from "
        f"that of the most frequent among them. Structure alone makes no page a copy. The largest "
        f"{len(templates.groups):,} groups (at most {MAX_TEMPLATES}, of the {MAX_STRUCTURES:,} most "
        f"frequent structures); {templates.outside:,} other pages are in none."
    )


def _share(share: Share) -> dict[str, object]:
    return {
        "name": share.name,
        "pages": share.pages,
        "copies": share.copies,
        "elsewhere": share.elsewhere,
        "other": share.other,
    }


def _run(run: Any) -> dict[str, object]:
    if run is None:
        return {"spider": "", "started": "", "ending": "", "action": ""}
    return {
        "spider": printable(run.spider),
        "started": _moment(run.started),
        "ending": printable(run.ending) or "running",
        "action": _ACTIONS.get(run.action, printable(run.action)),
    }


def _pages(book: Book, columns: Columns, sites: dict[str, int]) -> dict[str, Sequence[object]]:
    """Return what is shown of each page, as columns; what *columns* do not know is -1."""
    pages = list(book.pages.values())
    places = columns.places(np.array([page.row for page in pages], np.int64))
    is_known = places >= 0

    def figures(column: Any) -> list[int]:
        values = np.full(len(pages), -1)
        values[is_known] = column[places[is_known]]
        known: list[int] = values.tolist()
        return known

    alike = np.nan_to_num(columns.similarity, nan=-1.0)
    return {
        "url": [page.url for page in pages],
        "title": [page.title for page in pages],
        "time": [_moment(page.time) for page in pages],
        "tokens": [page.tokens for page in pages],
        "run": [page.run for page in pages],
        "site": [sites.setdefault(page.site, len(sites)) for page in pages],
        "reason": figures(columns.reason),
        "outcome": figures(columns.outcome),
        "content": figures(columns.content_distance),
        "structure": figures(columns.structure_distance),
        "similarity": figures(np.where(alike < 0, -1, np.rint(alike * 1000))),
    }


def _pair(pair: Pair, places: dict[int, int]) -> dict[str, object]:
    found = pair.match
    return {
        "first": places[pair.first],
        "second": places[pair.second],
        "similarity": _thousandths(found.similarity),
        "content": -1 if found.content_distance is None else found.content_distance,
        "structure": -1 if found.structure_distance is None else found.structure_distance,
    }


def _thousandths(similarity: float) -> int:
    return round(1000 * similarity)


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _shown_diff(a: str, b: str) -> dict[str, object]:
    """Return what differs, as text: [0, equal], [0, start, words left out, end] or [1, of a, of b]."""
    changes: list[list[object]] = []
    for change in word_diff(a[:MAX_TEXT], b[:MAX_TEXT]):
        words = units(change.after)
        if change.op != EQUAL:
            changes.append([1, _one_line(change.before), _one_line(change.after)])
        elif len(words) <= _EQUAL_WORDS:
            changes.append([0, _one_line(change.after)])
        else:
            start, end = "".join(words[:_END_WORDS]), "".join(words[-_END_WORDS:])
            changes.append([0, _one_line(start), len(words) - 2 * _END_WORDS, _one_line(end)])
    return {"changes": changes, "cut": max(len(a), len(b)) > MAX_TEXT}


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()), MAX_TEXT)


def _json(data: dict[str, object]) -> str:
    """Return *data* as JSON that ends no script element and starts no comment, in ASCII."""
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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
