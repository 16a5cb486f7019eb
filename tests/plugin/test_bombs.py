"""Pages that are too much, in real crawls: kept, counted, named in the log once for each reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup import SQLiteIndex
from dedup.model.fingerprint import MAX_TITLE
from dedup.model.urls import MAX_URL
from dedup.reading.markup import MAX_ATTRIBUTES
from tests.crawling import Crawl, crawl
from tests.pages import text
from tests.serving import serving

SIZE = 6_000_000
WORDS = "<p>" + "the same old words again " * (SIZE // 25)
PAGES = {
    "/first": WORDS + "1",
    "/other": WORDS + "2",
    "/copy": WORDS + "1",
    "/attributes": f"<p {' '.join(f'x{n}' for n in range(20 * MAX_ATTRIBUTES))}>{text(3)}",
    "/deep": "<div>" * 3000 + text(4),
    "/deeper": "<div>" * 3000 + text(5),
    "/ligatures": "<meta charset=utf-8><p>" + "\ufdfa" * 500_000,
    "/page": f"<title>{'long ' * 9999}</title><p>{text(1)}",
    "/page-copy": f"<h1>{text(1)}",
}


def crawled(folder: Path) -> Crawl:
    with serving(PAGES) as url:
        listed = folder / "urls.txt"
        listed.write_text("".join(f"{url.rstrip('/')}{path}\n" for path in PAGES))
        settings = {"DEDUP_SOURCE": "response", "CONCURRENT_REQUESTS": 1}
        done = crawl(folder, "crawler.spiders.urls.UrlsSpider", settings, {"file": str(listed)})
    assert done.code == 0
    assert "Traceback" not in done.log
    return done


def kept(done: Crawl) -> list[str]:
    return sorted("/" + item["url"].rpartition("/")[2] for item in done.items)


@pytest.mark.slow
def test_bombs_are_kept_and_counted_and_the_crawl_goes_on(tmp_path: Path) -> None:
    done = crawled(tmp_path)
    assert kept(done) == ["/attributes", "/deep", "/deeper", "/first", "/ligatures", "/other", "/page"]
    assert done.dedup() == {
        "seen": 9,
        "new": 7,
        "exact_duplicate": 1,
        "near_duplicate": 1,
        "kept": 7,
        "dropped": 2,
        "over_limit/bytes": 3,
        "over_limit/attributes": 1,
        "over_limit/depth": 2,
        "over_limit/text": 1,
    }
    assert "/first> has more than 4,000,000 bytes: such pages" in done.log
    assert "/attributes> has a tag of more than 2,000 attributes: such pages" in done.log
    assert done.log.count(": such pages are not read, and kept unless") == 4
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert max(len(row.sighting.title) for row in index.rows()) == MAX_TITLE


def test_items_are_bounded_alike(tmp_path: Path) -> None:
    found = [
        {"url": "http://a/4/" + "x" * 20_000, "text": text(1)},
        {"url": "http://a/4/" + "x" * 20_000 + "y", "text": text(2)},
        {"url": "http://a/\ud800", "text": text(3)},
        {"url": "http://a/\udfff", "text": text(3)},
    ]

    done = crawl(
        tmp_path,
        "tests.plugin.spiders.ItemSpider",
        {"DEDUP_TEXT_FIELDS": ["text"]},
        {"items": json.dumps(found)},
    )
    counts = done.dedup()
    assert (counts["new"], counts["exact_duplicate"]) == (3, 1)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        urls = [row.sighting.url for row in index.rows()]
    assert len(set(urls)) == len(found)
    assert max(map(len, urls)) == MAX_URL
