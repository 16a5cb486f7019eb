"""The add-on beside those of other people: a browser changes how requests and responses travel."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import crawl
from tests.support.pages import text
from tests.support.serving import document, serving

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
LINKS = f"<p>{' '.join(f'<a href=/{number}>{number}</a>' for number in range(1, 5))}</p>"


def written(content: str) -> str:
    """Return a page whose text is written by a script: it differs from others only when rendered."""
    return f"<p></p><script>document.querySelector('p').textContent = '{content}'</script>"


@pytest.mark.slow
@pytest.mark.parametrize("source", ["item", "response"])
def test_pages_rendered_by_a_browser_are_deduplicated(tmp_path: Path, source: str) -> None:
    pytest.importorskip("scrapy_playwright")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium here")
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    settings: dict[str, Any] = {
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": browser, "args": flags},
        "DEDUP_SOURCE": source,
    }
    seeds = {"/": 0, "/1": 1, "/2": 2, "/3": 1, "/4": 0}
    pages = {path: document("rendered", written(text(seed))) for path, seed in seeds.items()}
    pages["/"] += LINKS
    with serving(pages) as site:
        spider = "tests.plugin.spiders.RenderedSpider"
        done = crawl(tmp_path, spider, settings, {"url": site}, strict=False)
        kept = [seeds["/" + item["url"].removeprefix(site)] for item in done.items]
    assert sorted(kept) == [0, 1, 2], done.log
    assert done.stats["playwright/page_count"] >= 5
    assert all("word" in item["html"] for item in done.items)
