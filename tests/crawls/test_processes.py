"""Crawls in every kind of process, several at once, stopped, killed and gone on with; beside a browser."""

import shutil
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import version_info

from crawler.example import COPIES
from dedup import SQLiteIndex
from dedup.model.verdict import Outcome
from tests.plugin.crawls import ITEMS, dedup, item, listed, outcomes, urls
from tests.support.crawling import WAIT, crawl, document, serving, started, wait_until
from tests.support.pages import edited, text

pytestmark = pytest.mark.slow

OTHERS = "tests.plugin.spiders.TypedSpider"
PLAIN = "tests.plugin.spiders.PlainSpider"
GATED = {"tests.plugin.storages.Gated": 300}

new_in_2_14 = pytest.mark.skipif(version_info < (2, 14), reason="came with Scrapy 2.14")
new_in_2_15 = pytest.mark.skipif(version_info < (2, 15), reason="came with Scrapy 2.15")

HOSTS = [
    pytest.param("CrawlerProcess", {}, id="asyncio"),
    pytest.param("AsyncCrawlerProcess", {}, id="coroutines", marks=new_in_2_14),
    pytest.param(
        "AsyncCrawlerProcess", {"TWISTED_REACTOR_ENABLED": False}, id="no reactor", marks=new_in_2_15
    ),
]


GLOBAL: dict[str, Any] = {"DEDUP_SCOPE": "global", "DEDUP_TEXT_FIELDS": "text"}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "a", tmp_path / "b"
    for folder in made:
        folder.mkdir()
    return made


@pytest.mark.parametrize(("process", "settings"), HOSTS)
def test_a_site_is_deduplicated_in_every_kind_of_process(
    tmp_path: Path, site: str, process: str, settings: dict[str, Any]
) -> None:
    settings = {**settings, "ITEM_PIPELINES": {"tests.plugin.storages.Slow": 300}}
    done = crawl(tmp_path, PLAIN, settings, {"url": site}, process=process)
    assert done.code == 0, done.log
    kept = [urlsplit(url) for url in urls(done)]
    paths = [f"{url.path}?{url.query}" if url.query else url.path for url in kept]
    assert len(paths) == 15
    assert [len([path for path in paths if path in group]) for group in COPIES] == [1] * len(COPIES)
    counts = done.dedup()
    # One page more than the site has: Scrapy does not filter the first request.
    assert (counts["seen"], counts["dropped"], counts["new"]) == (24, 9, 15)
    assert "wait_timeout" not in counts
    assert set(outcomes(tmp_path).values()) == {Outcome.CONFIRMED}


def test_a_copy_waits_for_an_item_of_another_spider_in_its_process(tmp_path: Path) -> None:
    reached, met = tmp_path / "reached", tmp_path / "met"
    canonical = item(1, text(1), reached=str(reached), until=str(met), fate="fail")
    copies = [item(number, text(said), after=str(reached)) for number, said in ((2, 1), (3, 3))]
    copies[1] |= {"later": 0.3, "reached": str(met)}
    settings = GLOBAL | {"ITEM_PIPELINES": {"tests.plugin.storages.Held": 100, **GATED}}
    done = crawl(tmp_path, ITEMS, settings, listed(canonical), others=[(OTHERS, listed(*copies))])
    assert sorted(urls(done)) == ["http://a/2", "http://a/3"]


def test_sigterm_lets_items_come_through(tmp_path: Path) -> None:
    found = [item(1, text(1), until=str(tmp_path / "go")), item(2, text(1)), item(3, text(2))]
    running = started(tmp_path, ITEMS, {"ITEM_PIPELINES": GATED}, listed(*found))
    running.wait_for("http://a/3")
    running.send(signal.SIGTERM)
    running.wait_for("Closing spider (shutdown)")
    (tmp_path / "go").touch()
    assert sorted(urls(running.finish())) == ["http://a/1", "http://a/3"]
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [run.ending for run in index.runs.all()] == ["shutdown"]
    assert set(outcomes(tmp_path).values()) == {Outcome.CONFIRMED}


def test_a_copy_dropped_for_what_another_process_loses_is_an_orphan(folders: tuple[Path, Path]) -> None:
    """One worker waits in its storage, which fails, while another one of the crawl meets copies."""
    a, b = folders
    go, reached = a / "go", a / "reached"
    settings = GLOBAL | {"DEDUP_INDEX": str(a / "pages.db"), "ITEM_PIPELINES": GATED}
    canonical = item(1, text(1), reached=str(reached), until=str(go), fate="fail")
    copies = listed(item(2, text(1)), item(3, edited(1)), item(4, text(4)))
    running = started(a, ITEMS, {**settings, "DEDUP_CRAWL": "one"}, listed(canonical))
    wait_until(reached.exists)
    assert urls(crawl(b, OTHERS, {**settings, "DEDUP_CRAWL": "one"}, copies)) == ["http://a/4"]
    assert dedup(a, "restore", "--list", "orphans") == ""
    go.touch()
    assert urls(running.finish()) == []
    assert dedup(a, "restore", "--list", "orphans").split() == ["http://a/2", "http://a/3"]
    assert outcomes(a)["http://a/1"] is Outcome.RELEASED
    again = crawl(b, OTHERS, {**settings, "DEDUP_CRAWL": "other"}, copies)
    assert sorted(urls(again)) == ["http://a/2", "http://a/4"]


# Storage waits for a third page.  With three places one of them has to wait for the copy to leave.
@pytest.mark.parametrize(
    ("places", "contents", "kept", "timeouts"),
    [(3, [1, 1, 2, 3], [0, 2, 3], 1), (100, [1, 1, 2, 2, 3], [0, 2, 4], 0)],
)
def test_storage_in_batches_and_copies_do_not_wait_for_each_other_for_ever(
    tmp_path: Path, places: int, contents: list[int], kept: list[int], timeouts: int
) -> None:
    settings = {"CONCURRENT_ITEMS": places, "KNOBS": {WAIT: 2 if timeouts else 30}}
    settings["ITEM_PIPELINES"] = {"tests.plugin.storages.Batching": 300}
    found = [item(number, text(content)) for number, content in enumerate(contents)]
    done = crawl(tmp_path, ITEMS, settings, listed(*found))
    assert sorted(urls(done)) == [f"http://a/{number}" for number in kept]
    assert done.dedup().get("wait_timeout", 0) == timeouts


# A browser, which changes how requests and responses travel
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
LINKS = f"<p>{' '.join(f'<a href=/{number}>{number}</a>' for number in range(1, 5))}</p>"


def written(content: str) -> str:
    """Return a page whose text is written by a script: it differs from others only when rendered."""
    return f"<p></p><script>document.querySelector('p').textContent = '{content}'</script>"


@pytest.mark.parametrize("source", ["item", "response"])
def test_pages_rendered_by_a_browser_are_deduplicated(tmp_path: Path, source: str) -> None:
    pytest.importorskip("scrapy_playwright")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium here")
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    settings: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER}}
    settings["PLAYWRIGHT_LAUNCH_OPTIONS"] = {"executable_path": browser, "args": flags}
    seeds = {"/": 0, "/1": 1, "/2": 2, "/3": 1, "/4": 0}
    pages = {path: document("rendered", written(text(seed))) for path, seed in seeds.items()}
    pages["/"] += LINKS
    with serving(pages) as site:
        spider = "tests.plugin.spiders.RenderedSpider"
        done = crawl(tmp_path, spider, settings | {"DEDUP_SOURCE": source}, {"url": site}, strict=False)
        kept = [seeds["/" + item["url"].removeprefix(site)] for item in done.items]
    assert sorted(kept) == [0, 1, 2], done.log
    assert done.stats["playwright/page_count"] >= 5
    assert all("word" in item["html"] for item in done.items)
