"""``dedup try``: a small crawl of a site nobody has a project for."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Detector, SQLiteIndex
from dedup.cli.report import address_of
from dedup.model.verdict import DRY_RUN
from tests.support.commands import run
from tests.support.crawling import document, scrapy, serving
from tests.support.pages import edited, page, text

LINKS = "".join(f"<a href='/{name}'>{name}</a>" for name in ("one", "two", "three", "away"))
SITE = {
    "/": document("Home", LINKS + text(9)),
    "/one": document("One", text(1)),
    "/two": document("Two", edited(1, 4)),
    "/three": document("Three", text(1)),
    "/away": document("Away", "<a href='http://elsewhere.example/'>elsewhere</a>" + text(3)),
}


def tried(folder: Path, url: str, *options: str) -> tuple[int, str, str]:
    done = scrapy("dedup", "try", url, "-o", str(folder), *options)
    return done.returncode, done.stdout, done.stderr


def test_it_tells_what_would_be_dropped_and_delivers_nothing_to_the_project_it_is_merged_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(SITE) as url:
        done = scrapy("dedup", "try", url, "-o", "try", "-s", "DEDUP_MAX_LOST_WORDS=15", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "2 of the first 5 pages would be dropped\nLook at this place: 1 copy loses 4 words.\n5 pages seen = 3 kept + 2 near copies"
    )
    assert "near copy, loses nothing" in done.stdout
    assert "scrapy crawl NAME -s DEDUP_MAX_LOST_WORDS=15" in done.stdout
    assert "<html" in Path("try/report.html").read_text("utf-8")
    assert "try/report.html" in done.stdout
    with SQLiteIndex("try/pages.db", read_only=True) as index:
        assert {run.action for run in index.runs.all()} == {DRY_RUN}
    merged = run("merge", "try/pages.db", "project.db")
    assert merged.exit_code == 0, merged.output
    with SQLiteIndex("project.db") as index, Detector(index) as detector:
        assert len(list(index.rows())) == 3
        # A dry run delivered nothing to the project: its first crawl keeps the page.
        assert detector.check(page(text(1), f"{url}one")).kept


@pytest.mark.slow
def test_it_ends_after_so_many_pages_and_takes_settings(tmp_path: Path) -> None:
    with serving(SITE) as url:
        code, said, errors = tried(tmp_path / "try", url, "--pages", "2", "-s", "DEDUP_MAX_LOST_WORDS=4")
    assert code == 0, errors
    assert said.startswith("0 of the first 2 pages would be dropped\n")


def test_robots_are_obeyed(tmp_path: Path) -> None:
    site: dict[str, str | bytes] = {**SITE, "/robots.txt": b"User-agent: *\nDisallow: /\n"}
    with serving(site) as url:
        code, _, errors = tried(tmp_path / "try", url)
    assert code == 1
    assert "was read: " in errors
    assert "robots.txt" in errors


def test_a_site_without_https_is_named(tmp_path: Path) -> None:
    with serving(SITE) as url:
        code, _, errors = tried(tmp_path / "try", url.removeprefix("http://"))
    assert code == 1
    assert "speaks no HTTP" in errors
    assert f"; did you mean {url}?" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://a.example/"], "is no URL of a site"),
        (["http://[/"], "is no URL of a site"),
        (["http://a.example:99999/"], "is no URL of a site"),
        (["http://me:pass-word@a.example/"], "takes no user and no password"),
        (["a.example", "-s", "DEDUP_TEXT_FIELDS=x"], "DEDUP_TEXT_FIELDS cannot be tried"),
        (["a.example", "-s", "DEDUP_MAX_DISTANCE=70"], "must be 0 to 12"),
        (["a.example", "-o", "."], "is not empty"),
    ],
)
def test_mistakes_are_told_before_anything_is_fetched(arguments: list[str], said: str) -> None:
    done = run("try", *arguments)
    assert done.exit_code in (1, 2)
    assert "pass-word" not in done.output
    assert said in done.output


@given(st.text(max_size=30) | st.binary(max_size=9).map(os.fsdecode))
def test_any_text_is_an_address_or_an_error(url: str) -> None:
    try:
        parts = urlsplit(address_of(url))
    except click.UsageError:
        return
    assert parts.scheme in ("http", "https")
    assert parts.hostname
    assert "@" not in parts.netloc
