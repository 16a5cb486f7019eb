"""Pages that are too much, in real crawls: kept, counted, named in the log once for each reason."""

from pathlib import Path

import pytest

from dedup import SQLiteIndex
from dedup.model.fingerprint import MAX_TITLE
from dedup.model.urls import MAX_URL
from dedup.reading.markup import MAX_ATTRIBUTES, MAX_BYTES
from tests.plugin.crawls import items
from tests.support.crawling import crawl, serving
from tests.support.pages import text

WORDS = "<p>" + "the same old words again " * (MAX_BYTES // 20)
PAGES = {
    "/": "",
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


@pytest.mark.slow
def test_bombs_are_kept_and_counted_and_the_crawl_goes_on(tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    with serving(PAGES) as url:
        listed.write_text("".join(f"{url.rstrip('/')}{path}\n" for path in PAGES))
        settings = {"DEDUP_SOURCE": "response", "CONCURRENT_REQUESTS": 1}
        done = crawl(tmp_path, "crawler.spiders.urls.UrlsSpider", settings, {"file": str(listed)})
    assert (done.code, "Traceback" in done.log) == (0, False)
    kept = {"/" + item["url"].rpartition("/")[2] for item in done.items}
    assert kept == {path for path in PAGES if "copy" not in path}
    stats = {name: value for name, value in done.dedup().items() if "over_limit" in name}
    kinds = ("bytes", "attributes", "depth", "text")
    assert stats == {f"over_limit/{kind}": n for kind, n in zip(kinds, (3, 1, 2, 1), strict=True)}
    assert "/first> has more than 4,000,000 bytes: such pages" in done.log
    assert done.log.count(": such pages are not read, and kept unless") == 4
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert max(len(row.sighting.title) for row in index.rows()) == MAX_TITLE


def test_items_are_bounded_alike(tmp_path: Path) -> None:
    long = "http://a/4/" + "x" * 20_000
    urls = [long, f"{long}y", "http://a/\ud800", "http://a/\udfff"]
    found = [{"url": url, "text": text(min(n, 2))} for n, url in enumerate(urls)]
    done = items(tmp_path, *found)
    assert (done.dedup()["new"], done.dedup()["exact_duplicate"]) == (3, 1)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        recorded = {row.sighting.url for row in index.rows()}
    assert (len(recorded), max(map(len, recorded))) == (len(urls), MAX_URL)
