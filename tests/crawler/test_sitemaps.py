"""A site may list sitemaps without end; a crawl of them has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import TextResponse, XmlResponse
from scrapy.utils.test import get_crawler

from crawler.spiders.sitemap import SitemapSpider
from tests.budget import examples
from tests.crawler.test_bounds import HOME, Answer, Site, crawled, serving

pytestmark = pytest.mark.slow

XML = {"Content-Type": "application/xml"}
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
ROBOTS = "http://a.test/robots.txt"


def index(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex {NAMESPACE}>{entries}</sitemapindex>"


def pages(*urls: str) -> str:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<urlset {NAMESPACE}>{entries}</urlset>"


class Endless(Site):
    """Each sitemap lists the next one, and one of a page."""

    def answer(self, path: str) -> Answer:
        self.asked.append(path)
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, f"Sitemap: {self.url}/index1.xml"
        if path.startswith("/index"):
            number = int(path[6:-4])
            return 200, XML, index(f"{self.url}/map{number}.xml", f"{self.url}/index{number + 1}.xml")
        if path.startswith("/map"):
            return 200, XML, pages(f"{self.url}/")
        return 200, {}, HOME


@pytest.fixture
def endless() -> Iterator[Site]:
    with serving(Endless({}), "127.0.0.1") as site:
        yield site


@pytest.mark.parametrize(
    ("arguments", "last", "stat"),
    [
        ([], "/index5.xml", "'sitemaps/too_deep': 2"),
        (["-a", "max_depth=2"], "/index2.xml", "'sitemaps/too_deep': 2"),
        (["-a", "max_sitemaps=3"], "/index2.xml", "'sitemaps/too_many': 2"),
    ],
)
def test_an_endless_chain_of_sitemaps_ends(
    tmp_path: Path, endless: Site, arguments: list[str], last: str, stat: str
) -> None:
    options = ("sitemap", "-a", f"url={endless.url}", *arguments)
    urls, log = crawled(tmp_path, *options, CLOSESPIDER_TIMEOUT="20")
    assert urls == {f"{endless.url}/"}
    assert max(path for path in endless.asked if path.startswith("/index")) == last
    assert stat in log
    assert log.count("not followed") == 1


def listed(spider: SitemapSpider, request: Request, body: str) -> list[Request]:
    """Return the sitemaps that *spider* asks for after it met *body*."""
    kind: Any = TextResponse if request.url.endswith("robots.txt") else XmlResponse
    response = kind(request.url, body=body.encode(), request=request)
    found = [one for one in spider._parse_sitemap(response) if one.callback == spider._parse_sitemap]
    for one in found:  # as Scrapy's middleware does
        one.meta["depth"] = request.meta.get("depth", 0) + 1
    return found


def spider_with(**arguments: str) -> SitemapSpider:
    return SitemapSpider.from_crawler(get_crawler(SitemapSpider), url=ROBOTS, **arguments)


@given(st.data(), st.integers(0, 4), st.integers(0, 12))
@settings(max_examples=examples(40))
def test_no_site_makes_more_than_the_limits_allow(data: st.DataObject, deep: int, many: int) -> None:
    spider = spider_with(max_depth=str(deep), max_sitemaps=str(many))
    waiting = [Request(ROBOTS)]
    followed: set[str] = set()
    while waiting:
        request = waiting.pop()
        numbers = data.draw(st.lists(st.integers(0, 20), max_size=6))
        is_robots = request.url.endswith("robots.txt")
        names = [f"http://a.test/{number}/" + "robots.txt" * (number % 3 == 0) for number in numbers]
        body = "\n".join(f"Sitemap: {name}" for name in names) if is_robots else index(*names)
        new = [one for one in listed(spider, request, body) if one.url not in followed]
        followed |= {one.url for one in new}
        waiting += new
        assert all(one.meta["depth"] <= deep for one in new)
        assert len(followed) <= many


def test_a_paused_job_goes_on_counting(tmp_path: Path, endless: Site) -> None:
    options = ("sitemap", "-a", f"url={endless.url}", "-a", "max_sitemaps=4", "-a", "max_depth=100")
    job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": "1"}
    for most in ("2", "3", "0"):
        crawled(tmp_path, *options, **job, CLOSESPIDER_PAGECOUNT=most, CLOSESPIDER_TIMEOUT="20")
    assert len({path for path in endless.asked if path.endswith(".xml")}) == 4
