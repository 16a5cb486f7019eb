"""Outputs that cannot be written are one line, whatever command writes them."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from dedup import Detector, SQLiteIndex
from tests.support.commands import run
from tests.support.crawling import ROOT, python
from tests.support.pages import edited, page, text

WRITING = (("report",), ("report", "--format", "csv"), ("report", "--format", "html"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("page.txt").write_text("some words")
    with SQLiteIndex("pages.db") as index, Detector(index) as detector:
        detector.check(page(text(1), "http://a/1"))
        detector.check(page(edited(1), "http://a/2"))
    return tmp_path


@pytest.mark.parametrize("name", ["folder", "", "none/out", "page.txt/out", "o" * 300])
@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_what_cannot_be_written_is_one_line(folder: Path, command: tuple[str, ...], name: str) -> None:
    done = run(*command, "pages.db", "--output", name)
    assert done.exit_code == 1, done.exception
    assert isinstance(done.exception, SystemExit)
    assert "cannot be written: " in done.output
    assert sorted(path.name for path in folder.iterdir()) == ["folder", "page.txt", "pages.db"]


def test_a_name_may_be_of_any_bytes() -> None:
    index = os.fsdecode(b"\xff.db")
    Path("pages.db").rename(index)
    for number, command in enumerate(WRITING):
        output = os.fsdecode(b"%d\xff\x1b.out" % number)
        assert run(*command, index, "--output", output).exit_code == 0
        assert Path(output).exists()
    assert (run("merge", index, "other.db").exit_code, run("check", index).exit_code) == (0, 0)


def test_a_list_on_a_terminal_begins_in_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.cli.options.is_watched", lambda: True)
    done = run("restore", "--list", "dropped", "pages.db", color=True)
    assert done.output == "looking ...\r\x1b[Khttp://a/2\n1 dropped\n"


def test_nobody_is_asked_whether_to_forget_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("dedup.cli.manage.sys", terminal)
    assert "Forget 1 row of pages.db?" in run("forget", "http://a/1", "pages.db", input="n\n").output
    done = run("forget", "http://a/9", "pages.db")
    assert "nothing was seen at http://a/9" in done.output
    assert "Forget" not in done.output


@pytest.mark.parametrize(("value", "is_plain"), [("1", True), ("", False)])
@pytest.mark.parametrize("command", [["explain", "page.txt", "page.txt"], ["report", "pages.db"]])
def test_colours_where_they_are_wanted(command: list[str], value: str, is_plain: bool) -> None:
    assert ("\x1b" not in run(*command, env={"NO_COLOR": value}, color=True).output) == is_plain


def test_a_package_of_strangers_in_its_place_is_told_in_one_line(tmp_path: Path) -> None:
    package = tmp_path / "dedup"
    package.mkdir()
    for part in (ROOT / "dedup").iterdir():
        if part.name != "__init__.py":
            (package / part.name).symlink_to(part)
    (package / "__init__.py").write_text("def main(): ...\n")
    done = python("-c", "from dedup.cli import main; main()", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "another package named dedup" in done.stderr
