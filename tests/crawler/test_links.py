"""The links that the spider `site` follows."""

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from crawler.spiders.site import SiteSpider

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
