"""What untrusted text can reach: nothing that runs it, no statement that is made of it, no network."""

from __future__ import annotations

import ast
import re
import socket
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from tests.pages import text
from tests.test_architecture import MODULES, ROOT, imported

SOURCES = sorted(
    path for folder in ("dedup", "crawler", "settings") for path in (ROOT / folder).rglob("*.py")
)
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
    *("plugin/feeds", "cli/group", "plugin/__init__", "__init__"),
    *("native/__init__", "index/__init__"),  # by constant names
}
FETCHING_MODULES = {
    *("aiohttp", "ftplib", "httpx", "requests", "smtplib", "socket", "ssl", "telnetlib", "urllib3"),
    *("http.client", "urllib.request", "xmlrpc.client"),
}
# Shuts a connection of libpq's, and connects to nothing.
LISTENERS = {"dedup/index/stores/postgres/server"}
# All that statements are put together from beside constants: numbers, marks, names of columns.
PARTS_OF_STATEMENTS = {
    "TELLS_OF_SITE",
    "_REPEATED",
    "Reason.NEAR_DUPLICATE",
    "_ENTRY_BYTES",
    "next_generation(version)",
    "timeout",
    # Names of tables and columns, and what is declared of them in `columns` and `records`.
    *(
        "self.name",
        "self.unit",
        "SELECT_KEPT_TEXT",
        "where",
        "column",
        "field",
        "postings.field",
        "name",
        "_TABLES[kind].name",
        "', '.join(names)",
        "', '.join(self.fields)",
        "self.columns or ', '.join(self.fields)",
        "', '.join(_RUN)",
        "', '.join((f'{name} = ?' for name in _RUN))",
        "', '.join((sql for sql, _ in _JOINED))",
        "_GLANCE.sql",
        "changes",
        "_KINDS[kind].table.name",
        "self.selected",
        "self.table.name",
        "stored.order",
        "stored.select",
        "', '.join(key)",
        "does",
        "', '.join((f'{name} = ?' for name in _OF_RUN))",
        "_CANONICAL.sql",
        "SELECT_GLANCE",
        "table.select",
        "table.order",
        "found",
        "valid",
        "self.within[0]",
        "self.within[1]",
        "_listed(self.sizes)",
        "_listed(self.values)",
    ),
    # Conditions made of these, of marks and of numbers of runs.
    *(
        "of_run",
        "standing",
        "among",
        "text",
        "where",
        "' AND '.join(texts)",
        "only",
        "_ORDERS[order]",
        "order",
        "sign",
        "dry_runs_condition(self.pool.dry_runs)",
        "self._in_pool",
    ),
    # Numbers, marks and sizes.
    *(
        "', '.join('?' * len(_RUN))",
        "','.join('?' * len(batch))",
        "','.join('?' * len(rows))",
        "CHUNK * _ENTRY_BYTES",
        "_AROUND",
        "_SPAN",
        "application_id",
        "int(1000 * seconds)",
        "marks",
        "number",
        "others",
        "place",
        "pragma",
        "scope",
        "values",
        "version",
    ),
    # Of PostgreSQL: constants, numbers, marks, and names of our own tables and columns.
    *(
        "', '.join('?' * len(values))",
        "', '.join('?' * (len(values) - 1))",
        "', '.join('?' * 5)",
        "', '.join('?' * 6)",
        "', '.join('?' * 9)",
        "', '.join((f'p.{column.name}' for column in _ORDERED if column is not _OUTCOME))",
        "'|'.join(_NAMES)",
        "ASK_AGAIN",
        "COUNTS",
        "OTHER_EPOCH",
        "RUN_ENDED",
        "_CROWD",
        "_ENOUGH",
        "_EQUALS",
        "_FEW",
        "_ISOLATED",
        "_LOCKS",
        "_PLANNED",
        "_lists(_CROWD)",
        "_lists(_FEW + 1)",
        "_names(outcomes)",
        "_names(set(outcomes) - {Outcome.PENDING})",
        "_row_of('b.row')",
        "_row_of('f.number')",
        "chosen",
        "most",
        "KINDS[kind].table.name",
        "LOCK_CLASS",
        "MIN_EQUAL_TOKENS",
        "SELECT",
        "_BATCH",
        "_GLANCES",
        "_MAY_MATTER",
        "_ROWS",
        "_SIGN",
        "_TEXTS",
        "_WRITTEN",
        "limit",
        "assignments",
        "distance_to('p.' + column)",
        "distance_to(column)",
        "dry_runs_condition(pool.dry_runs)",
        "last_of('given.scope')",
        "last_of('s.id')",
        "lock",
        "other",
        "self._marks(values)",
        "self._server.lock_key",
        "table",
        "where[0]",
    ),
}
STATEMENT = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND|PRAGMA|VALUES|ORDER BY|LIMIT)\b")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


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
            assert name_of(path).removeprefix("dedup/") in LOADERS, (path, node.lineno)


def test_dedup_has_nothing_to_fetch_with() -> None:
    for path, name in imported(MODULES):
        if name == "socket" and name_of(path) in LISTENERS:
            continue
        assert name not in FETCHING_MODULES, (path, name)
        assert name.split(".")[0] not in FETCHING_MODULES, (path, name)


def test_statements_are_made_of_constants_and_marks() -> None:
    for path, node in nodes(sorted((ROOT / "dedup" / "index").rglob("*.py"))):
        if isinstance(node, ast.JoinedStr) and _is_statement(node):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    assert ast.unparse(part.value) in PARTS_OF_STATEMENTS, (path, node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr != "executescript", (path, node.lineno)
            assert node.func.attr != "format" or not _is_statement(node.func.value), (path, node.lineno)


def _is_statement(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and STATEMENT.search(part.value)
        for part in ast.walk(node)
    )


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
        index.views.near(detector.fingerprint(Page.from_html(html)), max_distance=64)
        assert {row.sighting.title for row in index.rows()} != {""}
        assert index.problems() == []
        index.ledger.forget_url(f"http://{MARK}/1")
    assert len(said) > 20
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
