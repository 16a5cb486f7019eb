from __future__ import annotations

import re
import socket
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.cli import main
from dedup.report.columns import NO_SITE
from dedup.serve.shown import link
from dedup.serve.totals import Totals
from tests.pages import edited, page, text
from tests.serve.serving import served

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


def test_shows_figures_copies_and_what_changed(path: Path) -> None:
    with served(path) as client:
        overview = client.get("/").text
        assert re.search(r"pages seen</dt><dd>4</dd>", overview)
        assert "http://b.example/2" in overview
        shown = client.get("/page/2").text
        assert "near duplicate" in shown
        assert "<ins>" in shown
        assert "http://a.example/1" in shown
        assert 'class="number">1</td>' in client.get("/clusters").text
        copies = client.get("/pages", params={"copies": "1", "q": "B.EXAMPLE"}).text
        assert copies.count('class="verdict copy"') == 1


def test_shows_what_a_crawl_drops_while_it_runs(path: Path) -> None:
    with SQLiteIndex(path) as index, Detector(index, spider="news") as detector, served(path) as client:
        assert "http://late.example/" not in client.get("/live.json").json()["state"]
        detector.check(page(edited(1, 2), "http://late.example/"))
        state = client.get("/live.json").json()["state"]
        assert "http://late.example/" in state
        assert "not ended" in state


def test_text_of_strangers_is_inert(path: Path) -> None:
    with served(path) as client:
        for address in ("/", "/pages", "/clusters", "/page/3", "/page/4", f"/pages?q={quote(EVIL)}"):
            shown = client.get(address).text
            assert "<script>alert" not in shown
            assert "<img" not in shown
            assert 'href="javascript' not in shown
            assert "\x1b" not in shown
            assert "\u202e" not in shown


@pytest.mark.parametrize("address", ["/", "/page/99", "/static/serve.css", "/nothing", "/page/x"])
def test_every_answer_has_safe_headers(path: Path, address: str) -> None:
    with served(path) as client:
        headers = client.get(address).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_reads_only_for_this_machine(path: Path) -> None:
    before = path.read_bytes()
    with served(path) as client:
        assert client.get("/", headers={"host": "evil.example"}).status_code == 400
        assert client.get("/", headers={"host": "localhost:1"}).status_code == 200
        assert {client.request(verb, "/").status_code for verb in ("POST", "PUT", "DELETE")} == {405}
        assert client.get("/static/../app.py").status_code == 404
        assert client.get("/static/%2e%2e/app.py").status_code == 404
        assert client.get("/page/99").status_code == 404
        assert client.get(f"/page/{2**80}").status_code == 404
        assert client.get("/pages?before=x&run=-1&copies=%00").status_code == 200
        port = client.base_url.port
        assert port
        hosts = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
        for host in hosts - {"127.0.0.1", "127.0.1.1", "::1"}:
            with (
                pytest.raises(ConnectionRefusedError),
                socket.create_connection((str(host), port), timeout=5),
            ):
                pass
    assert path.read_bytes() == before


def test_a_missing_index_and_a_port_taken_are_one_line(path: Path) -> None:
    missing = CliRunner().invoke(main, ["serve", str(path.with_name("none.db"))])
    assert (missing.exit_code, "does not exist" in missing.output) == (1, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = CliRunner().invoke(main, ["serve", str(path), "--port", port])
    assert (refused.exit_code, f"port {port}" in refused.output) == (1, True)


def test_totals_read_each_row_once(path: Path) -> None:
    totals = Totals()
    with SQLiteIndex(path, read_only=True) as index:
        steps = []
        for _ in range(4):
            totals.read_on(index, step=3)
            steps.append((totals.read, totals.whole.seen, totals.whole.copies))
    assert steps == [(3, 3, 1), (4, 4, 2), (4, 4, 2), (4, 4, 2)]
    assert totals.run(1).copies == 2
    assert dict(totals.by_reason) == {"new": 2, "near_duplicate": 2}
    assert [site for site, _ in totals.sites] == [NO_SITE, "a.example", "b.example", "c.example"]


def test_only_addresses_of_the_web_become_links() -> None:
    hostile = ["javascript:alert(1)", "file:///etc/passwd", "http://[", "", "http://a/\x1b"]
    assert [link(url) for url in hostile] == [""] * len(hostile)
    assert link("https://a.example/?q=1") == "https://a.example/?q=1"
