"""The figures of a report are those that plain loops over the rows give."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex
from dedup.model.verdict import Glance, Outcome, Reason
from dedup.report.changes import in_a_line
from dedup.report.clusters import Counts, Report
from tests.report.reports import told
from tests.support.pages import checked, edited, page, text

HOSTS = ["a.example", "b.example:8080", "c.example"]


# What is told of copies only.
TOLD: dict[str, list[Any]] = {
    "reason": ["exact_duplicate", "near_duplicate", "unchanged"],
    "similarity": [0.0, 0.62, 0.98, 0.999, 1.0],
    "lost": [None, 0, 4, 5, 199, 200, 10**6],
    "missing": [None, 0, 3, 10**5],
}
OUTCOMES = [Outcome.CONFIRMED, Outcome.CONFIRMED, Outcome.FORGOTTEN]


@st.composite
def lives(draw: st.DrawFn) -> list[Glance]:
    """Return the rows of some runs, of which some repeat an earlier one."""
    rows: list[Glance] = []
    for number in range(1, draw(st.integers(0, 30)) + 1):
        kept = [row.id for row in rows if row.kept]
        canonical = draw(st.sampled_from([None, *kept]))
        about: dict[str, Any] = {
            name: draw(st.sampled_from(some)) if canonical else None for name, some in TOLD.items()
        }
        if not canonical:
            about["reason"] = "new"
        url = f"https://{draw(st.sampled_from(HOSTS))}/{draw(st.integers(1, 9))}"
        about |= {"url": url, "url_key": url, "canonical": canonical, "kept": canonical is None}
        about["outcome"] = draw(st.sampled_from(OUTCOMES))
        same: dict[str, Any] = {"scope": "", "item_key": "", "previous": None}
        rows.append(Glance(id=number * 3, run=draw(st.integers(1, 3)), **same, **about))
    return rows


@given(lives())
def test_the_figures_are_those_of_plain_counting(rows: list[Glance]) -> None:
    counts, standing = Counts(rows), [row for row in rows if row.outcome != "forgotten"]
    newest = {row.url: max(one.run for one in standing if one.url == row.url) for row in standing}
    once = [row for row in standing if row.run == newest[row.url]]
    copies = [row for row in once if not row.kept]
    assert counts.seen == len(once)
    assert counts.copies == len(copies)
    assert [one.canonical for one in counts.found] == [row.canonical for row in copies]
    assert counts.rows == [row.id for row in once]
    assert [row.id for row in counts.found] == [row.id for row in copies]
    runs = Counter(row.run for row in standing)
    assert {name: seen for name, seen, _ in counts.by_run} == runs


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_each_page_counts_once_whatever_number_of_crawls_saw_it(unchanged: str) -> None:
    index, config = MemoryIndex(), DedupConfig(unchanged=unchanged)
    contents = [text(1), text(1), edited(1, 4), text(2), text(3)]
    for day in range(3):
        today = enumerate([*contents, text(10 + day)])  # one page changes daily
        checked(index, {f"http://a.example/{number}": content for number, content in today}, config)
    report = Report(index)
    counts = "6 pages seen (each once, of 3 runs) = 4 kept + 1 near copy + 1 exact copy."
    assert str(report.counts).startswith(counts)
    assert [share[1:] for share in report.counts.by_run][1:] == [(6, 2)] * 2
    assert [row.sighting.url[-1] for row in report.rows()] == ["1", "2"]
    assert len([*report.rows(everything=True)]) == 6
    ((size, _, _),) = report.clusters()
    assert size == 2


def test_fields_are_compared_with_those_of_a_page_of_another_run() -> None:
    index = MemoryIndex()
    for prices in ("1",), ("1", "2"):
        with Detector(index) as detector:
            for price in prices:
                url = f"http://a.example/{price}/{len(prices)}"
                detector.check(replace(page(text(1), url), unjudged=f'{{"price":"{price}"}}'))
    assert str(Report(index, run=2).counts) == (
        "2 pages seen = 0 kept + 2 exact copies. Of 2 copies, 1 loses nothing, 1 differs in other fields."
    )


def test_what_was_not_dropped_is_not_called_dropped(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        for action in ("report", "mark", "drop"):
            with Detector(index, DedupConfig(), action=action) as detector:
                detector.check(page(text(1), f"http://a/{action}"))
                detector.check(page(text(1), f"http://b/{action}"))
        lines = told(index)
        assert "4 copies in 2 clusters" in lines
        assert sum("let through in run 1" in line for line in lines[2:]) == 1
        assert sum("marked in run 2" in line for line in lines[2:]) == 1
        # A dry run is no reason to drop what comes later.
        assert not any("run 2" in line and "/dry" in line for line in lines)
        assert "2 copies in 1 cluster" in told(index, run=3)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=30))
def test_the_text_shows_all_clusters_what_loses_words_first(pages: list[tuple[int, int]]) -> None:
    index = MemoryIndex()
    said = (edited(seed, 12 * edits) if edits else text(seed) for seed, edits in pages)
    checked(index, {f"http://a/{number}": content for number, content in enumerate(said)})
    report, rows = Report(index), {row.id: row for row in index.rows()}
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
    assert report.counts.copies == sum(len(members) for _, members in found)
    assert report.counts.most == -min((kind[0] for kind in kinds), default=0)


def test_a_page_without_a_title_goes_by_how_its_text_begins() -> None:
    index = MemoryIndex()
    pages = [(f"http://a/{number}", f"Tides in May {text(1)}") for number in range(2)]
    checked(index, pages, DedupConfig(store_pages=True))
    assert told(index)[6].startswith("Tides in May ")


def changes_of(days: Callable[[int, int], str], pages: int, *, stores: bool) -> str:
    """Return what is said of the second of two crawls of so many *pages*, by their HTML on each day."""
    with MemoryIndex() as index:
        for day in range(2):
            with Detector(index, DedupConfig(store_pages=stores)) as detector:
                detector.visit("a.example")
                for n in range(pages):
                    url = f"http://a.example/{n}"
                    detector.check(Page.from_html(days(day, n), url=url, with_places=True))
        return in_a_line(index, 2)


@pytest.mark.parametrize(("changed", "is_told"), [(30, True), (19, False)])
def test_where_most_pages_changed_a_list_beside_them_is_thought_of(changed: int, is_told: bool) -> None:
    said = changes_of(lambda day, n: text(n) + " later" * (day and n < changed), 40, stores=False)
    assert f" {changed} changed, {40 - changed} unchanged" in said
    assert ("name it in DEDUP_IGNORE" in said) is is_told
