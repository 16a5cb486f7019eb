"""The HTML report in a real browser, opened from the disk or served."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from dedup import Page, SQLiteIndex
from dedup.files.marks_file import read_marks
from tests.report.reports import HOSTILE, honest_index, hostile_index, judged, write
from tests.report.served import served
from tests.support.pages import edited, page, text

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report with the buttons of a served one."""
    folder = tmp_path_factory.mktemp("honest")
    with SQLiteIndex(honest_index(folder / "pages.db")) as index:
        return write(index, folder / "report.html", token="x")


@contextmanager
def opened(browser: Any, place: Path | str, *, expected: str = "", **context: Any) -> Iterator[Any]:
    """Give the page at *place*, in which nothing goes wrong but what is *expected*, nor is asked for."""
    problems, requests = list[str](), list[str]()

    def refuse(dialog: Any) -> None:
        problems.append(f"a dialog says {dialog.message}")
        dialog.dismiss()

    within = browser.new_context(**context)
    page = within.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", lambda request: requests.append(request.url))
    address = place if isinstance(place, str) else place.as_uri()
    page.goto(address)
    yield page
    within.close()
    assert [one for one in problems if not expected or expected not in one] == []
    assert all(url.startswith(address) for url in requests)


def colour(element: Any, name: str) -> list[int]:
    found = element.evaluate(f"one => getComputedStyle(one).{name}")
    return [int(number) for number in re.findall(r"\d+", found)[:3]]


def test_a_copy_shows_its_text_and_what_is_lost(browser: Any, honest: Path) -> None:
    with opened(browser, honest) as page:
        copy = page.locator("li[data-mark]").last
        lost, own = copy.locator("details del").first, copy.locator("details ins").first
        assert copy.locator("> p del").inner_text().startswith("feed")
        assert not lost.is_visible()
        copy.locator("summary").press("Enter")
        assert lost.inner_text().startswith("feed")
        assert own.inner_text().startswith("word")
        red, grey = (colour(one, "backgroundColor") for one in (lost, own))
        assert red[0] > max(red[1:]) + 30
        assert max(grey) - min(grey) < 16


def said(path: Path) -> dict[str, str]:
    """Return what stands in a file of marks, by the page."""
    marks = read_marks(path)[0]
    rows = [dict(zip(marks.columns, row, strict=True)) for row in marks.rows]
    return {row["page"]: row["says"] for row in rows}


def press(page: Any, pair: int, name: str) -> str:
    """Press a button of a pair by the keyboard; return the URL of the copy when the mark is written."""
    one = page.locator("article li[data-mark]").nth(pair)
    with page.expect_response("**/marks"):
        one.get_by_role("button", name=name).press("Enter")
    page.get_by_text("Saved in pages.marks.csv: the next crawl obeys.").wait_for()
    return str(one.locator(".url").first.inner_text())


def test_a_server_writes_marks(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, marks = tmp_path / "pages.db", tmp_path / "pages.marks.csv"
    for seed in range(1, 4):
        copy = page(edited(seed, 4), f"http://a.example/{seed}/copy")
        judged(path, page(text(seed), f"http://a.example/{seed}"), copy)
    marks.write_text("page,other,says\nhttp://z/1,http://z/2,copy\n", "utf-8")
    stranger = {"http://z/1": "copy"}
    with served(path) as (address, _):
        with opened(browser, address) as shown:
            first = press(shown, 0, "These are different")
            assert said(marks) == {**stranger, first: "different"}
            second = press(shown, 1, "This is a copy")
            assert said(marks) == {**stranger, first: "different", second: "copy"}
        with opened(browser, address) as shown:  # nothing but the file remembers
            assert shown.locator("article li.decided").count() == 2
            assert press(shown, 0, "These are different") == first  # taken back
            assert said(marks) == {**stranger, second: "copy"}
    assert len(read_marks(marks)[1]) == 2


def test_a_mark_that_cannot_be_written_is_told_and_not_shown(browser: Any, path: Path) -> None:
    judged(path, page(text(1), "http://a.example/1"), page(edited(1, 4), "http://a.example/2"))
    with served(path) as (address, _), opened(browser, address, expected="status of 400") as shown:
        path.with_suffix(".marks.csv").write_text("no marks at all\n")
        shown.get_by_role("button", name="These are different").click()
        shown.get_by_text("Not saved: marks").wait_for()
        assert shown.locator("button[aria-pressed=true]").count() == 0


def test_a_button_decides_for_a_whole_place(browser: Any, tmp_path: Path) -> None:
    index = tmp_path / "pages.db"
    for number in range(6):
        html = f"<h1>Coat</h1><p>{text(1)}</p><p class='size'>Size {number}, red</p>"
        judged(index, Page.from_html(html, url=f"http://a.example/{number}", with_places=True))
    with served(index) as (address, _), opened(browser, address) as shown:
        assert shown.locator(".answer.red").inner_text().startswith("Records may have been merged: 5 ")
        place = shown.locator(".place")
        assert place.locator("h3").inner_text() == "Size #, red · 5 pages, a.example"
        assert place.locator(".line").count() == 3
        assert set(place.locator("del").all_inner_texts()) < set("12345")
        for within in (place, shown.locator("li[data-mark]").first):  # what is marked is listed
            with shown.expect_response("**/marks"):
                within.get_by_role("button", name="This does not matter").click()
            shown.reload()
            assert place.count() == (0 if within is place else 1)
        with shown.expect_response("**/marks"):
            place.get_by_role("button", name="These tell pages apart").click()
        assert not place.get_by_text("these may be records").is_visible()
        told = "A mark is of all that stands at # on a.example: html > body > p.size “Size #, red”"
        assert place.get_by_text(told).is_visible()
        assert shown.locator(".place.decided").count() == 1
    (mark,) = read_marks(tmp_path / "pages.marks.csv")[1].places
    assert (mark[0], mark[2]) == ("a.example", "different")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_can_be_read(browser: Any, honest: Path, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python")
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, honest, color_scheme=scheme) as shown:
        assert (sum(colour(shown.locator("body"), "backgroundColor")) > 382) is (scheme == "light")
        for one in shown.locator("summary").all()[:9]:
            one.click()
        found = Axe().run(shown)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("is_served", [False, True])
def test_nothing_of_a_page_runs(browser: Any, tmp_path: Path, is_served: bool) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        index.store.name = HOSTILE[1]
        report = write(hostile_index(index), tmp_path / "report.html")
    with (
        served(tmp_path / "pages.db") if is_served else nullcontext((report, None)) as (place, _),
        opened(browser, place) as shown,
    ):
        assert shown.locator("article").count() + shown.locator(".copies > li").count() >= 16
        for one in shown.locator("summary").all():
            one.click()
        links = shown.evaluate("[...document.querySelectorAll('a')].map(a => a.href)")
        assert all(link.startswith("https://evil.example/") for link in links), links
        assert shown.evaluate("document.querySelectorAll('main script, main img').length") == 0
        assert shown.evaluate("typeof window.pwned") == "undefined"


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, honest: Path) -> None:
    with opened(browser, honest, viewport={"width": 390, "height": 800}) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390
