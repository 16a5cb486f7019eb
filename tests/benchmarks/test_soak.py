"""The soak's pages: the truth that is planned is the one that is generated, and found again."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.soak.__main__ import main
from benchmarks.soak.pages import Kind, Plan
from dedup import Page, compare


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(400, seed=3)


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
