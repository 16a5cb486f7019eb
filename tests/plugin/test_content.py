"""Which part of a page is judged: CSS selectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from dedup import Page
from dedup.model.errors import ConfigError
from dedup.plugin.pages import ItemReader, judged_part
from dedup.plugin.project import read_settings
from dedup.settings import DedupSettings
from tests.crawling import scrapy
from tests.pages import text
from tests.plugin.test_beside import prose
from tests.serving import document, serving

STORY = f"<article><p>{text(1)}</p><p class=clock>It is noon. {text(2)}</p></article>"
HTML = f"<body><div class=quote>{text(3)} <a href=/x>x</a></div>{STORY}tail<article>{text(4)}</article></body>"


def judged(ignore: str = "", html: str = HTML) -> Page:
    return judged_part(Page.from_html(html), ignore, lambda: html)


def seeds(page: Page) -> set[int]:
    """Return which texts stand on *page*."""
    return {seed for seed in range(1, 5) if text(seed) in page.text}


@pytest.mark.parametrize(
    ("ignore", "found"),
    [
        ("", {1, 2, 3, 4}),
        (".clock, .quote", {1, 4}),
        ("html", {1, 2, 3, 4}),
    ],
)
def test_what_is_selected_is_ignored(ignore: str, found: set[int]) -> None:
    page, whole = judged(ignore), Page.from_html(HTML)
    assert seeds(page) == found
    assert (page.links, page.body_digest) == (whole.links, whole.body_digest)
    assert len(page.tags) == len(page.depths)


@pytest.mark.parametrize(("ignore", "found"), [(".clock", {1, 3, 4}), ("article", {3}), ("p", {3})])
def test_a_second_document_in_a_page_is_a_part_of_it(ignore: str, found: set[int]) -> None:
    first, second = f"<html><body><div>{text(3)}</div></body></html>", f"{STORY}<article><p>{text(4)}"
    assert seeds(judged(ignore, first + second)) == found


def test_other_long_fields_are_judged_with_a_part() -> None:
    reader = ItemReader(Crawler(Spider), DedupSettings(ignore=".none"))
    for is_whole in (True, False):
        response = HtmlResponse("http://a.example/", body=HTML.encode(), encoding="utf-8")
        item = {"html": HTML if is_whole else HTML + " ", "review": prose(7, 60)}
        page, _ = reader.read(item, response, is_only=False)
        assert page is not None
        assert prose(7, 60).split()[-1].lower().strip(".") in page.text


def test_what_stands_behind_an_ignored_part_stays() -> None:
    assert "tail" in judged(ignore="article").text


@pytest.mark.parametrize("selector", ["a[", "p::text", "p:no-such"])
def test_a_bad_selector_is_refused_at_start(selector: str) -> None:
    with pytest.raises(ConfigError, match="DEDUP_IGNORE"):
        read_settings(Settings({"DEDUP_IGNORE": selector}))


@pytest.mark.parametrize("is_only", [True, False])
def test_items_with_html_are_judged_by_the_same_part(is_only: bool) -> None:
    reader = ItemReader(Crawler(Spider), DedupSettings(ignore=".clock, .quote"))
    response = HtmlResponse("http://a.example/", body=HTML.encode(), encoding="utf-8")
    page, _ = reader.read({"html": HTML}, response, is_only=is_only)
    assert page is not None
    assert seeds(page) == {1, 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "kept"),
    [((), 4), (("-s", "DEDUP_IGNORE=.quote"), 2)],
)
def test_a_crawl_judges_what_it_is_told(tmp_path: Path, options: tuple[str, ...], kept: int) -> None:
    links = "".join(f"<a href=/{number}>x</a>" for number in range(3))
    pages = {"/": document("Home", f"<p>{text(9)}</p>{links}")}
    for number in range(3):
        quote = f"<div class=quote>{text(20 + number, 200)}</div>"
        pages[f"/{number}"] = document("Story", f"{quote}<article>{text(1)}</article>")
    with serving(pages) as url:
        settings = [f"DEDUP_INDEX={tmp_path}/pages.db", "AUTOTHROTTLE_ENABLED=0"]
        chosen = [part for one in settings for part in ("-s", one)]
        done = scrapy("crawl", "site", "-a", f"url={url}", *chosen, *options)
    assert done.returncode == 0, done.stderr
    assert f"'dedup/kept': {kept}," in done.stderr
