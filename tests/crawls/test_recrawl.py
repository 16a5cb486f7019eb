"""The same site crawled again, and URLs that lead to one page."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import Crawl, answering, crawl, serving
from tests.support.pages import edited, text


def document(content: str, *links: str) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<html><body><p>{content}</p><nav>{anchors}</nav></body></html>"


SITE = "crawler.spiders.site.SiteSpider"


def crawled(folder: Path, url: str, **settings: Any) -> Crawl:
    in_order = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    everything = {"DEDUP_SOURCE": "response", **in_order, **settings}
    return crawl(folder, SITE, everything, {"url": url, "html": "1"})


def paths(done: Crawl) -> list[str]:
    return sorted("/" + item["url"].split("/", 3)[3] for item in done.items)


def test_a_redirected_url_is_one_page_now_and_in_the_next_crawl(tmp_path: Path) -> None:
    with serving({"/old": "/new", "/older": "/old", "/new": document(text(2))}) as url:
        starts = f"{url}new {url}old {url}older"
        # Scrapy itself asks for no redirect target twice, unless it is told to.
        settings: dict[str, Any] = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
        first, second = crawled(tmp_path, starts, **settings), crawled(tmp_path, starts, **settings)
    assert paths(first) == paths(second) == ["/new"]
    assert (first.dedup()["exact_duplicate"], second.dedup()["unchanged"]) == (2, 3)


SHOWN = [1, 1, 2, 3, 3, 1, 1, 1, 4, 4]


@pytest.mark.parametrize(
    ("source", "settings"),
    [("item", {"DEDUP_UNCHANGED": "drop"}), ("response", {"DEDUP_ACTION": "skip"})],
)
def test_a_monitor_is_given_every_change(tmp_path: Path, source: str, settings: dict[str, str]) -> None:
    shown = (document(edited(1, number)) for number in SHOWN)
    with answering(lambda _: next(shown)) as url:
        given = {"DEDUP_SOURCE": source, "CONCURRENT_ITEMS": 1, **settings}
        done = crawl(tmp_path, "tests.plugin.spiders.Monitor", given, {"url": url})
    assert [item["number"] for item in done.items] == [0, 2, 3, 5, 8]
    assert (done.dedup()["updated"], done.dedup()["unchanged"]) == (4, 5)


@pytest.mark.parametrize("source", ["item", "response"])
def test_a_start_page_that_is_linked_to_is_delivered_once(tmp_path: Path, source: str) -> None:
    asked: list[str] = []

    def answer(path: str) -> str:
        asked.append(path)
        return document(f"Views: {len(asked)}</p><p>{text(1)}", "/")

    with answering(answer) as url:
        given = {"DEDUP_SOURCE": source, "DEDUP_PROBES": 0}
        done = crawl(tmp_path, "tests.plugin.spiders.PlainSpider", given, {"url": url})
    assert (len(asked), paths(done)) == (2, ["/"])


@pytest.mark.parametrize("settings", [{}, {"DEDUP_SCOPE": "global"}], ids=str)
def test_a_moved_site_is_delivered_unless_told_not_to(tmp_path: Path, settings: dict[str, str]) -> None:
    pages = {"/a": 2, "/a?print": 2, "/b": 3, "/c": 4}
    shown = {path: document(text(number)) for path, number in pages.items()}
    with serving({"/": document(text(1), *pages), **shown}) as url:
        crawled(tmp_path, url, **settings)
        done = crawled(tmp_path, url.replace("127.0.0.1", "localhost"), **settings)
    assert len(done.items) == (0 if settings else 4)
    said = "copies of pages of 127.0.0.1, not visited by this crawl"
    assert (f"{5} {said}" in done.log) is bool(settings)
