"""Sloppy pages in a real crawl: whatever has words of its own is kept, and copies are still found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawling import crawl
from tests.pages import text
from tests.serving import serving
from tests.shapes import SHAPES, shaped

SITE = {
    f"/{place}-{number}": shaped(shape, text(6 * place + number, 240))
    for place, shape in enumerate(SHAPES)
    for number in range(6)
}
COPIES = {
    f"/{place}-copy": shaped(shape, text(6 * place, 240) + " 12:30")
    for place, shape in enumerate(SHAPES)
    if shape != "too deep"
}


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        pytest.param("response", {}, id="response", marks=pytest.mark.slow),
        pytest.param("item", {"html": "1"}, id="item"),
    ],
)
def test_sloppy_pages_with_words_of_their_own_are_kept(
    tmp_path: Path, source: str, arguments: dict[str, str]
) -> None:
    listed = tmp_path / "urls.txt"
    settings = {"DEDUP_SOURCE": source, "CONCURRENT_REQUESTS": 1}
    with serving(SITE | COPIES) as url:
        listed.write_text("".join(f"{url.rstrip('/')}{path}\n" for path in SITE | COPIES))
        arguments = arguments | {"file": str(listed)}
        done = crawl(tmp_path, "crawler.spiders.urls.UrlsSpider", settings, arguments)
    assert done.code == 0
    kept = {"/" + item["url"].rpartition("/")[2] for item in done.items}
    assert kept == SITE.keys()
    assert done.dedup()["near_duplicate"] == len(COPIES)
