"""What the file of a report holds for its script, ready for JSON: what is none is null."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dedup.index import Run
from dedup.report.answer import is_near
from dedup.report.columns import OUTCOMES, REASONS, listed
from dedup.report.contents import Contents
from dedup.report.overview import Share
from dedup.report.sentences import MAX_SITES, MEANINGS, fate, why
from dedup.report.side_by_side import Same, SideBySide
from dedup.values.printable import moment, printable
from dedup.values.urls import url_key

Places = dict[int, int]


def embedded(contents: Contents) -> dict[str, object]:
    """Return the data of the tables; pages stand for themselves by their place in *pages*."""
    overview = contents.overview
    places = {row: place for place, row in enumerate(contents.book.pages)}
    pages = _pages(contents)
    sites, pages["site"] = _distinct(page.site for page in contents.book.pages.values())
    sentences, pages["why"] = _distinct(_why(contents, pages))
    return {
        "keep": contents.choices.keep,
        "reasons": [reason.value for reason in REASONS],
        "outcomes": [outcome.value for outcome in OUTCOMES],
        "by_site": [asdict(share) for share in overview.sites[:MAX_SITES]],
        "by_run": [_run(share, contents.runs.get(int(share.name))) for share in overview.runs],
        "by_reason": [
            {"name": reason.value, "pages": overview.reasons[reason], "meaning": MEANINGS[reason]}
            for reason in REASONS
            if reason in overview.reasons
        ],
        "pages": pages,
        "sites": sites,
        "sentences": sentences,
        "clusters": _clusters(contents, places, pages["nowhere"]),
        "texts": {
            f"{places[first]}:{places[second]}": _texts(texts)
            for (first, second), texts in contents.texts.items()
        },
        "marks": _marks(contents),
    }


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
        row.words
        if isinstance(row, Same)
        else [[[text, int(changed)] for text, changed in side] for side in (row.before, row.after)]
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
        "content": listed(columns.content_distance, places),
        "structure": listed(columns.structure_distance, places),
        "similarity": [_rounded(value) for value in listed(columns.similarity, places)],
        "near": listed(is_near(columns).astype(np.int8), places),
        "lost": listed(columns.lost, places),
        "nowhere": listed(columns.nowhere, places),
        "counted": [int(page.row in counted) for page in pages],
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


def _clusters(
    contents: Contents, places: Places, lost: Sequence[int | None]
) -> dict[str, Sequence[object]]:
    """Return the clusters as columns; *lost* has the words lost with each page."""
    clusters, keep = contents.clusters, contents.choices.keep
    losses = ([lost[places[row]] for row in cluster.rows[1:]] for cluster in clusters)
    return {
        "members": [[places[row] for row in cluster.rows] for cluster in clusters],
        "size": [cluster.size for cluster in clusters],
        "lost": [max((one for one in some if one is not None), default=None) for some in losses],
        "best": [places[cluster.best] for cluster in clusters if keep != "first"],
    }


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 3)
