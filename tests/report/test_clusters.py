from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.model.verdict import Reason
from dedup.report.clusters import Report, Selection
from tests.pages import edited, page, text
from tests.report.telling import told


def test_what_was_not_dropped_is_not_called_dropped(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        for action in ("report", "mark", "drop"):
            with Detector(index, DedupConfig(), action=action) as detector:
                detector.check(page(text(1), f"http://a/{action}"))
                detector.check(page(text(1), f"http://b/{action}"))
        lines = told(index)
        assert "4 copies in 2 clusters, not all of them dropped" in lines
        assert sum("run 1, report" in line for line in lines[2:]) == 1
        assert sum(line.endswith(", mark") for line in lines[2:]) == 1
        # A dry run is no reason to drop what comes later.
        assert not any("run 2" in line and "/dry" in line for line in lines)
        assert "2 pages dropped in 1 cluster" in told(index, Selection(run=3))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=30))
def test_the_text_shows_all_clusters_what_loses_words_first(pages: list[tuple[int, int]]) -> None:
    index = MemoryIndex()
    with Detector(index) as detector:
        for number, (seed, edits) in enumerate(pages):
            detector.check(page(edited(seed, 12 * edits) if edits else text(seed), f"http://a/{number}"))
    report = Report(index)
    rows = {row.id: row for row in index.rows()}
    found = report.ranked
    clusters: dict[int, list[int]] = {}
    for row in rows.values():
        if row.verdict.canonical and not row.verdict.kept:
            clusters.setdefault(row.verdict.canonical, []).append(row.id)
    assert {canonical: sorted(members) for canonical, members in found} == clusters
    assert found == [(kept.id, [row.id for row in copies]) for _, kept, copies in report.clusters()]
    kinds = []
    for _, members in found:
        lost = [rows[row].verdict.nowhere or 0 for row in members]
        exact = [rows[row].verdict.reason is Reason.EXACT_DUPLICATE for row in members]
        assert lost == sorted(lost, reverse=True)
        kinds.append((-max(lost), all(exact), -len(members)))
    assert kinds == sorted(kinds)
    assert report.answer.copies == sum(len(members) for _, members in found)
    assert report.answer.most == -min((kind[0] for kind in kinds), default=0)


def test_a_page_without_a_title_goes_by_how_its_text_begins() -> None:
    index = MemoryIndex()
    with Detector(index, DedupConfig(store_pages=True)) as detector:
        for number in range(2):
            detector.check(page(f"Tides in May {text(1)}", f"http://a/{number}"))
    assert told(index)[5].startswith("Tides in May ")
