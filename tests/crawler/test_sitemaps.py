"""A site may list sitemaps without end; a crawl of them has one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from benchmarks.endless import Answer
from crawler.spiders.sitemap import SitemapSpider
from tests.crawler.crawls import HOME, Site, crawled, serving

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
    with serving(Endless({})) as site:
        yield site


def test_an_endless_chain_of_sitemaps_ends(tmp_path: Path, endless: Site) -> None:
    urls, log, _ = crawled(tmp_path, "sitemap", f"url={endless.url}", CLOSESPIDER_TIMEOUT="20")
    assert urls == {f"{endless.url}/"}
    assert max(path for path in endless.asked if path.startswith("/index")) == "/index5.xml"
    assert "'sitemaps/too_deep': 2" in log


def test_no_site_names_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.spiders.sitemap.MAX_SITEMAPS", 3)
    crawler = get_crawler(SitemapSpider)
    crawler.stats = StatsCollector(crawler)
    spider = SitemapSpider.from_crawler(crawler, url=ROBOTS)
    body = "\n".join(f"Sitemap: http://a.test/{number % 5}.xml" for number in range(9))
    response = TextResponse(ROBOTS, body=body.encode(), request=Request(ROBOTS))
    assert len({request.url for request in spider._parse_sitemap(response)}) == 3
    assert crawler.stats.get_value("sitemaps/too_many") == 3
