"""The add-on beside those of other people: each changes how requests or items travel."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dedup import SQLiteIndex
from tests.crawling import Crawl, crawl
from tests.pages import text
from tests.serving import document, serving

ADDONS = {"dedup.plugin.Addon": 500}
LINKS = f"<p>{' '.join(f'<a href=/{number}>{number}</a>' for number in range(1, 5))}</p>"
# Two pages are copies, of another and of the first.
PAGES = {
    "/": document("home", f"<p>{text(0)}</p>{LINKS}"),
    "/1": document("one", f"<p>{text(1)} feed0001</p>"),
    "/2": document("two", f"<p>{text(2)}</p>"),
    "/3": document("one", f"<p>{text(1)} feed0003</p>"),
    "/4": document("home", f"<p>{text(0)}</p>{LINKS}"),
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(PAGES) as url:
        yield url


def numbers(site: str, items: list[dict[str, Any]]) -> set[str]:
    """Return which pages of the site were kept, the copies by the name of their first page."""
    same = {"/3": "/1", "/4": "/"}
    found = [f"/{item['url'].removeprefix(site)}" for item in items]
    kept = {same.get(path, path) for path in found}
    assert len(kept) == len(found)
    return kept


# scrapy-playwright


def rendered(folder: Path, site: str, **settings: Any) -> Crawl:
    pytest.importorskip("scrapy_playwright")
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    everything = {"DOWNLOAD_HANDLERS": {"http": handler, "https": handler}, **settings}
    spider = "tests.plugin.rendering.RenderedSpider"
    arguments = {"url": site, "render": "1" if "PLAYWRIGHT_LAUNCH_OPTIONS" in settings else ""}
    return crawl(folder, spider, everything, arguments, strict=False)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["item", "response"])
def test_pages_rendered_by_a_browser_are_deduplicated(tmp_path: Path, source: str) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium here")
    options = {
        "executable_path": browser,
        "args": ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
    }
    # The text is written by a script: the pages differ only when they are rendered.
    pages = {
        path: document("rendered", f"<p></p>{LINKS if path == '/' else ''}{script(text(seed))}")
        for path, seed in {"/": 0, "/1": 1, "/2": 2, "/3": 1, "/4": 0}.items()
    }
    with serving(pages) as site:
        done = rendered(tmp_path, site, PLAYWRIGHT_LAUNCH_OPTIONS=options, DEDUP_SOURCE=source)
        assert numbers(site, done.items) == {"/", "/1", "/2"}, done.log
    assert done.stats["playwright/page_count"] >= 5
    assert all("word" in item["html"] for item in done.items)


def script(content: str) -> str:
    return f"<script>document.querySelector('p').textContent = '{content}'</script>"


# scrapy-poet


@pytest.mark.slow
@pytest.mark.parametrize("source", ["item", "response"])
def test_items_of_page_objects_are_deduplicated(tmp_path: Path, site: str, source: str) -> None:
    pytest.importorskip("scrapy_poet")
    settings: dict[str, Any] = {"ADDONS": {"scrapy_poet.Addon": 300, **ADDONS}, "DEDUP_SOURCE": source}
    settings["DEDUP_TEXT_FIELDS"] = ["text"]
    spider = "tests.plugin.poet_spiders.PoetSpider"
    done = crawl(tmp_path, spider, settings, {"url": site}, strict=False)
    assert numbers(site, done.items) == {"/", "/1", "/2"}, done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert {row.sighting.kind for row in index.rows()} == {
            "page" if source == "response" else "item"
        }
