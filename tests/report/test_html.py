"""The file of the HTML report: what is in it, what is not, and what it may do."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lxml import etree

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex
from dedup.cli import main
from dedup.model.errors import ConfigError, DedupError
from dedup.model.verdict import Reason
from dedup.report import html as html_report
from dedup.report.clusters import Report, Selection
from dedup.report.html import Choices, contents_of
from tests.browser.reports import honest_index, hostile_index, html
from tests.crawling import ROOT
from tests.pages import edited, page, text, told_elsewhere
from tests.report.telling import told

SCRIPTS = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)


def data_of(report: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(SCRIPTS.findall(report)[0][1])
    return data


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return honest_index(tmp_path / "pages.db")


def test_the_policy_allows_the_script_and_the_style_of_the_file_and_nothing_else(index: Path) -> None:
    with SQLiteIndex(index) as opened:
        report = html(opened)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', report)
    (style,) = re.findall(r"<style>(.*?)</style>", report, re.DOTALL)
    scripts = SCRIPTS.findall(report)
    assert [attributes for attributes, _ in scripts] == [' type="application/json" id="data"', ""]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(scripts[1][1])}'; base-uri 'none'; form-action 'none'"
    )
    assert " style=" not in report.replace(scripts[1][1], "")
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', report.replace(scripts[1][1], "")) == []


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_hostile_text_ends_no_element_and_shows_every_character() -> None:
    report = html(hostile_index(), name="</title><script>window.pwned = 1</script>")
    assert len(SCRIPTS.findall(report)) == 2
    assert SCRIPTS.findall(report)[0][1].isascii()
    assert not set("<>&") & set(SCRIPTS.findall(report)[0][1])
    assert "window.pwned" not in SCRIPTS.sub("", report).replace(
        "&lt;/title&gt;&lt;script&gt;window.pwned", ""
    )
    data = data_of(report)
    shown = "".join(data["pages"]["title"] + data["pages"]["url"])
    assert not {"\u202e", "\u2066", "\u200f", "\x1b", "\x00", "\u2028", "\ud800"} & set(shown)
    assert "\\u202egnp.exe\\u2066\\u200f" in shown
    assert len(report) < 400_000
    etree.HTML(report)


@pytest.mark.slow
def test_a_bounded_report_counts_all_and_says_what_it_leaves_out(index: Path) -> None:
    with SQLiteIndex(index) as opened:
        whole, part = html(opened), html(opened, max_pages=10)
    assert data_of(whole)["parts"] == data_of(part)["parts"]
    everything, some = data_of(whole)["clusters"], data_of(part)["clusters"]
    assert everything[: len(some)] == some
    assert sum(map(len, some)) <= 10 < sum(map(len, everything))
    lost = [[data_of(whole)["pages"]["nowhere"][page] for page in copies] for _, *copies in everything]
    assert [copies[0] for copies in lost] == sorted((max(copies) for copies in lost), reverse=True)
    assert "copies are counted in the figures but not listed" in part
    assert "not listed" not in whole


def test_each_copy_is_listed_with_its_figures(index: Path) -> None:
    with SQLiteIndex(index) as opened:
        data = data_of(html(opened))
        copies = {row.id: row for row in opened.rows() if not row.verdict.kept}
        urls = {row.sighting.url: row for row in opened.rows()}
        texts = {row.id: opened.text_of(row) or "" for row in opened.rows()}
    assert sum(data["pages"]["counted"]) > 10
    pages, listed = data["pages"], 0
    for canonical, *members in data["clusters"]:
        for place in members:
            row = urls[pages["url"][place]]
            assert row.verdict.canonical == urls[pages["url"][canonical]].id
            assert pages["similarity"][place] == pytest.approx(row.verdict.similarity, abs=6e-4)
            assert pages["words"][place] == 120
            if pages["counted"][place]:
                kept = texts[row.verdict.canonical].split()
                lost = [word for word in texts[row.id].split() if word not in kept]
                assert 0 <= pages["lost"][place] - len(lost) <= 1  # one is elsewhere by chance
            else:
                assert pages["lost"][place] == row.verdict.lost
            assert data["reasons"][pages["reason"][place]] == row.verdict.reason
            assert data["sites"][pages["site"][place]] in row.sighting.url
            assert bool(data["sentences"][pages["why"][place]])
            listed += 1
    assert listed == len(copies)
    assert data["texts"]


def test_a_near_copy_that_a_later_crawl_drops_again_is_no_exact_one() -> None:
    index = MemoryIndex()
    contents = [text(1), text(1), " ".join(text(1).split()[:-7]), text(1).replace(" ", "  ")]
    for _ in range(2):
        with Detector(index) as detector:
            for number, content in enumerate(contents):
                detector.check(page(content, f"http://a/{number}"))
    second = Selection(run=2)
    reasons = [row.verdict.reason for row in second.rows(index)]
    assert reasons == [Reason.UNCHANGED] * 4
    answer = r"4 seen = 1 kept \+ 3 unchanged; of the copies 2 safe, 1 losing \d+ words?"
    assert re.fullmatch(answer, told(index, second)[1])
    report = html(index, second)
    assert re.search(f"<p>{answer}", report)
    pages = data_of(report)["pages"]
    near = [url for url, is_near in zip(pages["url"], pages["near"], strict=True) if is_near]
    assert near == ["http://a/2"]


def test_what_the_site_decided_is_said() -> None:
    index = MemoryIndex()
    contents = [*told_elsewhere(), edited(5, 3, 400)]
    with Detector(index) as detector:
        for number, content in enumerate(contents):
            detector.check(page(content, f"http://a/{number}"))
    data = data_of(html(index))
    assert data["clusters"] == [[0, 1, 2]]
    by_site, plain = (data["sentences"][data["pages"]["why"][place]] for place in (2, 1))
    ending = " of which stand on other pages kept. 2 kept pages of the site were known."
    assert by_site.endswith(ending)
    assert "other pages" not in plain
    # What stands on other pages does not count: first comes the copy that loses words for good.
    lost, nowhere = data["pages"]["lost"], data["pages"]["nowhere"]
    assert nowhere[2] < nowhere[1] == lost[1] < lost[2]
    assert Report(index).losses.answer.most == nowhere[1]
    lines = [line for line in told(index) if "near copy," in line]
    assert lines[0] == f"  near copy, loses about {lost[1]} of 400 words, run 1"
    assert "of 500 words, all" in lines[1]
    assert "of which stand on other pages kept, run 1" in lines[1]
    # Whatever the settings of the report are, the reason is that of the crawl.
    stricter = data_of(html(index, config=DedupConfig(max_lost_words=0)))
    reasons = [stricter["sentences"][stricter["pages"]["why"][place]] for place in (2, 1)]
    assert reasons[0] == by_site
    assert reasons[1].startswith("The pages shared 0.9")


def test_the_texts_shown_are_those_of_the_copies_that_lose_most(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.report.losses.MAX_PAIRS", 9)
    with SQLiteIndex(index) as opened:
        report = Report(opened, page_of=lambda row: Page.from_text(str(row)))
        pairs = list(contents_of(report, Choices(config=DedupConfig(), name="pages")).texts)
        lost = {row.id: row.verdict.lost or 0 for row in opened.rows() if not row.verdict.kept}
    shown = [lost[second] for _, second in pairs if second in lost]
    assert sorted(shown, reverse=True) == sorted(lost.values(), reverse=True)[: len(shown)]
    assert 6 <= len(shown) <= len(pairs) <= 9


def test_an_empty_index_has_a_report() -> None:
    data = data_of(html(MemoryIndex()))
    assert (data["by_site"], data["clusters"], data["pages"]["url"]) == ([], [], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "ways"),
    [
        (DedupConfig(), "content structure"),
        (DedupConfig(by_bands=True), "sketches"),
    ],
)
def test_the_rule_is_the_one_in_force(index: Path, config: DedupConfig, ways: str) -> None:
    with SQLiteIndex(index) as opened:
        report = html(opened, config=config)
    (facts,) = re.findall(r"Candidates are pages (whose [^.]*)\.", report)
    assert re.findall(r"whose (\w+)", facts) == ways.split()
    assert "are copies if they share at least 0.62 of their shingles" in report


def test_at_least_two_pages_must_fit() -> None:
    with pytest.raises(ConfigError, match=r"max_pages \(1\) must be 2 or more"):
        html(MemoryIndex(), max_pages=1)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(DedupError, match=r'pip install "scrapy-dedup\[report\]"'):
        html(MemoryIndex())


def test_the_command_writes_the_file(index: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    command = ["report", str(index), "--format", "html", "--output", str(output)]
    done = CliRunner().invoke(main, [*command, "--run", "2", "-s", "DEDUP_MAX_LOST_WORDS=90"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.search(r"report\.html: \d+\.\d MB, to be opened in a browser", done.stderr)
    report = output.read_text("utf-8")
    assert [run["name"] for run in data_of(report)["by_run"]] == ["2"]
    assert "at most 90 or 10%" in report


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
def test_the_command_writes_no_html_to_a_terminal(index: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from dedup.cli import main; main()",
            "report",
            str(index),
            "--format",
            "html",
        ],
        stdout=follower,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(follower)
    os.close(leader)
    assert done.returncode == 2
    assert "--format html needs --output" in done.stderr


def test_the_assets_are_packed() -> None:
    assert '"report/assets/*"' in (ROOT / "pyproject.toml").read_text("utf-8")
    for name in ("report.css", "report.html", *(f"{name}.js" for name in html_report.SCRIPTS)):
        assert html_report._asset(name)
