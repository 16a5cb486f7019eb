"""The links that the spider `site` follows: those it followed when it made a request for every one."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
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
from dedup.plugin import DedupPipeline
from tests.budget import examples
from tests.crawling import crawl
from tests.knobs import KNOBS, MOST_GATHERED, PAUSE
from tests.traps import trap_named, trapped

PAGE = "http://a.example/b/c?d=e"
NIGHTLY = [pytest.mark.slow, pytest.mark.nightly]
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
bases = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["http://a.example", "https://a.example:8", "http://b.example"]),
        st.sampled_from(["", "/", "/b", "/b/", "/b/c", "/d/e.html", "/b;p/c;q", "/c;g?h"]),
        st.sampled_from(["", "?d=/e/", "?f", "#/h/"]),
    ),
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


@settings(max_examples=examples(1000), deadline=None)
@given(
    st.lists(st.tuples(bases, st.lists(links, max_size=4)), min_size=2, max_size=4),
    links,
    st.booleans(),
)
@example([("http://a.example/b/c", ["x"]), ("http://a.example/b/d?e=/f/", ["x"])], "", False)
@example([("http://a.example/b/c", ["?x"]), ("http://a.example/b/d", ["?x", "#y"])], "", False)
@example([("http://a.example/b/c", ["http:"]), ("http://a.example/b/d", ["http:", "//"])], "", False)
@example([("http://a.example", ["x"]), ("http://b.example", ["x"])], "/\t/", False)
def test_a_link_leads_where_it_leads_from_its_own_page(
    pages: list[tuple[str, list[str]]], again: str, has_base: bool
) -> None:
    spider = SiteSpider(url="http://a.example/")
    for url, found in pages:
        body = b"<base href='../d/e?f'><p>x" if has_base else b"<p>x"
        response = HtmlResponse(url, body=body, request=Request("http://a.example/z/z"))
        page = Page(url=url, body_digest=b"", text="", links=(*found, again))
        expected = followed(made_of_all(spider, response, page), set())
        assert followed(list(spider._requests(response, page)), set()) == expected


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


def test_a_base_that_is_no_url_is_that_of_the_page() -> None:
    page = Page(url=PAGE, body_digest=b"", text="", links=("x", "/y"))
    body = b"<base href='http://a.example:b/'><p>x"
    response = HtmlResponse(PAGE, body=body, request=Request(PAGE))
    expected = ["http://a.example/b/x", "http://a.example/y"]
    assert urls(SiteSpider(url="http://a.example/"), response, page) == expected


@pytest.mark.parametrize(("own", "expected"), [({}, CONCURRENT_ITEMS), ({"CONCURRENT_ITEMS": 50}, 50)])
def test_the_tasks_of_a_response_are_few_unless_a_project_wants_more(
    own: dict[str, Any], expected: int
) -> None:
    assert Crawler(SiteSpider, own).settings.getint("CONCURRENT_ITEMS") == expected


class Telling(SiteSpider):
    """Tells which pages each page leads to, as rules for URLs have heard."""

    def closed(self, reason: str) -> None:
        pipeline = self.crawler.get_item_pipeline(DedupPipeline)
        assert pipeline is not None
        rules = pipeline.judge.rules
        urls = list(rules._numbers)
        led = {urls[one.url]: sorted({urls[link] for link in one.links}) for one in rules._visits}
        assert self.crawler.stats is not None
        self.crawler.stats.set_value("led", led)


class Forgetful(Telling):
    """Makes a request for every link, as the oracle."""

    def _note_known(self, request: Request) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "own"),
    [
        pytest.param("calendar", {}, marks=NIGHTLY),
        ("facets in any order", {"DEDUP_RULES": "use"}),
        pytest.param("sessions in paths", {"DEDUP_ACTION": "skip"}, marks=NIGHTLY),
    ],
)
def test_a_link_that_is_known_need_not_be_requested(
    tmp_path: Path, name: str, own: dict[str, str]
) -> None:
    trap = trap_named(name)
    brought, filtered = [], []
    with trapped(trap) as url:
        for spider in (Forgetful, Telling):
            trap.asked.clear()
            trap.numbers, trap.chance = count(1), Random(7)
            folder = tmp_path / spider.__name__
            folder.mkdir()
            chosen = {
                "CONCURRENT_REQUESTS": 1,
                "DEDUP_SOURCE": "response",
                "DEPTH_PRIORITY": 1,
                "JOBDIR": str(folder / "job"),
                "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
                "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # a page after the other, so in the same order
                KNOBS: {MOST_GATHERED: 1, PAUSE: 0.0},  # none waits for others
                "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
                **own,
            }
            done = crawl(folder, f"{__name__}.{spider.__name__}", chosen, {"url": url})
            assert done.code == 0, done.log
            items = [{**item, "fetched_at": ""} for item in done.items]
            # The rules try other addresses at each port, and at some of them all are visited.
            not_visited = folder / "job" / "not-visited.jsonl"
            parked = not_visited.read_text() if not_visited.exists() else ""
            brought.append((trap.asked[:], items, parked, done.dedup(), done.stats["led"]))
            filtered.append(done.stats.get("dupefilter/filtered", 0))
    assert brought[0] == brought[1]
    assert filtered[1] * 2 < filtered[0]
