"""The links that the spider `site` follows, and sitemaps, which a site may list without end."""

from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from benchmarks.endless import Answer
from crawler.spiders.site import SiteSpider
from crawler.spiders.sitemap import SitemapSpider
from tests.crawler.crawls import HOME, Site, crawled, serving

PAGE = "http://a.example/b/c?d=e"


@pytest.mark.parametrize(
    ("links", "base", "expected"),
    [
        (["x", " /y ", "?q", "//a.example/z"], "", ["b/x", "y", "b/c?q", "z"]),
        (["/x#1", "/x", "/x#2", "#top", "/y#1"], "", ["x", "b/c?d=e", "y"]),
        (["//b:x/", "//[b/", "/y"], "", ["y"]),
        (["x"], "http://a.example/d/e", ["d/x"]),
        (["x", "/y"], "http://a.example:b/", ["b/x", "y"]),
        (["/a.pdf", "/a.PNG", "mailto:x", "javascript:x", "/a.html"], "", ["a.html"]),
    ],
)
def test_each_page_linked_to_is_asked_for_once(links: list[str], base: str, expected: list[str]) -> None:
    body = f"<base href='{base}'><p>x" if base else "<p>x"
    response = HtmlResponse(PAGE, body=body.encode(), request=Request(PAGE))
    made = SiteSpider(url="http://a.example/")._requests(response, links)
    assert [request.url for request in made] == [f"http://a.example/{path}" for path in expected]


def test_patterns_choose() -> None:
    response = HtmlResponse(PAGE, body=b"<p>x", request=Request(PAGE))
    spider = SiteSpider(url="http://a.example/", allow="/x", deny="/y")
    made = spider._requests(response, ["/x", "/y/x", "/z"])
    assert [request.url for request in made] == ["http://a.example/x"]


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


def test_an_endless_chain_of_sitemaps_ends(tmp_path: Path) -> None:
    with serving(Endless({})) as endless:
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
