"""No command writes over what it reads, nor over any database, by whatever name it is given."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import Result

from dedup import SQLiteIndex
from dedup.model.errors import IndexUnavailable
from tests.support.commands import NAMES, command_named, run, small_index

# These write into a new folder of their own only: test_trying.py.
WRITING = [it for it in NAMES if any(one.name == "output" for one in command_named(it).params)]
WRITING.remove("try")
LOCK = f"-run-{'0' * 32}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_index(tmp_path_factory.mktemp("made") / "pages.db")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    shutil.copy(made, "pages.db")
    Path("feed.jsonl").write_text('{"html": "<p>some words of a page"}\n')
    Path("html").mkdir()
    Path("html/page.html").write_text("<p>some words of a page")
    with sqlite3.connect("other.jsonl") as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()
    for ending in ("-wal", "-shm", "-journal", LOCK):
        Path(f"pages.db{ending}").touch()
    Path("log").write_bytes(b"\x37\x7f\x06\x82" + bytes(28))
    for name in ("pages.db", "other.jsonl", "feed.jsonl"):
        Path(f"link to {name}").symlink_to(name)
        os.link(name, f"hard {name}")
    Path("link to html").symlink_to("html")
    Path("here").symlink_to(".")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def call(
    name: str, output: object, files: tuple[object, ...] = ("feed.jsonl",), index: str = "pages.db"
) -> Result:
    inputs = files if name == "add" else ()
    return run(name, *["--index", index][: 2 * bool(index)], *inputs, "--output", output)


def refused(done: Result) -> None:
    assert (done.exit_code, isinstance(done.exception, SystemExit)) == (1, True), done.output
    assert done.output.count("\n") == 1, done.output
    assert done.output.startswith("Error: "), done.output


@pytest.mark.parametrize(
    "output",
    ["pages.db", "link to pages.db", "hard pages.db", "here/pages.db", "html/../pages.db"]
    + ["other.jsonl", "link to other.jsonl", "hard other.jsonl", "log"]
    + [f"pages.db{ending}" for ending in ("-wal", "-shm", "-journal", LOCK)]
    + ["here/pages.db-wal", "link to pages.db-wal", "new.jsonl", "here/new.jsonl", "new.jsonl-wal"],
)
@pytest.mark.parametrize("name", WRITING)
def test_an_index_or_another_database_is_spared(folder: Path, name: str, output: str) -> None:
    before = contents(folder)
    # An index that is none yet, too.
    refused(call(name, output, index="new.jsonl" if "new" in output else "pages.db"))
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("files", "output"),
    [(["feed.jsonl"], output) for output in ("feed.jsonl", "link to feed.jsonl", "hard feed.jsonl")]
    + [(["link to feed.jsonl"], "feed.jsonl"), (["html", "feed.jsonl"], "here/feed.jsonl")]
    + [(["."], "feed.jsonl"), (["here"], "hard feed.jsonl"), (["link to html"], "html")]
    + [(["html"], f"{at}html{name}") for at in ("", "link to ") for name in ("", "/page.html")],
)
def test_an_input_is_spared(folder: Path, files: list[str], output: str) -> None:
    before, done = contents(folder), call("add", output, files=tuple(files), index="x.db")
    refused(done)
    assert "must be none of the input" in done.output
    Path("x.db").unlink(missing_ok=True)
    assert contents(folder) == before


@pytest.mark.parametrize("name", WRITING)
def test_that_of_a_project_is_spared(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    Path("scrapy.cfg").write_text("[settings]\ndefault = spared_settings\n")
    Path("spared_settings.py").write_text(f"DEDUP_INDEX = {str(folder / 'new.jsonl')!r}\n")
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "spared_settings")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    shutil.copy("pages.db", "new.jsonl")
    before = contents(folder)
    refused(call(name, "new.jsonl", index=""))
    assert contents(folder) == before


@pytest.mark.parametrize("name", WRITING)
def test_an_older_output_is_replaced(made: Path, name: str) -> None:
    for output in ("old.jsonl", "pages.db-run-1"):
        Path(output).write_text("old" * 9999)
        texts = []
        for written in (output, f"html/{output}"):
            shutil.copy(made, "pages.db")
            assert call(name, written).exit_code == 0
            texts.append(Path(written).read_text())
            assert "some words" in Path("feed.jsonl").read_text()
        assert texts[0] == texts[1]


def test_what_stands_beside_an_index_is_none(folder: Path) -> None:
    before = contents(folder)
    for ending in ("-wal", "-shm", "-journal", LOCK):
        with pytest.raises(IndexUnavailable, match="beside"):
            SQLiteIndex(f"pages.db{ending}")
    assert contents(folder) == before
