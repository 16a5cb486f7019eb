"""Whatever stands in the file of an index, and whatever a command is given: an answer, or one clear error."""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import chdir, closing, contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import click
import pytest
from click.testing import Result
from click.types import StringParamType
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Detector, SQLiteIndex
from dedup.model.errors import IndexMismatch, IndexUnavailable
from tests.support.budget import examples
from tests.support.commands import NAMES, command_named, run, small_index, with_index
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


# `try` starts a reactor, which a process can do once: tests/cli/test_trying.py.
# `report --serve` does not end by itself: tests/report.
ENDING = [name for name in NAMES if name != "try"]
FILES = ("pages.db", "page.html", "feed.jsonl", "table.csv", "other.db", "nothing", "folder", ".", "")
HOSTILE = (
    *"0 -1 1 3 99999999999999999999 1e400 nan inf 0x10 1_0 ٣ -- - -s ' 24x3 0x0 %s{0} // d".split(),
    *("9" * 5000, "a\nb", "\udcff", "\x1b[31m", "http://a.example/1", "http://[", "http://a.example:x/"),
    *"30d 0s 9999999999999w 2026-11-01 0001-01-01 9999-12-31T23:59:59+14:00".split(),
    *"text json csv html parquet DEDUP_MAX_LOST_WORDS=8 DEDUP_=1 DEDUP_INDEX=\udc80".split(),
    *"DEDUP_MAX_DISTANCE=-".split(),
)
# An argument holds no NUL, and of lone surrogates those that stand for bytes that are no UTF-8.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
words = (
    st.sampled_from(HOSTILE + FILES)
    | st.text(characters, max_size=12)
    | st.integers().map(str)
    | st.binary(max_size=5).map(lambda name: os.fsdecode(name.replace(b"\0", b"")))
)


@cache
def prepared() -> Path:
    folder = Path(mkdtemp(prefix="dedup-commands-"))
    (folder / "folder").mkdir()
    for index in ("pages.db", "other.db"):
        small_index(folder / index)
    for name, content in {
        "page.html": "<title>t</title><p>some words of a page",
        "feed.jsonl": '{"url": "http://a.example/1", "html": "<p>x"}\nbroken\n',
        "table.csv": "url,html\nhttp://a.example/1,<p>x\na\n",
    }.items():
        (folder / name).write_text(content)
    return folder


@contextmanager
def prepared_folder() -> Iterator[None]:
    """Make a folder with an index and some files the current one."""
    with TemporaryDirectory(prefix="dedup-commands-") as name, chdir(name):
        shutil.copytree(prepared(), name, dirs_exist_ok=True)
        yield


def values_of(param: click.Parameter) -> st.SearchStrategy[str]:
    """Return what *param* takes, mostly, and what it may not."""
    if isinstance(param.type, click.Choice):
        return st.sampled_from([str(choice) for choice in param.type.choices]) | words
    if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType):
        return st.integers(-1, 12).map(str) | st.integers(0, 3).map(str) | words
    if isinstance(param.type, click.Path) and param.type.exists:
        return st.sampled_from(["page.html", "feed.jsonl", "table.csv", "other.db", "folder"]) | words
    return words


def option_with(option: click.Option) -> st.SearchStrategy[list[str]]:
    names = st.sampled_from(option.opts)
    if option.is_flag:
        return names.map(lambda name: [name])
    return st.tuples(names, values_of(option)).map(list)


def joined(*parts: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.tuples(*parts).map(lambda found: [*chain.from_iterable(found)])


def calls(name: str) -> st.SearchStrategy[list[str]]:
    """Return command lines: an index, mostly, a few options, and as many arguments as there may be."""
    params = [one for one in command_named(name).params if one.name not in ("index", "is_served")]
    options = [one for one in params if isinstance(one, click.Option)]
    some = st.one_of(st.just([]), *map(option_with, options))
    needed = [values_of(one) for one in params if one.required and one not in options]
    index = with_index([name], "pages.db")[1:]
    return joined(
        st.just([name]),
        *(option_with(option) for option in options if option.required),
        *[some] * 2,
        *(values.map(lambda value: [value]) for values in needed),
        st.sampled_from([index] * 5 + [["nothing"], ["--index"], []]),
        st.sampled_from([[]] * 5 + [["--"], ["page.html"], ["--json"]]),
    )


@pytest.fixture(autouse=True)
def outside_of_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)


@given(st.sampled_from(ENDING).flatmap(calls))
@settings(max_examples=examples(200))
def test_any_command_ends_with_a_code_of_ours(arguments: list[str]) -> None:
    with prepared_folder():
        run(*arguments)


@given(st.lists(words | st.sampled_from(ENDING), max_size=3))
@settings(max_examples=examples(30))
def test_any_words_end_with_a_code_of_ours(arguments: list[str]) -> None:
    if "try" not in arguments:
        run(*arguments)


OF_TEXT = [
    (name, option.opts[-1])
    for name in ENDING
    for option in command_named(name).params
    if isinstance(option, click.Option)
    and (isinstance(option.type, StringParamType) or option.type.name == "text")
]


@pytest.mark.parametrize(("name", "option"), OF_TEXT)
def test_bytes_that_are_no_text_are_one_sentence(name: str, option: str) -> None:
    files = ["page.html"] if name == "add" else []
    with prepared_folder():
        done = run(*with_index([name, option, "\udc80", *files], "pages.db"))
    assert len(done.stderr.strip().splitlines()[-1:]) == (done.exit_code != 0)
    if option == "--spider":
        assert "must be text: it is no valid Unicode" in done.stderr
