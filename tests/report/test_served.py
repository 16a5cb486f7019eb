from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.cli import main, serving
from tests.pages import edited, page, text
from tests.report.served import served

pytestmark = pytest.mark.slow

EVIL = 'javascript:alert(1)//"><script>alert(2)</script>\u202e\x1b[31m'
STORING = DedupConfig(store_pages=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index, STORING, "news") as detector:
        detector.check(page(text(1), "http://a.example/1"))
        detector.check(page(edited(1), "http://b.example/2"))
        detector.check(page(text(5), EVIL))
        detector.check(page(edited(5), 'http://c.example/"><img src=x onerror=alert(3)>'))
    return path


def test_shows_the_report_and_what_a_crawl_drops_while_it_runs(path: Path) -> None:
    with SQLiteIndex(path) as index, Detector(index, spider="news") as detector:
        secret = index.secret.hex()
        with served(path) as (_, ask):
            shown = ask()
            assert shown.status == 200
            assert "2 duplicates among 4 pages" in shown.text or "http://b.example/2" in shown.text
            assert "http://late.example/" not in shown.text
            detector.check(page(edited(1, 2), "http://late.example/"))
            later = ask("/?again").text
    assert "http://late.example/" in later
    assert secret not in shown.text + later
    for inert in (shown.text, later):
        assert "<script>alert" not in inert
        assert "<img" not in inert
        assert 'href="javascript' not in inert
        assert "\x1b" not in inert
        assert "\u202e" not in inert


def test_it_is_the_report_that_is_written(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    options = ("--domain", "b.example", "-s", "DEDUP_RECIPE=min_similarity=0.9", "--keep", "longest")
    arguments = ["report", str(path), "--format", "html", "--output", str(output), *options]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    with served(path, *options) as (_, ask):
        assert _without_clock(ask().text) == _without_clock(output.read_text("utf-8"))


def _without_clock(report: str) -> str:
    """Return *report* without the minute in which it was made."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", report)


def test_reads_only_for_this_machine(path: Path) -> None:
    before = path.read_bytes()
    with served(path) as (address, ask):
        port = int(address.rstrip("/").rpartition(":")[2])
        for host in ("evil.example", "127.0.0.1.evil.example", "[", ""):
            refused = ask(host=host)
            assert (refused.status, "a.example" in refused.text) == (400, False), host
        assert ask(host="localhost:1").status == 200
        assert {ask(verb=verb).status for verb in ("POST", "PUT", "DELETE")} == {501}
        for where in ("/secret", "/../pages.db", "/%2e%2e/pages.db"):
            missing = ask(where)
            assert (missing.status, missing.headers["cache-control"]) == (404, "no-store"), where
        answers = (ask(), missing, refused, ask(verb="POST"))
        # All of 127.0.0.0/8 is this machine, and it listens at one address of it.
        with (
            pytest.raises(OSError, match=r"refused|assign"),
            socket.create_connection(("127.0.0.2", port), timeout=5),
        ):
            pass
    for answer in answers:
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert path.read_bytes() == before


def test_an_index_that_is_gone_is_said_and_served_again_when_it_is_back(path: Path) -> None:
    with served(path) as (_, ask):
        away = path.rename(path.with_name("away.db"))
        gone = ask()
        assert (gone.status, gone.headers["content-type"]) == (503, "text/plain; charset=utf-8")
        assert "does not exist" in gone.text
        away.rename(path)
        assert ask().status == 200


def test_where_its_port_is_taken_it_takes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((serving.HOST, 0)) as taken:
        monkeypatch.setattr(serving, "PORT", taken.getsockname()[1])
        with serving._listening(lambda _: None) as server:
            assert server.server_address[:2] == (serving.HOST, server.server_port)
            assert server.server_port not in (0, serving.PORT)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.db"], 1, "does not exist"),
        (["pages.db", "--run", "9"], 1, "there is no run 9"),
        (["pages.db", "-s", "DEDUP_RECIPE=shingle=3"], 1, "does not go with the fingerprints"),
        (["pages.db", "--output", "x.html"], 2, "--serve goes without"),
        (["pages.db", "--format", "csv"], 2, "--serve goes without"),
        (["pages.db", "--all"], 2, "--serve goes without"),
    ],
)
def test_mistakes_are_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(path.parent)
    done = CliRunner().invoke(main, ["report", "--serve", *arguments])
    assert (done.exit_code, message in done.output) == (code, True), done.output
