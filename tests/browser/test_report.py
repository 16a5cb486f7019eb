"""The HTML report in a real browser, opened from the disk."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.files.marks_file import read_marks
from tests.browser.opened import Opened
from tests.browser.reports import HOSTILE, honest_index, hostile_index, write
from tests.pages import text
from tests.report.served import served

pytestmark = pytest.mark.slow


PARTS = ("overview", "review", "copies", "about")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest")
    with SQLiteIndex(honest_index(folder / "pages.db", copies=160)) as index:
        return write(index, folder / "report.html")


def go_to(page: Any, part: int) -> None:
    """Go to a part by the keyboard: it has the focus then."""
    for _ in range(2 + part):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function(f"document.activeElement.id === '{PARTS[part]}'")


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_every_part_can_be_reached_by_the_keyboard(browser: Any, honest: Path, part: int) -> None:
    with Opened(browser, honest) as opened:
        opened.page.keyboard.press("Tab")
        assert opened.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        opened.page.reload()
        go_to(opened.page, part)
        box = opened.page.locator(f"#{PARTS[part]}-title").bounding_box()
        assert box
        assert 0 < box["y"] < 720


def test_a_copy_shows_its_text_and_what_is_lost(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        row = opened.page.locator("#copies tr", has=opened.page.get_by_text("Compare")).last
        url = row.locator("th .url").inner_text()
        row.get_by_role("link", name="Compare").click()
        pair = opened.page.locator(".pair:visible")
        assert pair.locator(".url").first.inner_text() == url
        lost, own = pair.locator(".diff del"), pair.locator(".diff ins")
        assert lost.first.inner_text().startswith("feed")
        assert own.first.inner_text().startswith("word")
        red, grey = (colour(one.first, "backgroundColor") for one in (lost, own))
        assert red[0] > max(red[1:]) + 30
        assert max(grey) - min(grey) < 16


def colour(element: Any, name: str) -> list[int]:
    """Return red, green and blue of a colour of *element*."""
    found = element.evaluate(f"one => getComputedStyle(one).{name}")
    return [int(number) for number in re.findall(r"\d+", found)[:3]]


def test_a_review_by_keyboard_alone_gives_a_file_that_the_next_crawl_obeys(
    browser: Any, tmp_path: Path
) -> None:
    index = honest_index(tmp_path / "pages.db")
    with served(index) as (address, _), Opened(browser, address) as opened:
        page = opened.page
        page.keyboard.press("d")  # outside of the review it says nothing
        go_to(page, 1)
        shown = page.locator("#review-status")
        found = re.fullmatch(r"0 of (\d+) reviewed, this is pair 1", shown.inner_text())
        total = int(found[1])  # type: ignore[index]
        lost = [pair_loss(page)]
        pressed(page, "d")  # a mark goes on to the next pair
        assert shown.inner_text() == f"1 of {total} reviewed, this is pair 2"
        lost.append(pair_loss(page))
        pressed(page, "c")
        pressed(page, "c")
        page.keyboard.press("k")
        pressed(page, "c")  # taken back
        assert shown.inner_text() == f"2 of {total} reviewed, this is pair 3"
        page.keyboard.press("k")
        copy = page.locator(".pair:visible button[value=copy]")
        assert copy.get_attribute("aria-pressed") == "true"
        assert lost == sorted(lost, reverse=True)
        page.reload()
        assert shown.inner_text() == f"2 of {total} reviewed, this is pair 3"
    _, exceptions = read_marks(tmp_path / "pages.marks.csv")
    assert (len(exceptions.different), len(exceptions.copies)) == (2, 1)


def pressed(page: Any, key: str) -> None:
    """Press a key, and wait until the server has the mark."""
    with page.expect_response("**/marks"):
        page.keyboard.press(key)


def pair_loss(page: Any) -> int:
    words = page.locator(".pair:visible strong").inner_text()
    return int(re.search(r"(\d+) of", words)[1]) if " of " in words else 0  # type: ignore[index]


def test_a_button_decides_for_a_whole_place(browser: Any, tmp_path: Path) -> None:
    index = tmp_path / "pages.db"
    with SQLiteIndex(index) as made, Detector(made, DedupConfig(store_pages=True)) as detector:
        for number in range(6):
            said = f"<h1>Coat</h1><p>{text(1)}</p><p class='size'>Size {number}, red</p>"
            detector.check(Page.from_html(said, url=f"http://a.example/{number}", with_places=True))
    with served(index) as (address, _), Opened(browser, address) as opened:
        page = opened.page
        assert page.locator(".answer.red").inner_text().startswith("Records may have been merged: 5 ")
        place = page.locator(".place")
        assert place.locator("h4").inner_text() == "Size #, red 5 pages, a.example"
        assert place.locator(".line").count() == 3
        assert set(place.locator("del").all_inner_texts()) < set("12345")
        with page.expect_response("**/marks"):
            place.get_by_role("button", name="These tell pages apart").click()
        done = "5 of 5 reviewed: done. The next crawl obeys."
        assert page.locator("#review-status").inner_text() == done
        assert page.locator("#saved").inner_text() == "Saved in pages.marks.csv."
    (mark,) = read_marks(tmp_path / "pages.marks.csv")[1].places
    assert (mark[0], mark[2]) == ("a.example", "different")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_can_be_read(browser: Any, tmp_path: Path, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python")
    from axe_playwright_python.sync_playwright import Axe

    with SQLiteIndex(honest_index(tmp_path / "pages.db", copies=16)) as index:
        report = write(index, tmp_path / "report.html")
    with Opened(browser, report, color_scheme=scheme) as opened:
        paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 382) is (scheme == "light")
        found = Axe().run(opened.page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("is_served", [False, True])
def test_nothing_of_a_page_runs(browser: Any, tmp_path: Path, is_served: bool) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        report = write(hostile_index(index), tmp_path / "report.html", name=HOSTILE[1])
    with (
        served(tmp_path / "pages.db") if is_served else nullcontext((report, None)) as (place, _),
        Opened(browser, place) as opened,
    ):
        assert opened.page.locator("#copies tbody tr").count() >= 16
        while (button := opened.page.locator("#review-on")).is_visible():
            button.click()
        links = opened.page.evaluate("[...document.querySelectorAll('main a')].map(a => a.href)")
        own = (opened.page.url, "https://evil.example/")
        assert all(link.startswith(own) for link in links), links
        assert opened.page.evaluate("document.querySelectorAll('main script, main img').length") == 0
        assert opened.page.evaluate("typeof window.pwned") == "undefined"


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, honest: Path) -> None:
    with Opened(browser, honest, viewport={"width": 390, "height": 800}) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
