"""Scrapy is asked for the settings of a project only where there is one."""

import os
import shutil
from pathlib import Path

import pytest
from scrapy.utils.project import inside_project

from dedup import Detector, Page, SQLiteIndex
from dedup.cli import options
from tests.support.commands import run
from tests.support.crawling import ROOT, python

PAGE = "<p>The tide turns twice a day, and the harbour is dry at noon."
TIDE = f"{PAGE} " + "The tide turns twice a day, and the harbour is dry at noon. " * 4


@pytest.mark.parametrize("place", ["", "project", "project/deep/down", "beside"])
@pytest.mark.parametrize("named", [False, True])
def test_a_project_is_where_scrapy_sees_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, named: bool
) -> None:
    for folder in ("project/deep/down", "beside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project/scrapy.cfg").touch()
    monkeypatch.chdir(tmp_path / place)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    if named:
        monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "email")  # any module
    assert options.is_inside_project() == inside_project()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with two indexes where its crawls put them; the second has a copy."""
    (tmp_path / "scrapy.cfg").touch()
    (tmp_path / ".scrapy").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "email")  # any module
    for name, count in (("dedup.db", 1), ("other.db", 2)):
        with SQLiteIndex(tmp_path / ".scrapy" / name) as index, Detector(index) as detector:
            for number in range(count):
                detector.check(Page.from_html(PAGE, url=f"http://a.example/{number}"))
    return tmp_path


def told(*arguments: str) -> tuple[int, str]:
    done = run(*arguments)
    return done.exit_code, done.output


@pytest.mark.parametrize("arguments", [["other.db"], [".scrapy/other.db"], ["-i", "other.db"]])
@pytest.mark.usefixtures("project")
def test_an_index_is_found_where_crawls_put_it(arguments: list[str]) -> None:
    assert told("report")[1].startswith("There are no copies.")
    code, output = told("report", *arguments)
    assert (code, output[:15]) == (0, "Nothing is lost")


@pytest.mark.usefixtures("project")
def test_a_setting_names_the_index_that_a_crawl_with_it_has() -> None:
    assert "row 2" in told("explain", "http://a.example/1", *("-s", "DEDUP_INDEX=other.db"))[1]
    assert "is not in" in told("explain", "http://a.example/1")[1]


def test_what_lies_here_comes_first(project: Path) -> None:
    shutil.copy(project / ".scrapy/dedup.db", "other.db")
    assert told("report", "other.db")[1].startswith("There are no copies.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["restore", "http://a.example/1"], "http://a.example/1 is not in"),
        (["restore", "http://a.example/0"], ": it was kept"),
        (["forget", "http://a.example/1"], "nothing was seen at http://a.example/1"),
        (["report", "--domain", "a.exampel"], "there is no page of a.exampel in"),
        (["try", "a.example", "-s", "DEDUP_MAX_LOST_WORD=1"], "did you mean DEDUP_MAX_LOST_WORDS?"),
        (["try", "a.example", "-s", "DEDUP_ACTION=drop"], "DEDUP_ACTION cannot be tried"),
    ],
)
@pytest.mark.usefixtures("project")
def test_an_unknown_name_is_an_error_with_a_way_out(arguments: list[str], sentence: str) -> None:
    code, output = told(*arguments)
    assert code != 0
    assert sentence in output


@pytest.mark.slow
def test_the_commands_work_where_scrapy_is_not_installed_and_nobody_asks_for_it(tmp_path: Path) -> None:
    for name in ("scrapy", "twisted"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})\n")
    for name, html in {"a": f"<h1>Tides</h1>{TIDE}", "b": f"<h1>Tides!</h1>{TIDE}", "c": "Oil"}.items():
        (tmp_path / "pages").mkdir(exist_ok=True)
        (tmp_path / f"pages/{name}.html").write_text(html)
    said = []
    for command in (
        *(["add", "pages", "--index", "x.db"], ["report", "x.db"]),
        *(["explain", (tmp_path / "pages/b.html").as_uri(), "x.db"], ["check", "x.db"]),
    ):
        chosen = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "SCRAPY_SETTINGS_MODULE": ""}
        done = python("-c", "from dedup.cli import main; main()", *command, cwd=tmp_path, **chosen)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert "1 dropped" in said[0]
    assert (tmp_path / "pages/b.html").as_uri() in said[1]
    assert "near_duplicate" in said[2]
    assert said[3] == "x.db is sound.\n"


def test_outside_of_one_scrapy_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    (tmp_path / "page.html").write_text(PAGE)
    command = ["add", "page.html", "--index", "pages.db"]
    code = (
        "import sys; from dedup.cli import main; "
        f"main({command}, standalone_mode=False); assert 'scrapy' not in sys.modules"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
