"""The HTML report in a real browser, opened from the disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.files.marks_file import read_marks
from dedup.model.marks import Exceptions
from dedup.report.replay import replayed
from tests.browser.opened import Opened
from tests.browser.reports import HOSTILE, honest_index, hostile_index, write
from tests.pages import text
from tests.report.served import served

pytestmark = pytest.mark.slow
SHOWN = "tbody tr:not([hidden]) th"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest")
    with SQLiteIndex(honest_index(folder / "pages.db", copies=160)) as index:
        return write(index, folder / "report.html")


def status(part: Any) -> str:
    found: str = part.get_by_role("status").first.inner_text()
    return found


def wait_for_status(part: Any, pattern: str) -> None:
    from playwright.sync_api import expect

    expect(part.get_by_role("status").first).to_have_text(re.compile(pattern))


def wait_until_current(link: Any) -> None:
    """The page changes after the click: the browser tells of a new address in an event of its own."""
    from playwright.sync_api import expect

    expect(link).to_have_attribute("aria-current", "page")


def test_it_opens_and_every_part_can_be_reached(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        assert opened.page.locator("section.view:visible").count() == 1
        for link in opened.page.locator("nav a").all():
            link.click()
            wait_until_current(link)
            assert opened.page.locator("section.view:visible").count() == 1
            assert opened.page.evaluate("document.activeElement.tagName") == "H2"


def test_a_search_narrows_the_list(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        part = opened.part("duplicates")
        total = int(re.match(r"(\d+) copies", status(part))[1])  # type: ignore[index]
        search = part.get_by_role("searchbox").first
        counts = []
        for host in range(3):
            search.fill(f"site{host}.example")
            wait_for_status(part, rf"\d+ of {total} copies")
            assert all(f"site{host}" in text for text in part.locator(SHOWN).all_inner_texts())
            counts.append(int(re.match(r"(\d+)", status(part))[1]))  # type: ignore[index]
        assert sum(counts) == total > 50
        search.fill("near run 1")
        of_run = int(re.match(r"(\d+)", status(part))[1])  # type: ignore[index]
        assert 0 < of_run < total
        search.fill("SITE2.example /0/17")
        wait_for_status(part, rf"1 of {total} copies")
        assert "Page 17 of run 0" in part.locator(SHOWN).inner_text()
        search.fill("no such page")
        wait_for_status(part, "No copies match the search")


def test_columns_sort(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        part = opened.part("duplicates")
        total = int(re.match(r"(\d+) copies", status(part))[1])  # type: ignore[index]
        assert part.locator("tbody tr").count() == total
        part.get_by_role("button", name="Similarity").click()
        assert part.locator("th[aria-sort=descending]").inner_text().startswith("Similarity")
        part.get_by_role("button", name="Similarity").click()
        values = [float(text) for text in part.locator("td[data-name=Similarity]").all_inner_texts()]
        assert values == sorted(values)
        assert len(values) == total


def test_a_copy_shows_two_texts_side_by_side(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        row = opened.part("duplicates").locator("tbody tr", has=opened.page.get_by_text("Compare")).last
        url = row.locator("th .url").inner_text()
        row.get_by_role("link", name="Compare").click()
        texts = opened.page.locator(".pair:visible").get_by_role("region", name="Texts side by side")
        assert texts.locator(".head .url").last.inner_text() == url
        kept, copy = texts.locator(".side:not(.head) > :first-child"), texts.locator(".side del")
        assert {kept.locator("ins").first.inner_text()[:3], copy.first.inner_text()[:3]} == {
            "wor",
            "fee",
        }
        assert kept.locator("del").count() == 0  # only words of the copy are lost
        legend = texts.locator(".legend")
        assert legend.locator("del").inner_text() == "lost with this copy"
        assert legend.locator("ins").inner_text() == "only on the page kept"
        red, grey = (
            colour(texts.locator(f".side {name}").first, "backgroundColor") for name in ("del", "ins")
        )
        assert red[0] > max(red[1:]) + 30
        assert max(grey) - min(grey) < 16


def colour(element: Any, name: str) -> list[int]:
    """Return red, green and blue of a colour of *element*."""
    found = element.evaluate(f"one => getComputedStyle(one).{name}")
    return [int(number) for number in re.findall(r"\d+", found)[:3]]


def test_the_keyboard_is_enough(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        wait_until_current(page.locator("nav a").nth(2))
        assert page.locator("section#duplicates").is_visible()
        page.keyboard.press("Tab")
        page.keyboard.type("/0/17")
        wait_for_status(page.locator("section#duplicates"), r"1 of \d+ copies")
        for _ in range(14):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").startswith("Similarity"):
                break
        page.keyboard.press("Enter")
        assert page.locator("#duplicates th[aria-sort]").count() == 1
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_a_review_by_keyboard_alone_gives_a_file_that_the_next_crawl_obeys(
    browser: Any, tmp_path: Path
) -> None:
    index = honest_index(tmp_path / "pages.db")
    with served(index) as (address, _), Opened(browser, address) as opened:
        page = opened.page
        for _ in range(3):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        wait_until_current(page.locator("nav a").nth(1))
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
    assert_obeyed(index, exceptions)


def pressed(page: Any, key: str) -> None:
    """Press a key, and wait until the server has the mark."""
    with page.expect_response("**/marks"):
        page.keyboard.press(key)


def pair_loss(page: Any) -> int:
    words = page.locator(".pair:visible .verdict strong").inner_text()
    return int(re.search(r"(\d+) of", words)[1]) if " of " in words else 0  # type: ignore[index]


def assert_obeyed(path: Path, exceptions: Exceptions) -> None:
    """Judge the pages of the index again: what is different is not dropped for the other any more."""
    page, other = exceptions.different[0]
    with SQLiteIndex(path) as index:
        before = [(row.sighting.url, row.verdict.canonical_url) for row in index.rows()]
        assert (page, other) in before or (other, page) in before
        with replayed(index, DedupConfig(exceptions=exceptions)) as replay:
            after = [(row.sighting.url, row.verdict.canonical_url) for row in replay.index.rows()]
    assert (page, other) not in after
    assert (other, page) not in after


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
        assert place.locator(".side").count() == 3
        assert set(place.locator("del").all_inner_texts()) < set("12345")
        with page.expect_response("**/marks"):
            place.get_by_role("button", name="These tell pages apart").click()
        page.locator("nav a").nth(1).click()
        done = "5 of 5 reviewed: done. The next crawl obeys."
        assert page.locator("#review-status").inner_text() == done
        assert page.locator("#saved").inner_text() == "Saved in pages.marks.csv."
    (mark,) = read_marks(tmp_path / "pages.marks.csv")[1].places
    assert (mark[0], mark[2]) == ("a.example", "different")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_can_be_read(browser: Any, honest: Path, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python")
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, honest, color_scheme=scheme) as opened:
        paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 382) is (scheme == "light")
        for name in (
            "overview",
            "review",
            "duplicates",
            "about",
        ):
            opened.part(name)
            found = Axe().run(opened.page)
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"


def test_nothing_of_a_page_runs(browser: Any, tmp_path: Path) -> None:
    path = write(hostile_index(), tmp_path / "report.html", name=HOSTILE[1])
    with Opened(browser, path) as opened:
        count = opened.part("duplicates").locator("tbody tr").count()
        assert count >= 8
        opened.part("review")
        while (button := opened.page.locator("#review-on")).is_visible():
            button.click()
        links = opened.page.evaluate("[...document.querySelectorAll('main a')].map(a => a.href)")
        assert all(link.startswith(("https://evil.example/", "file://")) for link in links), links
        assert opened.page.evaluate("document.querySelectorAll('main script, main img').length") == 0
        assert opened.page.evaluate("typeof window.pwned") == "undefined"
        assert opened.page.evaluate(
            "[...document.querySelectorAll('main a[target]')].every(a => a.rel === 'noopener noreferrer')"
        )


def test_it_prints_all_parts(browser: Any, honest: Path) -> None:
    with Opened(browser, honest) as opened:
        opened.page.emulate_media(media="print")
        shown = opened.page.locator("section.view:visible").evaluate_all("all => all.map(one => one.id)")
        assert shown == ["overview", "duplicates", "about"]
        assert not opened.page.locator("nav").is_visible()
        assert opened.page.pdf()[:4] == b"%PDF"


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, honest: Path) -> None:
    with Opened(browser, honest, viewport={"width": 390, "height": 800}) as opened:
        for name in ("overview", "review", "duplicates", "about"):
            opened.part(name)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390, name
