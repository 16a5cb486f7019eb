"""A served report writes marks at once, and touches none of another index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.files.marks_file import read_marks
from tests.browser.opened import Opened
from tests.pages import edited, page, text
from tests.report.served import served

pytestmark = pytest.mark.slow


def said(path: Path) -> dict[frozenset[str], str]:
    marks = read_marks(path)[0]
    rows = [dict(zip(marks.columns, row, strict=True)) for row in marks.rows]
    return {frozenset((row["page"], row["other"])): row["says"] for row in rows}


def mark(opened: Opened, key: str) -> frozenset[str]:
    """Mark the pair that is shown; return its URLs."""
    urls = frozenset(opened.page.locator(".pair:visible > p .url").all_inner_texts())
    with opened.page.expect_response("**/marks"):
        opened.page.keyboard.press(key)
    opened.page.get_by_text("Saved in pages.marks.csv.").wait_for()
    return urls


def test_a_served_report_writes_each_mark_at_once(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, marks = tmp_path / "pages.db", tmp_path / "pages.marks.csv"
    with SQLiteIndex(path) as index, Detector(index, DedupConfig(store_pages=True)) as detector:
        for seed in range(1, 4):
            detector.check(page(text(seed), f"http://a.example/{seed}"))
            detector.check(page(edited(seed, 4), f"http://a.example/{seed}/copy"))
    marks.write_text("page,other,says\nhttp://z/1,http://z/2,copy\n", "utf-8")
    stranger = {frozenset(("http://z/1", "http://z/2")): "copy"}
    with served(path) as (address, _):
        with Opened(browser, address) as opened:
            opened.part("review")
            first = mark(opened, "d")
            assert said(marks) == {**stranger, first: "different"}
            second = mark(opened, "c")
            assert said(marks) == {**stranger, first: "different", second: "copy"}
        with Opened(browser, address) as opened:  # nothing but the file remembers
            opened.part("review")
            assert "2 of 3 reviewed, this is pair 3" in opened.page.inner_text("#review-status")
            for _ in range(2):
                opened.page.keyboard.press("k")
            assert mark(opened, "d") == first
            assert said(marks) == {**stranger, second: "copy"}
    assert len(read_marks(marks)[1]) == 2


def test_a_mark_that_cannot_be_written_is_told_and_not_shown(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, DedupConfig(store_pages=True)) as detector:
        detector.check(page(text(1), "http://a.example/1"))
        detector.check(page(edited(1, 4), "http://a.example/2"))
    with served(path) as (address, _), Opened(browser, address) as opened:
        opened.part("review")
        (tmp_path / "pages.marks.csv").write_text("no marks at all\n")
        opened.page.keyboard.press("d")
        opened.page.get_by_text("Not saved: marks").wait_for()
        assert opened.page.locator("button[aria-pressed=true]").count() == 0
        opened.problems.clear()  # the browser logs the refusal
