"""Anything may stand in the file of an index: who reads it gets an answer or one clear error."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Detector, SQLiteIndex
from dedup.model.errors import IndexMismatch, IndexUnavailable
from tests.support.budget import examples
from tests.support.commands import run, small_index, with_index
from tests.support.pages import edited, page

URL = "http://b.example/1"
READING = (
    *(("report",), ("report", "--format", "jsonl", "--all")),
    *(("report", "--format", "csv"), ("report", "--format", "html", "--output", "report.html")),
    *(("explain", URL), ("explain", URL, "http://a.example/1"), ("explain", "some words")),
    *(("restore", "--list", "dropped"), ("rules",), ("places",), ("check",)),
)
LAST = [("forget", "--run", "1"), ("forget", URL), ("restore", URL), ("forget", "--older-than", "0s")]
TABLES = ("pages", "runs", "scopes", "meta", "stored_pages")


@cache
def sound() -> bytes:
    return small_index(Path(mkdtemp(prefix="dedup-damage-"), "pages.db")).read_bytes()


@cache
def columns() -> dict[str, list[str]]:
    with copied() as path, closing(sqlite3.connect(path)) as connection:
        return {
            table: [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            for table in TABLES
        }


@contextmanager
def copied(content: bytes = b"") -> Iterator[Path]:
    with TemporaryDirectory(prefix="dedup-damage-") as folder:
        path = Path(folder, "pages.db")
        path.write_bytes(content or sound())
        yield path


def use(path: Path, commands: Sequence[Sequence[str]]) -> list[Result]:
    """Run *commands*, then judge pages; nothing but an answer or one error may come of it."""
    results = []
    for name, *rest in commands:
        values = [str(path.parent / word) if word.startswith("report.") else word for word in rest]
        results.append(run(*with_index([name, *values], path)))
    refused = suppress(IndexUnavailable, IndexMismatch)
    with refused, SQLiteIndex(path) as index, Detector(index) as detector:
        for number in range(4):
            with suppress(IndexUnavailable):
                detector.check(page(edited(number, 1), f"http://c.example/{number}"))
    return results


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("UPDATE runs SET started = 'then'", "report"),
        ("UPDATE runs SET ended = 1e300", "report --format jsonl --all"),
        ("UPDATE runs SET action = x'ff'", "report"),
        ("UPDATE pages SET outcome = 2", "report --format html --output report.html"),
        ("UPDATE pages SET body_digest = 'x'", f"explain {URL}"),
        ("UPDATE pages SET time = 1e300", f"explain {URL}"),
        ("UPDATE meta SET value = x'ff' WHERE name = 'recipe.recipe'", "explain some"),
        ("UPDATE meta SET name = 'recipe.rec' WHERE name = 'recipe.recipe'", "explain some"),
        # An error of SQLite that is no text
        ("UPDATE sqlite_master SET name = CAST(x'c5c5' AS TEXT), sql = 'x'", "report"),
    ],
)
def test_what_was_never_written_is_one_error(statement: str, command: str) -> None:
    with copied() as path:
        change(path, statement)
        (done,) = use(path, [command.split(" ")])
        assert done.exit_code == 1, done.output
        assert "the file is damaged" in done.output
        assert run("check", str(path)).exit_code == 1


@pytest.mark.parametrize("lock", ["'../../a'", "char(0)", "x'ff'", "''", "1"])
def test_a_run_whose_lock_has_no_name_is_over(lock: str) -> None:
    with copied() as path:
        change(path, f"UPDATE runs SET ended = NULL, lock = {lock} WHERE id = 1")
        (done,) = use(path, [("report",)])
        assert "UTC, died, news" in done.stdout


NUMBERS = [0, 1, -1, 2, 5, 17, 2**31, 2**62, 2**63 - 1, -(2**63), 1e300, 0.5, float("inf")]
TEXTS = ["", "a\0b", *"new forgotten 24x3 x 0x0 ../a http://[ { [] 24x99999999999".split()]
values: st.SearchStrategy[Any] = (
    st.none()
    | st.sampled_from([*NUMBERS, *TEXTS])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.binary(max_size=9)
    | st.binary(min_size=256, max_size=256)
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Any, ...]:
    """Return a statement that puts something into a column of some rows, and its values."""
    table = draw(st.sampled_from(TABLES))
    column, other = (draw(st.sampled_from(columns()[table])) for _ in range(2))
    where = "length(name) % 5 = ? % 5" if table == "meta" else "rowid % 3 = ? % 3"
    # Of another column as a tool would that guesses names.
    given, *found = draw(st.sampled_from([("?", draw(values)), (other,)]))
    statement = f"UPDATE OR IGNORE {table} SET {column} = {given} WHERE {where}"
    return statement, *found, draw(st.integers(0, 30))


def change(path: Path, statement: str, *parameters: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        with suppress(sqlite3.IntegrityError):  # NULL where none may be
            connection.execute(statement, parameters)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@given(st.lists(changes(), min_size=1, max_size=3), st.permutations(READING), st.sampled_from(LAST))
@settings(max_examples=examples(10))
def test_anything_in_a_row_is_an_answer_or_one_error(
    found: list[tuple[Any, ...]], commands: list[tuple[str, ...]], last: tuple[str, ...]
) -> None:
    with copied() as path:
        for statement in found:
            change(path, *statement)
        use(path, [*commands[:4], last])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=12),
    st.permutations(READING),
)
@settings(max_examples=examples(10))
def test_flipped_bits_are_one_error(flips: list[tuple[float, int]], commands: list[Any]) -> None:
    content = bytearray(sound())
    for share, bit in flips:
        content[int(share * len(content))] ^= 1 << bit
    with copied(bytes(content)) as path:
        use(path, commands[:4])
