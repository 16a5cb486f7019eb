"""Marks outlive rounds, and those of one index never touch those of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.files.marks_file import read_exceptions, read_marks
from dedup.model.marks import Marks
from dedup.report.html import Marking
from tests.browser.opened import Opened
from tests.browser.reports import write
from tests.pages import edited, page, text
from tests.report.served import served

pytestmark = pytest.mark.slow


def crawled(path: Path, first: int, marks: Path | None = None, base: str = "http://a.example") -> Path:
    """Crawl three pages and a near copy of each, obeying *marks*; return the index."""
    config = DedupConfig(exceptions=read_exceptions(marks or path.with_name("none")), store_pages=True)
    with SQLiteIndex(path) as index, Detector(index, config, "news") as detector:
        for seed in range(first, first + 3):
            detector.check(page(text(seed), f"{base}/{seed}"))
            detector.check(page(edited(seed, 4), f"{base}/{seed}/copy"))
    return path


def reported(path: Path, output: Path, marks: Path | None = None) -> Path:
    known = read_marks(marks) if marks else Marks()
    with SQLiteIndex(path, read_only=True) as index:
        return write(index, output, marking=Marking(index=index.id, known=known))


def said(path: Path) -> dict[frozenset[str], str]:
    marks = read_marks(path)
    rows = [dict(zip(marks.columns, row, strict=True)) for row in marks.rows]
    return {frozenset((row["page"], row["other"])): row["says"] for row in rows}


def saved(opened: Opened, path: Path) -> Path:
    with opened.page.expect_download() as download:
        opened.page.locator("#save-marks").click()
    download.value.save_as(path)
    return path


def mark(opened: Opened, key: str) -> frozenset[str]:
    """Mark the pair that is shown; return its URLs."""
    urls = frozenset(opened.page.locator("#review-pair .head .url").all_inner_texts())
    opened.page.keyboard.press(key)
    return urls


def test_two_rounds_and_two_projects_lose_no_mark(browser: Any, tmp_path: Path) -> None:
    for name in ("news", "shop"):
        (tmp_path / name).mkdir()
    news, shop = tmp_path / "news", tmp_path / "shop"
    report = reported(crawled(news / "dedup.db", 1), tmp_path / "report.html")
    with Opened(browser, report, accept_downloads=True) as opened:
        opened.part("review")
        first = mark(opened, "d")
        round_one = saved(opened, news / "one.csv")
        assert said(round_one) == {first: "different"}

        # Another project, whose index and report have the same names, in the same browser: files.
        reported(crawled(shop / "dedup.db", 11, base="file:///srv/html"), report)
        opened.page.reload()
        other = mark(opened, "c")
        assert said(saved(opened, shop / "one.csv")) == {other: "copy"}

        # The next round of the first: it obeys the first mark, whose pair it does not drop any more.
        crawled(news / "dedup.db", 1, round_one)
        with SQLiteIndex(news / "dedup.db") as index:
            kept = {row.sighting.url for row in index.rows(2) if row.verdict.kept}
            assert first <= kept
            for url in first:
                index.ledger.forget_url(url)
        reported(news / "dedup.db", report, round_one)
        opened.page.reload()
        assert opened.page.locator("#save-marks").inner_text() == "Save 1 mark"
        assert "1 mark outside" in opened.page.locator("#other-marks summary").inner_text()
        second = mark(opened, "d")
        assert said(saved(opened, news / "two.csv")) == {first: "different", second: "different"}

        # Only what somebody takes back goes.
        opened.page.locator("#other-marks summary").click()
        opened.page.get_by_role("button", name="Take back").click()
        opened.page.reload()
        assert said(saved(opened, news / "three.csv")) == {second: "different"}


def test_a_served_report_writes_each_mark_at_once(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, marks = crawled(tmp_path / "pages.db", 1), tmp_path / "pages.marks.csv"
    marks.write_text("page,other,says\nhttp://z/1,http://z/2,copy\n", "utf-8")
    stranger = {frozenset(("http://z/1", "http://z/2")): "copy"}
    with served(path) as (address, _):
        with Opened(browser, address) as opened:
            opened.part("review")
            first = mark(opened, "d")
            opened.page.get_by_text("Saved in pages.marks.csv.").wait_for()
            assert said(marks) == {**stranger, first: "different"}
            assert not opened.page.locator("#save-marks").is_visible()
        with Opened(browser, address) as opened:  # nothing but the file remembers
            opened.part("review")
            opened.page.keyboard.press("k")
            assert opened.page.locator("#mark-different").get_attribute("aria-pressed") == "true"
            mark(opened, "d")
            opened.page.get_by_text("Saved in pages.marks.csv.").wait_for()
            assert said(marks) == stranger
    assert len(read_exceptions(marks)) == 1
