"""What untrusted text can reach: nothing that runs it, no statement that is made of it, no network."""

import ast
import socket
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from tests.support.commands import run
from tests.support.pages import text
from tests.test_architecture import MODULES, ROOT, imported

SOURCES = sorted(one for name in ("dedup", "crawler", "settings") for one in (ROOT / name).rglob("*.py"))
# What runs what it is given, or reads a format that can.
RUNNING_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
RUNNING_MODULES = {
    *("code", "codeop", "ctypes", "dill", "joblib", "marshal", "pickle", "pty", "runpy", "shelve"),
    *("cloudpickle", "subprocess", "yaml"),
}
RUNNING_ATTRIBUTES = {"system", "popen", "execv", "execve", "execvp", "spawnl", "spawnv", "startfile"}
RUNNING_OPTIONS = {"shell", "allow_pickle"}
# Where a dotted path that the operator gave is loaded; it may run anything.
LOADERS = {
    *("plugin/changes", "plugin/feeds", "cli/__init__", "plugin/__init__", "__init__"),
    *("index/__init__", "plugin/addon", "cli/options"),  # by constant names
}
FETCHING_MODULES = {
    *("aiohttp", "ftplib", "httpx", "requests", "smtplib", "socket", "ssl", "telnetlib", "urllib3"),
    *("http.client", "urllib.request", "xmlrpc.client"),
}


def nodes(paths: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    assert paths
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            yield path, node


def test_nothing_runs_what_it_is_given() -> None:
    for path, node in nodes(SOURCES):
        if isinstance(node, ast.Call):
            called, where = node.func, (path, node.lineno)
            assert not (isinstance(called, ast.Name) and called.id in RUNNING_CALLS), where
            assert not (isinstance(called, ast.Attribute) and called.attr in RUNNING_ATTRIBUTES), where
            assert not {keyword.arg for keyword in node.keywords} & RUNNING_OPTIONS, where
    for path, name in imported(SOURCES):
        assert name.split(".")[0] not in RUNNING_MODULES, (path, name)


def test_dotted_paths_are_loaded_where_settings_are_read() -> None:
    for path, node in nodes(SOURCES):
        if isinstance(node, ast.Name) and node.id in {"import_module", "load_object"}:
            name = path.relative_to(ROOT).with_suffix("").as_posix()
            assert name.removeprefix("dedup/") in LOADERS, (path, node.lineno)


def test_dedup_has_nothing_to_fetch_with() -> None:
    for path, name in imported(MODULES):
        assert name not in FETCHING_MODULES, (path, name)
        assert name.split(".")[0] not in FETCHING_MODULES, (path, name)


MARK = "zq'\"); DROP TABLE pages; --\x00"


def test_no_statement_has_a_word_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Listening(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            said.append(statement)
            return super().execute(statement, *values)

        def executemany(self, statement: str, *values: Any) -> sqlite3.Cursor:
            said.append(statement)
            return super().executemany(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Listening))
    config = DedupConfig(scope="host")
    html = f'<link rel=canonical href="http://{MARK}/"><title>{MARK}</title><p>{MARK} {text(1)}</p>'
    with SQLiteIndex(tmp_path / "pages.db") as index, Detector(index, config, spider=MARK) as detector:
        for number in range(3):
            detector.check(Page.from_html(html, url=f"http://{MARK}/{number}"))
        index.near(detector.fingerprint(Page.from_html(html)), max_distance=64, limit=9)
        assert {row.sighting.title for row in index.rows()} != {""}
        assert index.problems() == []
        index.ledger.forget(url=f"http://{MARK}/1")
    for command in (["report", "--all"], ["explain", f"http://{MARK}/2"], ["explain", MARK], ["rules"]):
        run(*command, tmp_path / "pages.db")
    for command in (["restore", f"http://{MARK}/2"], ["restore", "--list", "dropped"], ["check"]):
        run(*command, tmp_path / "pages.db")
    assert len(said) > 40
    assert not [statement for statement in said if "zq" in statement or "DROP" in statement]


def test_judging_asks_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("dedup connects to something")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    html = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://127.0.0.1/xhtml.dtd" '
        '[<!ENTITY e SYSTEM "http://127.0.0.1/e">]><base href="http://127.0.0.1/">'
        f'<link rel=stylesheet href="http://127.0.0.1/s"><img src="//127.0.0.1/i">&e;<p>{text(1)}'
    )
    config = DedupConfig(scope="domain")
    with SQLiteIndex(tmp_path / "pages.db") as index, Detector(index, config) as detector:
        kept = detector.check(Page.from_html(html, url="http://www.example.co.uk/"))
    assert kept.kept


def test_an_entity_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish")
    for kind in ("file://", ""):
        page = Page.from_html(
            f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM "{kind}{secret}">]><p>&e; {text(1)}'
        )
        assert "swordfish" not in page.text
