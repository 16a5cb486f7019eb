"""The file of the HTML report: what is in it, what is not, and what it may do."""

import base64
import hashlib
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.model.verdict import Reason
from dedup.report import html as html_report
from dedup.report.clusters import Report
from dedup.report.html import clusters_of
from tests.report.reports import honest_index, hostile_index, html, told
from tests.support.commands import run
from tests.support.crawling import ROOT
from tests.support.pages import checked, edited, page, text, told_elsewhere


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return honest_index(tmp_path_factory.mktemp("honest") / "pages.db")


def found(report: str, path: str) -> list[Any]:
    tree: Any = etree.HTML(report)
    return list(tree.xpath(path))


def cells(report: str) -> list[list[str]]:
    """Return the list of copies: the page kept, the copy, and what it is."""
    copies = [(one.find("h3"), copy) for one in found(report, "//article") for copy in one.find("ul")]
    parts = [(kept, *copy.findall("p")[:2]) for kept, copy in copies]
    return [[" ".join("".join(part.itertext()).split()) for part in row] for row in parts]


def test_of_an_empty_index_it_says_that_there_is_no_page() -> None:
    index = MemoryIndex()
    assert cells(html(index)) == []
    assert "There is no page: nothing was judged" in html(index)


def test_a_line_that_only_the_copy_has_is_marked_as_a_whole() -> None:
    index = MemoryIndex()
    pages = {f"http://a.example/{n}": f"{text(1)}</p>{'<p>feed0000</p>' * n}" for n in range(2)}
    checked(index, pages, DedupConfig(store_pages=True))
    assert [one.text for one in found(html(index), "//article//details/p/del")] == ["feed0000"]


@pytest.mark.parametrize("token", ["", "secret"])
def test_the_policy_allows_its_style_and_the_script_of_a_served_report(index: Path, token: str) -> None:
    with SQLiteIndex(index) as opened:
        report = html(opened, token=token)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', report)
    (style,) = re.findall(r"<style>(.*?)</style>", report, re.DOTALL)
    scripts = re.findall(r"<script>(.*?)</script>", report, re.DOTALL)
    allowed = "".join(f"; script-src 'sha256-{digest(one)}'; connect-src 'self'" for one in scripts)
    assert report.count("<script") == len(scripts) == bool(token)
    styled = f"default-src 'none'; style-src 'sha256-{digest(style)}'; base-uri 'none'"
    assert policy == f"{styled}; form-action 'none'{allowed}"
    assert " style=" not in report
    places = product(range(3), range(2), range(60))
    urls = {f"https://site{host}.example/{run}/{number}" for host, run, number in places}
    assert set(re.findall(r'(?:src|href)="([^"]*)"', report)) <= urls


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_hostile_text_ends_no_element_and_shows_every_character() -> None:
    index = hostile_index()
    index.store.name = '"><script>window.pwned = 1<!--'
    report = html(index, token="secret")
    assert report.count("<script") == report.count("</script") == 1
    assert not re.search(r"<(?:img|svg)|<!--", report)
    assert all(href.startswith("https://evil.example/") for href in found(report, "//a/@href"))
    assert not found(report, "//@*[starts-with(name(), 'on')]")
    shown = "".join(found(report, "//body//text()"))
    assert not {"\u202e", "\u2066", "\u200f", "\x1b", "\x00", "\u2028", "\ud800"} & set(report)
    assert "\\u202egnp.exe\\u2066\\u200f" in shown
    assert "<script>window.pwned = 1</script>" in shown
    assert len(report) < 400_000


def test_a_bounded_report_says_what_it_leaves_out(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteIndex(index) as opened:
        everything = clusters_of(Report(opened))
        monkeypatch.setattr(html_report, "MAX_PAGES", 10)
        part, some = html(opened), clusters_of(Report(opened))
    assert everything[: len(some)] == some
    listed, copies = (sum(len(found) for _, found in shown) for shown in (some, everything))
    assert len(some) + listed <= 10 < copies
    assert f"{listed} of {copies} copies (this file lists at most 10 pages" in part


def test_what_can_be_compared_comes_before_what_cannot() -> None:
    index = MemoryIndex()
    for number, stores in enumerate((False, True)):
        with Detector(index, DedupConfig(store_pages=stores)) as detector:
            for path, said in enumerate((text(number), edited(number, 8 - number), edited(number, 4))):
                detector.check(page(said, f"http://a.example/{number}/{path}"))
    report = html(index)
    assert [one.id for _, copies in clusters_of(Report(index)) for one in copies] == [5, 6, 2, 3]
    assert "then those whose words can be shown, then the others; of each kind those that" in report


def test_each_copy_is_listed_with_its_figures(index: Path) -> None:
    with SQLiteIndex(index) as opened:
        listed = cells(html(opened))
        copies = {row.sighting.url: row for row in opened.rows() if not row.verdict.kept}
        texts = {row.sighting.url: (opened.text_of(row) or "").split() for row in opened.rows()}
    assert len(listed) == len(copies) > 50
    counted = 0
    for kept, copy, what in listed:
        url = copy[copy.index("http") :]
        row = copies.pop(url)
        assert kept.startswith("Kept in run ")
        assert copy.startswith(f"Dropped in run {row.sighting.run}: ")
        assert kept.endswith(row.verdict.canonical_url)
        reason = row.verdict.reason.replace("_", " ").replace("duplicate", "copy")
        lost = re.fullmatch(rf"{reason}(?:, loses (?:nothing|(\d+) of 120 words: (.*)))?", what)
        assert lost is not None
        if not lost[1]:
            continue
        own = [word for word in texts[url] if word not in texts[row.verdict.canonical_url]]
        assert 0 <= int(lost[1]) - len(own) <= 1  # one is elsewhere by chance
        assert lost[2].startswith(" ".join(own[:8]))
        counted += 1
    assert counted > 10
    assert not copies


def test_a_near_copy_that_a_later_crawl_drops_again_is_no_exact_one() -> None:
    index = MemoryIndex()
    contents = [text(1), text(1), " ".join(text(1).split()[:-7]), text(1).replace(" ", "  ")]
    for _ in range(2):
        checked(index, {f"http://a/{number}": content for number, content in enumerate(contents)})
    second = Report(index, run=2)
    assert [one.reason for one in second.selected()] == [Reason.UNCHANGED] * 4
    answer = "4 pages seen = 1 kept + 3 unchanged."
    assert (told(index, run=2)[1], f"<p>{answer}</p>" in html(index, run=2)) == (answer, True)
    assert clusters_of(second) == [], "the first run tells of them"
    lost = (
        r"= 1 kept \+ 2 near copies \+ 1 exact copy\. Of 3 copies, 2 lose nothing, 1 loses \d+ words?\."
    )
    assert re.search(f"{lost}$", told(index)[1])
    report = Report(index)
    ((_, copies),) = clusters_of(report)
    assert [one.sighting.url for one in copies if report.may_lose(one)] == ["http://a/2"]


def test_what_the_site_decided_is_said() -> None:
    index, contents = MemoryIndex(), [*told_elsewhere(), edited(5, 3, 400)]
    contents.append(f"{contents[2]} {text(8, 90)}")
    checked(index, {f"http://a/{number}": content for number, content in enumerate(contents)})
    report = Report(index)
    # What stands on other pages does not count: first comes the copy that loses words for good.
    copies = [one for _, found in clusters_of(report) for one in found]
    plain, by_site = (copy.verdict for copy in copies)
    assert (by_site.nowhere or 0) < (plain.nowhere or 0) == plain.lost == report.counts.most
    lines = [line for line in told(index) if "near copy," in line]
    assert lines[0] == f"    near copy, loses about {plain.nowhere} of 400 words"
    assert re.search(r"of 500 words, all( but about \d)? of which stand on other pages kept$", lines[1])


def test_texts_shown_are_of_copies_that_lose_most(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.report.losses.MAX_PAIRS", 9)
    with SQLiteIndex(index) as opened:
        compared = Report(opened).losses.texts
        lost = {row.id: row.verdict.lost or 0 for row in opened.rows() if not row.verdict.kept}
    shown = [lost[row] for row in compared]
    assert sorted(shown, reverse=True) == sorted(lost.values(), reverse=True)[: len(shown)]
    assert len(shown) == 9


def test_the_command_writes_the_file(index: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    done = run("report", index, "--output", output, "--run", 2)
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.search(r"report\.html: \d+ KB, to be opened in a browser", done.stderr)
    report = output.read_text("utf-8")
    assert all(row[1].startswith("Dropped in run 2: ") for row in cells(report))
    assert '"report/assets/*"' in (ROOT / "pyproject.toml").read_text("utf-8")
