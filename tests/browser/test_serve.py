"""``dedup serve`` in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, SQLiteIndex
from tests.browser.opened import Opened
from tests.browser.reports import hostile_index
from tests.pages import edited, page, text
from tests.serve.serving import served

pytestmark = pytest.mark.slow

STORING = DedupConfig(store_pages=True)


def test_the_overview_follows_a_crawl_and_can_be_paused(browser: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, STORING) as detector:
        detector.check(page(text(1), "http://a.example/1"))
        detector.check(page(edited(1), "http://a.example/copy"))
        with served(path) as client, Opened(browser, str(client.base_url)) as opened:
            newest = opened.page.locator("#state")
            expect(newest).to_contain_text("http://a.example/copy")
            detector.check(page(edited(1, 2), "http://b.example/late"))
            expect(newest).to_contain_text("http://b.example/late", timeout=30_000)
            opened.page.get_by_role("button", name="Pause").click()
            expect(opened.page.locator("#fresh")).to_have_text("Paused.")
            detector.check(page(edited(1, 3), "http://c.example/later"))
            opened.page.wait_for_timeout(5000)
            expect(newest).not_to_contain_text("http://c.example/later")
            opened.page.get_by_role("button", name="Pause").click()
            expect(newest).to_contain_text("http://c.example/later", timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_copy_is_found_shown_and_accessible(browser: Any, tmp_path: Path, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, STORING) as detector:
        detector.check(page(text(1), "http://a.example/1"))
        detector.check(page(edited(1), "http://a.example/copy"))
    with (
        served(path) as client,
        Opened(browser, str(client.base_url), color_scheme=scheme, bypass_csp=True) as opened,
    ):
        assert Axe().run(opened.page).violations_count == 0
        opened.page.get_by_role("searchbox").fill("COPY")
        opened.page.keyboard.press("Enter")
        opened.page.get_by_role("link", name="http://a.example/copy").click()
        opened.page.locator("ins").first.wait_for()
        assert opened.page.locator("del").count() > 0
        found = Axe().run(opened.page)
        assert found.violations_count == 0, found.generate_report()


def test_nothing_of_a_page_runs(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        rows = hostile_index(index).views.statistics().rows
    with served(path) as client, Opened(browser, str(client.base_url)) as opened:
        for address in ("", "pages", "clusters", *(f"page/{row}" for row in range(1, rows + 1))):
            opened.page.goto(f"{opened.address}{address}")
            assert opened.page.evaluate("window.pwned === undefined")
            links = opened.page.eval_on_selector_all("a", "all => all.map(a => a.protocol)")
            assert set(links) <= {"http:", "https:"}
