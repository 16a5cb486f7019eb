from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.index import Index
from dedup.report.clusters import KEEPS, Report, Selection
from dedup.report.columns import columns_of
from dedup.report.export import write_jsonl
from dedup.report.text import outline_of
from dedup.values.row import glance_of
from dedup.values.verdict import Reason
from tests.pages import edited, page, text
from tests.report.telling import told

# Three copies in the order in which they are seen: URL, text, declared canonical link.
COPIES = [
    ("http://a/print/1?sid=7", text(1), "https://b/one"),
    ("https://b/one/index", text(1) + " and two words more", "https://b/one"),
    ("http://c/1", edited(1), ""),
    ("https://b/one", edited(1, 2), "/one"),
]
BEST = {
    "first": COPIES[0],
    "newest": COPIES[3],
    "longest": COPIES[1],
    "shortest-url": COPIES[2],
    "https": COPIES[1],
    "canonical-link": COPIES[3],
}


@pytest.fixture
def index() -> Index:
    index = MemoryIndex()
    with Detector(index) as detector:
        for url, content, link in COPIES:
            detector.check(replace(page(content, url), canonical_link=link))
        detector.check(page(text(2), "http://d/"))
    return index


def test_every_rule_is_tried() -> None:
    assert BEST.keys() == KEEPS.keys()


@pytest.mark.parametrize("keep", KEEPS)
def test_a_rule_names_the_best_of_a_cluster(index: Index, keep: str) -> None:
    report = Report(index, keep=keep)
    (cluster,) = report.clusters()
    assert report.overview.duplicates == 3
    assert cluster.canonical.sighting.url == COPIES[0][0]
    assert cluster.best.sighting.url == BEST[keep][0]
    out = io.StringIO()
    write_jsonl(report, out)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {(record["best_url"], record["best_by"]) for record in records} == {(BEST[keep][0], keep)}
    assert {record["canonical_url"] for record in records} == {COPIES[0][0]}


def test_the_text_says_so_where_the_best_is_another_one(index: Index) -> None:
    for keep in KEEPS:
        lines = told(index, keep=keep)
        best = f"  best by {keep}, seen in run 1"
        assert (best in lines) is (keep != "first")
        if best in lines:
            assert lines[lines.index(best) + 1].strip() == BEST[keep][0]


def test_without_a_link_or_https_the_first_is_best() -> None:
    index = MemoryIndex()
    with Detector(index) as detector:
        for url in ("http://a/", "", "http://b/"):
            detector.check(page(text(1), url))
    for keep in ("https", "canonical-link", "longest", "shortest-url"):
        assert next(Report(index, keep=keep).clusters()).best.id == 1


def test_what_was_not_dropped_is_not_called_dropped(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        for action in ("report", "mark", "drop"):
            with Detector(index, DedupConfig(), action=action) as detector:
                detector.check(page(text(1), f"http://a/{action}"))
                detector.check(page(text(1), f"http://b/{action}"))
        lines = told(index)
        assert lines[0] == "4 copies in 2 clusters, not all of them dropped"
        assert sum("run 1, report" in line for line in lines[2:]) == 1
        assert sum(line.endswith(", mark") for line in lines[2:]) == 1
        # A dry run is no reason to drop what comes later.
        assert not any("run 2" in line and "/dry" in line for line in lines)
        assert told(index, Selection(run=3))[0] == "2 pages dropped in 1 cluster"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=30))
def test_the_text_shows_all_clusters_what_loses_words_first(pages: list[tuple[int, int]]) -> None:
    index = MemoryIndex()
    with Detector(index) as detector:
        for number, (seed, edits) in enumerate(pages):
            detector.check(page(edited(seed, 12 * edits) if edits else text(seed), f"http://a/{number}"))
    outline = outline_of(columns_of(map(glance_of, index.rows())))
    rows = {row.id: row for row in index.rows()}
    found = list(outline.clusters.each())
    clusters: dict[int, list[int]] = {}
    for row in rows.values():
        if row.verdict.canonical and not row.verdict.kept:
            clusters.setdefault(row.verdict.canonical, []).append(row.id)
    assert {canonical: sorted(members) for canonical, _, members in found} == clusters
    largest_first = sorted(clusters.items(), key=lambda one: (-len(one[1]), one[0]))
    assert largest_first == [
        (one.canonical.id, [row.id for row in one.duplicates]) for one in Report(index).clusters()
    ]
    kinds = []
    for _, size, members in found:
        lost = [rows[row].verdict.nowhere or 0 for row in members]
        exact = [rows[row].verdict.reason is Reason.EXACT_DUPLICATE for row in members]
        assert lost == sorted(lost, reverse=True)
        kinds.append((-max(lost), all(exact), -size))
    assert kinds == sorted(kinds)
    answer = outline.answer
    assert answer.exact + answer.near == outline.copies == sum(outline.clusters.sizes)
    assert answer.most == max(
        (rows[row].verdict.nowhere or 0 for row in outline.clusters.members.tolist()), default=0
    )


def test_a_page_without_a_title_goes_by_how_its_text_begins() -> None:
    index = MemoryIndex()
    with Detector(index, DedupConfig(store_pages=True)) as detector:
        for number in range(2):
            detector.check(page(f"Tides in May {text(1)}", f"http://a/{number}"))
    assert told(index)[4].startswith("Tides in May ")
