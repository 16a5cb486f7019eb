"""The links that the spider `site` follows: those it followed when it made a request for every one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urldefrag

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.utils.request import fingerprint

from crawler.page_spider import CONCURRENT_ITEMS
from crawler.spiders.site import SiteSpider
from dedup import Page
from tests.budget import examples

PAGE = "http://a.example/b/c?d=e"
pieces = st.sampled_from(
    [
        "#",
        "x",
        "y",
        ".html",
        ".PDF",
        "/",
        "//",
        "..",
        "?q",
        "&",
        " ",
        "\t",
        "\xa0",
        "http:",
        "é",
        "[",
        "%23",
        ":8",
    ]
)
links = st.lists(pieces, max_size=6).map("".join)
patterns = st.sampled_from(["", "", "x", "#", r"\.html$", "#x$"])


def made_of_all(spider: SiteSpider, response: HtmlResponse, page: Page) -> list[Request]:
    """Return a request for every link that is wanted, as the oracle."""
    requests = []
    for link in dict.fromkeys(page.links):
        with suppress(ValueError):
            url = response.urljoin(link.strip())
            if spider._is_restored(url):
                requests.append(Request(url))
    return requests


def followed(requests: list[Request], seen: set[bytes]) -> list[str]:
    """Return the URLs that Scrapy fetches of *requests*, of which it knows those *seen*."""
    urls = []
    for request in requests:
        if (key := fingerprint(request)) not in seen:
            seen.add(key)
            urls.append(urldefrag(request.url)[0])
    return urls


def urls(spider: SiteSpider, response: HtmlResponse, page: Page) -> list[str]:
    return [request.url for request in spider._requests(response, page)]


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(links, max_size=8), patterns, patterns, st.booleans(), st.sampled_from(["", "#top"]))
@example(["/x #y", "/x", "/x#y"], "", "", False, "")
@example(["#", "?#", "", "#y"], "", "", True, "#top")
@example(["x ##"], "", "", False, "")
def test_the_same_pages_are_fetched(
    found: list[str], allow: str, deny: str, dont_filter: bool, fragment: str
) -> None:
    spider = SiteSpider(url="http://a.example/", allow=allow, deny=deny)
    request = Request(PAGE + fragment, dont_filter=dont_filter)
    response = HtmlResponse(PAGE + fragment, body=b"<p>x", request=request)
    page = Page(url=PAGE, body_digest=b"", text="", links=tuple(found))
    seen = set() if dont_filter else {fingerprint(request)}
    expected = followed(made_of_all(spider, response, page), set(seen))
    made = list(spider._requests(response, page))
    assert followed(made, set(seen)) == expected
    assert seen.isdisjoint(map(fingerprint, made))


@pytest.mark.parametrize("allow", ["", "example"])
def test_one_request_is_made_for_all_places_of_a_page(allow: str) -> None:
    found = ("/x#1", "/x", "/x#2", "#top", "/y#1")
    page = Page(url=PAGE, body_digest=b"", text="", links=found)
    response = HtmlResponse(PAGE, body=b"<p>x", request=Request(PAGE))
    spider = SiteSpider(url="http://a.example/", allow=allow)
    assert urls(spider, response, page) == ["http://a.example/x", "http://a.example/y"]


def test_a_pattern_sees_the_fragment() -> None:
    page = Page(url=PAGE, body_digest=b"", text="", links=("/x#1", "/y", "/z#2"))
    response = HtmlResponse(PAGE, body=b"<p>x", request=Request(PAGE))
    spider = SiteSpider(url="http://a.example/", deny="#1")
    assert urls(spider, response, page) == ["http://a.example/y", "http://a.example/z"]


def test_a_link_that_is_no_url_does_not_end_the_page() -> None:
    page = Page(url=PAGE, body_digest=b"", text="", links=("//b:x/", "//[b/", "/y"))
    response = HtmlResponse(PAGE, body=b"<p>x", request=Request(PAGE))
    assert urls(SiteSpider(url="http://a.example/"), response, page) == ["http://a.example/y"]


@pytest.mark.parametrize(("own", "expected"), [({}, CONCURRENT_ITEMS), ({"CONCURRENT_ITEMS": 50}, 50)])
def test_the_tasks_of_a_response_are_few_unless_a_project_wants_more(
    own: dict[str, Any], expected: int
) -> None:
    assert Crawler(SiteSpider, own).settings.getint("CONCURRENT_ITEMS") == expected
