"""What sites ask of the spider `site`: pauses, links that are not to be followed, other pages first."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, Response

from benchmarks.endless import Answer
from crawler.politeness import asks_for_nofollow, crawl_delay
from tests.crawler.crawls import Site, crawled, serving
from tests.support.pages import text

pytestmark = pytest.mark.nightly  # what is slow here says once more, in larger crawls, what others say

AGENT = "dedup-crawler"


def page(number: int, *links: str, head: str = "", rel: str = "") -> Answer:
    anchors = "".join(f"<a href='{link}'{rel}>on</a>" for link in links)
    return 200, {}, f"<html><head>{head}</head><body><p>{text(number)}</p>{anchors}</body></html>"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site({})) as found:
        yield found


@pytest.mark.parametrize(
    ("robots", "seconds"),
    [
        ("User-agent: *\nCrawl-delay: 2", 2.0),
        ("User-agent: *\nCrawl-delay: 0.5", 0.5),
        ("User-agent: *\nCrawl-delay: 9\n\nUser-agent: dedup-crawler\nCrawl-delay: 3", 3.0),
        ("User-agent: other\nCrawl-delay: 9", 0.0),
        ("User-agent: *\nCrawl-delay: soon", 0.0),
        ("User-agent: *\nCrawl-delay: -1", 0.0),
        ("User-agent: *\nCrawl-delay: nan", 0.0),
        ("", 0.0),
    ],
)
def test_the_pause_that_is_asked_for(robots: str, seconds: float) -> None:
    assert crawl_delay(robots, AGENT) == seconds


@given(st.text() | st.text().map(lambda value: f"User-agent: *\nCrawl-delay: {value}"))
def test_any_robots_txt_gives_a_pause_or_none(robots: str) -> None:
    assert crawl_delay(robots, AGENT) >= 0.0


@pytest.mark.slow
def test_a_crawl_makes_the_pause_which_autothrottle_does_not_cut(tmp_path: Path, site: Site) -> None:
    paths = ("/1", "/2", "/3")
    site.answers["/robots.txt"] = [(200, {}, "User-agent: *\nCrawl-delay: 0.7")]
    site.answers["/"] = [page(0, *paths)]
    site.answers |= {path: [page(int(path[1:]))] for path in paths}
    throttled = {"AUTOTHROTTLE_ENABLED": "1", "AUTOTHROTTLE_START_DELAY": "0.1"}
    crawled(tmp_path, "site", f"url={site.url}/", **throttled)
    pauses = [after - before for before, after in pairwise(site.times)]
    assert len(pauses) == 4  # robots.txt, and four pages
    assert min(pauses[1:]) > 0.65


@pytest.mark.parametrize(
    ("head", "header", "asked"),
    [
        ("<meta name=robots content='noindex, nofollow'>", "", True),
        ("<META NAME=ROBOTS CONTENT=None>", "", True),
        ("<meta name=robots content=noindex>", "", False),
        ("<meta name=googlebot content=nofollow>", "", False),
        ("", "NoFollow", True),
    ],
)
def test_what_a_page_asks_of_robots(head: str, header: str, *, asked: bool) -> None:
    headers = {"X-Robots-Tag": header} if header else {}
    body = f"<html><head>{head}</head><body><p>x</body></html>".encode()
    assert asks_for_nofollow(HtmlResponse("http://a.example/", headers=headers, body=body)) is asked
    assert not asks_for_nofollow(Response("http://a.example/", body=body))


@pytest.mark.slow
def test_a_crawl_goes_breadth_first_and_takes_canonicals_before(tmp_path: Path, site: Site) -> None:
    leaves = ("/3", "/whole", "/1/1", "/1/2", "/2/1")
    site.answers = {path: [page(number)] for number, path in enumerate(leaves, 3)} | {
        "/": [page(0, "/1", "/2", "/3")],
        "/1": [page(1, "/1/1", "/1/2", head="<link rel=canonical href=/whole>")],
        "/2": [page(2, "/2/1", head="<link rel=canonical href=/>")],
    }
    urls, *_ = crawled(tmp_path, "site", f"url={site.url}/", CONCURRENT_REQUESTS="1")
    # A canonical withholds nothing: all pages are items, also those that name another one.
    assert urls == {site.url + path for path in site.answers}
    # One more request may have been on its way when the link was found.
    order = [path for path in site.asked if path != "/robots.txt"]
    assert order.index("/whole") <= 3
    order.remove("/whole")
    assert order == ["/", "/1", "/2", "/3", "/1/1", "/1/2", "/2/1"]
