import csv
import json
import re
import socket
from pathlib import Path

import pytest

from dedup import Detector, SQLiteIndex
from dedup.cli import serving
from tests.report.reports import judged
from tests.report.served import served
from tests.support.pages import edited, page, text

pytestmark = pytest.mark.slow

EVIL = 'javascript:alert(1)//"><script>alert(2)</script>\u202e\x1b[31m'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    judged(path, page(text(1), "http://a.example/1"), page(edited(1), "http://b.example/2"))
    evil = page(edited(5), 'http://c.example/"><img src=x onerror=alert(3)>')
    judged(path, page(text(5), EVIL), evil)
    return path


def test_shows_the_report_and_what_a_crawl_drops_while_it_runs(path: Path) -> None:
    with SQLiteIndex(path) as index, Detector(index, spider="news") as detector:
        with served(path) as (_, ask):
            shown = ask()
            assert shown.status == 200
            assert "2 duplicates among 4 pages" in shown.text or "http://b.example/2" in shown.text
            assert "http://late.example/" not in shown.text
            detector.check(page(edited(1, 2), "http://late.example/"))
            later = ask("/?again").text
    assert "http://late.example/" in later
    for inert in (shown.text, later):
        assert not re.findall('<script>alert|<img|href="javascript|\x1b|\u202e', inert)


MARK = {"page": "http://b.example/2", "other": "http://a.example/1", "says": "different"}


def test_a_mark_is_written_for_the_report_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    marks = path.with_suffix(".marks.csv")
    marks.write_text("page,other,says,note\nhttp://x/1,http://x/2,copy,of another index\n", "utf-8")
    index = path.read_bytes()
    with served(path) as (address, ask):
        (token,) = re.findall(r'data-token="([\w-]{40,})"', ask().text)
        sent, evil = {"origin": address.rstrip("/"), "x-dedup-token": token}, "http://evil.example"
        for change in (
            {"host": "evil.example", "origin": evil},
            *({"origin": one} for one in (evil, "null", "")),
            *({"x-dedup-token": one} for one in ("", "é", token[:-1])),
        ):
            refused = ask("/marks", "POST", json.dumps(MARK), **(sent | change))
            assert refused.status in (400, 403), change
        wrong = [json.dumps(MARK | part) for part in ({"says": "?"}, {"other": ""})]
        for body in ("{", "[]", '{"page": 7}', *wrong):
            assert ask("/marks", "POST", body, **sent).status == 400, body
        assert ask("/marks", "POST", "x" * 200_000, **sent).status == 413
        assert ask("/other", "POST", "{}", **sent).status == 404
        assert "http://b.example/2" not in marks.read_text("utf-8")
        assert ask("/marks", "POST", json.dumps(MARK), **sent).status == 200
        assert _rows(marks) == [
            ["page", "other", "says", "note"],
            ["http://x/1", "http://x/2", "copy", "of another index"],
            ["http://b.example/2", "http://a.example/1", "different", ""],
        ]
        assert '<button type="button" value="different" aria-pressed="true">' in ask().text
        assert ask("/marks", "POST", json.dumps(MARK | {"says": ""}), **sent).status == 200
        assert len(_rows(marks)) == 2
    assert path.read_bytes() == index


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_reads_only_for_this_machine(path: Path) -> None:
    before = path.read_bytes()
    with served(path) as (address, ask):
        port = int(address.rstrip("/").rpartition(":")[2])
        for host in ("evil.example", "127.0.0.1.evil.example", "[", ""):
            refused = ask(host=host)
            assert (refused.status, "a.example" in refused.text) == (400, False), host
        assert ask(host="localhost:1").status == 200
        assert {ask(verb=verb).status for verb in ("PUT", "DELETE")} == {501}
        for where in ("/secret", "/../pages.db", "/%2e%2e/pages.db"):
            missing = ask(where)
            assert (missing.status, missing.headers["cache-control"]) == (404, "no-store"), where
        answers = (ask(), missing, refused, ask(verb="PUT"))
        # All of 127.0.0.0/8 is this machine, and it listens at one address of it.
        with pytest.raises(OSError, match=r"refused|assign"):
            socket.create_connection(("127.0.0.2", port), timeout=5)
    for answer in answers:
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        told = {"x-content-type-options": "nosniff", "x-frame-options": "DENY"}
        told |= {"referrer-policy": "no-referrer", "cross-origin-resource-policy": "same-origin"}
        assert answer.headers.items() >= told.items()
    assert path.read_bytes() == before


def test_an_index_that_is_gone_is_said_and_served_again_when_it_is_back(path: Path) -> None:
    with served(path) as (_, ask):
        away, gone = path.rename(path.with_name("away.db")), ask()
        assert (gone.status, gone.headers["content-type"]) == (503, "text/plain; charset=utf-8")
        assert "does not exist" in gone.text
        away.rename(path)
        assert ask().status == 200


def test_where_its_port_is_taken_it_takes_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server((serving.HOST, 0)) as taken:
        monkeypatch.setattr(serving, "PORT", taken.getsockname()[1])
        monkeypatch.setattr(serving._ReportServer, "serve_forever", lambda _: None)
        serving.serve(str, print, "x.db")
    port = re.search(rf"{serving.HOST}:(\d+)/", capsys.readouterr().out)
    assert port
    assert int(port[1]) not in (0, serving.PORT)
