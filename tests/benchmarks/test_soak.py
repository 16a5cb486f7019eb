"""The soak's pages: the truth that is planned is the one that is generated, and found again."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.soak.__main__ import main
from benchmarks.soak.crawling import Sample
from benchmarks.soak.pages import Kind, Plan
from benchmarks.soak.report import tables
from dedup import Page, compare


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(400, seed=3)


def test_the_same_seed_gives_the_same_pages(plan: Plan) -> None:
    visits = range(20)
    assert list(Plan(400, seed=3).pages(1, visits)) == list(plan.pages(1, visits))
    assert list(Plan(400, seed=4).pages(1, visits)) != list(plan.pages(1, visits))


def test_pages_of_one_document_are_copies_and_others_are_none(plan: Plan) -> None:
    visits = plan.crawls[0]
    pages = [Page.from_html(page["html"], url=page["url"]) for page in plan.pages(0, range(len(visits)))]
    for one, other in list(combinations(range(60), 2)):
        is_copy = visits.document[one] == visits.document[other]
        found = compare(pages[one], pages[other])
        assert found.similarity > 0.55 if is_copy else found.similarity < 0.2
    for visit in np.flatnonzero(visits.kind == Kind.EXACT).tolist():
        first = int(np.flatnonzero(visits.document == visits.document[visit])[0])
        assert pages[first].body_digest == pages[visit].body_digest


def test_template_pages_have_the_structure_of_another_and_no_text_of_it(plan: Plan) -> None:
    layouts = plan.layouts[plan.crawls[0].document[plan.crawls[0].kind == Kind.TEMPLATE]]
    assert (layouts != plan.crawls[0].document[plan.crawls[0].kind == Kind.TEMPLATE]).all()


def test_popularity_follows_zipfs_law() -> None:
    visits = Plan(50_000, seed=1).crawls[0]
    repeats = np.bincount(visits.document[np.isin(visits.kind, (Kind.EXACT, Kind.NEAR))])
    first, tenth, hundredth = repeats[0], repeats[5:15].mean(), repeats[75:125].mean()
    assert 5 < first / tenth < 20
    assert 5 < tenth / hundredth < 20


def test_a_sample_taken_twice_is_one_in_the_speed_of_the_last_tenth(tmp_path: Path) -> None:
    samples = [Sample(0, 100 * n, 2.0 * n, 1.0 * n, 50.0, 10.0, 1.0) for n in range(1, 11)]
    row = tables([*samples, samples[-1]], [], tmp_path).splitlines()[2]
    assert row == "| 1 | 1,000 | 0 | 50 | 100 | 100 | 50 | 50 | 50 | 10 |"


@pytest.mark.slow
def test_a_small_soak_finds_the_truth(tmp_path: Path) -> None:
    options = ["--pages", "600", "--every", "40", "--output", str(tmp_path / "docs")]
    done = CliRunner().invoke(main, [str(tmp_path / "soak"), *options])
    assert done.exit_code == 0, done.output
    assert "exactly the pages that the index says were kept" in done.output
    assert "pages.db is sound" in done.output
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "soak-memory.svg",
        "soak-speed.svg",
        "soak.csv",
        "soak.md",
    ]
