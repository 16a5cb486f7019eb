"""Any command with any arguments ends with an exit code of ours and never with a traceback."""

import os
import shutil
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click
import pytest
from click.types import StringParamType
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.budget import examples
from tests.support.commands import NAMES, command_named, run, small_index, with_index

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
        # Processes of their own would take seconds.
        st.just(["--jobs", "1"] if name == "add" else []),
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
