from __future__ import annotations

import json
import random
import re
import socket
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex, fingerprint
from dedup.cli import main
from dedup.report.columns import NO_SITE, OTHER_SITES
from dedup.report.counts import counts
from dedup.serve.shown import link
from dedup.serve.totals import Totals
from tests.pages import edited, page, text
from tests.serve.serving import served
from tests.sightings import find_or_add

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
        assert "The page lost about 1 of 120 words. The pages share" in shown
        assert ">about 1 of 120 words</td>" in overview
        assert "<ins>" in shown
        assert "http://a.example/1" in shown
        assert 'data-name="duplicates">1</td>' in client.get("/clusters").text
        duplicates = client.get("/pages", params={"duplicates": "1", "q": "B.EXAMPLE"}).text
        assert duplicates.count('class="verdict duplicate"') == 1


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
        assert client.get("/pages?before=x&run=-1&duplicates=%00").status_code == 200
        port = client.base_url.port
        assert port
        # All of 127.0.0.0/8 is this machine, and it listens at one address of it.
        with (
            pytest.raises(OSError, match=r"refused|assign"),
            socket.create_connection(("127.0.0.2", port), timeout=5),
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


def test_counts_what_stats_counts_also_after_something_is_forgotten(path: Path) -> None:
    def shown(client: httpx.Client) -> dict[str, str]:
        overview = client.get("/").text
        return dict(re.findall(r"<dt>([a-z ]+)</dt><dd>(\d+)", overview))

    with served(path) as client:
        assert shown(client).items() >= {"pages seen": "4", "kept": "2", "duplicates": "2"}.items()
        with SQLiteIndex(path) as index:
            index.ledger.forget_url("http://a.example/1")
            index.ledger.forget_url("http://b.example/2")
        found = json.loads(CliRunner().invoke(main, ["stats", "--index", str(path), "--json"]).output)[
            "total"
        ]
        assert (
            shown(client).items()
            >= {
                "pages seen": str(found["rows"]),
                "kept": str(found["kept"]),
                "duplicates": str(found["dropped"]),
                "released or forgotten": str(found["forgotten"]),
            }.items()
        )
        assert (found["kept"], found["dropped"], found["forgotten"]) == (1, 1, 2)


@pytest.mark.parametrize("step", [1, 3, 100])
def test_totals_are_those_of_the_tallies_whatever_changes_meanwhile(step: int) -> None:
    index, totals = MemoryIndex(), Totals()
    chance = random.Random(step)
    run, pending = index.begin_run("news"), []
    for number in range(60):
        seen = fingerprint(page(edited(chance.randrange(30))))
        url = f"http://{number % 3}.example/{number % 7}"
        verdict = find_or_add(index, seen, url, run=run, config=DedupConfig(), confirmed=number % 2 == 0)
        pending += [verdict.row] if number % 2 and verdict.row else []
        if number % 5 == 0 and pending:
            index.ledger.release(pending.pop(0))
        if number % 11 == 0:
            index.ledger.forget_url(f"http://{chance.randrange(3)}.example/{chance.randrange(7)}")
        totals.read_on(index, step)
    while totals.read < index.views.statistics().rows:
        totals.read_on(index, step)
    (found,) = counts(index.views.tallies(), lambda _: "all")
    whole = totals.whole
    assert whole == found
    assert whole.undone > whole.released > 0
    assert [totals.run(run.id)] == counts(index.views.tallies(), lambda tally: tally.run)
    assert totals.sites == counts(index.views.tallies(), lambda tally: tally.site)


def test_more_sites_than_have_room_count_as_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.serve.totals.MAX_SITES", 2)
    totals = Totals()
    with SQLiteIndex(path, read_only=True) as index:
        totals.read_on(index)
    assert {count.name: count.rows for count in totals.sites} == {
        "a.example": 1,
        "b.example": 1,
        OTHER_SITES: 2,
    }


def test_totals_read_each_row_once(path: Path) -> None:
    totals = Totals()
    with SQLiteIndex(path, read_only=True) as index:
        steps = []
        for _ in range(4):
            totals.read_on(index, step=3)
            steps.append((totals.read, totals.whole.rows, totals.whole.dropped))
    assert steps == [(3, 3, 1), (4, 4, 2), (4, 4, 2), (4, 4, 2)]
    assert totals.run(1).dropped == 2
    assert dict(totals.by_reason) == {"new": 2, "near_duplicate": 2}
    assert [count.name for count in totals.sites] == [NO_SITE, "a.example", "b.example", "c.example"]


def test_only_addresses_of_the_web_become_links() -> None:
    hostile = ["javascript:alert(1)", "file:///etc/passwd", "http://[", "", "http://a/\x1b"]
    assert [link(url) for url in hostile] == [""] * len(hostile)
    assert link("https://a.example/?q=1") == "https://a.example/?q=1"


def test_nothing_shows_the_secret_of_the_index(path: Path) -> None:
    with SQLiteIndex(path, read_only=True) as index:
        secret = index.secret.hex()
    with served(path) as client:
        for address in ("/", "/pages", "/clusters", "/page/1", "/page/2", "/live.json", "/secret"):
            assert secret not in client.get(address).text
