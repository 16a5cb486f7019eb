"""``dedup report --serve`` in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import SQLiteIndex
from tests.browser.opened import Opened
from tests.browser.reports import hostile_index
from tests.report.served import served

pytestmark = pytest.mark.slow


def test_the_report_works_as_it_does_from_a_file_and_nothing_of_a_page_runs(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        hostile_index(index)
    with served(path) as (address, _), Opened(browser, address) as opened:
        for part in ("overview", "review", "duplicates"):
            opened.part(part)
        assert opened.page.evaluate("window.pwned === undefined")
        links = opened.page.eval_on_selector_all("a", "all => all.map(a => a.protocol)")
        assert set(links) <= {"http:", "https:", "blob:"}
