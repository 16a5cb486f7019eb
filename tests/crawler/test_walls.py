"""Pages that stand in place of others are marked, and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from crawler.walls import ENOUGH_PAGES, FEW_WORDS, LOGIN, NO_SCRIPTS, SOFT_404, Walls
from dedup import Page
from tests.crawler.test_bounds import Answer, Site, crawled, serving
from tests.pages import text

SORRY = (
    "<p>Sorry, this page could not be found. It may have moved, or it was never here. Search for it</p>"
)
FORM = "<p>Please log in.</p><form><input name=user><input type=Password></form>"
SHELL = "<div id=app></div><noscript>You need to enable JavaScript to run this app.</noscript>"


def response(path: str, body: str, status: int = 200) -> HtmlResponse:
    return HtmlResponse(f"http://a.example{path}", body=body.encode(), status=status)


def page(found: HtmlResponse) -> Page:
    return Page.from_html(found.body, url=found.url)


def kind(walls: Walls, path: str, body: str, **given: bool) -> str:
    found = response(path, body)
    if "could not be found" in body and len(body) < 200:
        found.flags.append(SOFT_404)  # as the middleware of budgets does
    return walls.kind(found, page(found), **{"is_start": False, "is_behind": False, **given})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (SORRY, SOFT_404),
        (SORRY.replace("this page", "/missing/thing.html"), SOFT_404),
        (f"<p>{text(1)}</p>", ""),
        (f"<p>{text(1)}</p>{SORRY}", ""),
        (FORM, LOGIN),
        (f"<p>{text(1)}</p>{FORM}", ""),
        (f"{FORM}<p>{'word ' * (FEW_WORDS - 3)}</p>", LOGIN),
        (f"{FORM}<p>{'word ' * (FEW_WORDS - 2)}</p>", ""),
        (SHELL, NO_SCRIPTS),
        ("<p>JavaScript is disabled in your browser.</p>", NO_SCRIPTS),
        (f"<p>{text(1)}</p>{SHELL}", ""),
        ("<p>How to learn the language JavaScript in a day.</p>", ""),
    ],
)
def test_kinds_of_pages(body: str, found: str) -> None:
    assert kind(Walls(), "/missing/thing.html", body) == found


def test_a_start_page_is_itself_and_what_is_like_it_too(caplog: pytest.LogCaptureFixture) -> None:
    walls = Walls()
    assert kind(walls, "/", SORRY, is_start=True) == ""
    assert "are not marked as 'soft 404'" in caplog.text
    assert kind(walls, "/x", SORRY) == ""


@pytest.mark.parametrize("body", [SORRY, FORM, SHELL])
def test_where_many_pages_are_alike_the_probe_is_void(
    body: str, caplog: pytest.LogCaptureFixture
) -> None:
    walls = Walls()
    found = [kind(walls, f"/{number}", body) for number in range(ENOUGH_PAGES + 5)]
    assert all(found[: ENOUGH_PAGES - 1])
    assert not any(found[ENOUGH_PAGES - 1 :])
    assert caplog.text.count("are not marked as") == 1


def test_what_only_walls_link_to_does_not_make_the_probe_void() -> None:
    walls = Walls()
    for number in range(ENOUGH_PAGES):
        assert kind(walls, f"/{number}", f"<p>{text(number)}</p>") == ""
    assert all(kind(walls, f"/x{number}", SORRY, is_behind=True) for number in range(100))
    assert list(walls.summary()) == [
        "100 pages of a.example are marked as 'soft 404': "
        "what the site answers for an address that cannot exist"
    ]


class Soft(Site):
    """A site that answers 200 for what it does not have."""

    def answer(self, path: str) -> Answer:
        if path not in self.answers and path != "/robots.txt":
            self.asked.append(path)
            return 200, {}, f"<html><body>{SORRY}<a href='{path}x'>this</a></body></html>"
        return super().answer(path)


@pytest.mark.slow
@pytest.mark.parametrize("robots", ["", "User-agent: *\nDisallow: /there-is"])
def test_a_crawl_marks_soft_404s_and_keeps_them(tmp_path: Path, robots: str) -> None:
    links = "".join(f"<a href=/{name}>x</a>" for name in ("gone", 1, 2, 3, 4, 5))
    answers: dict[str, Any] = {"/": [(200, {}, f"<p>{text(0)}</p>{links}")]}
    answers |= {f"/{n}": [(200, {}, f"<p>{text(n)}</p>")] for n in range(1, 6)}
    answers["/robots.txt"] = [(200, {}, robots)]
    site = Soft(answers)
    with serving(site, "127.0.0.1"):
        _, log = crawled(tmp_path, "site", "-a", f"url={site.url}/", CONCURRENT_REQUESTS="1")
    items = [json.loads(line) for line in (tmp_path / "feed.jsonl").read_text().splitlines()]
    kinds = {item["url"].removeprefix(site.url): item["kind"] for item in items}
    assert kinds == {"/": None, "/gone": None if robots else SOFT_404} | {
        f"/{n}": None for n in range(1, 6)
    }
    assert any("there-is" in path for path in site.asked) != bool(robots)
    assert ("are marked as 'soft 404'" in log) != bool(robots)
    if not robots:  # the links of a page that is missing come last
        assert site.asked.index("/gonex") > site.asked.index("/5")
