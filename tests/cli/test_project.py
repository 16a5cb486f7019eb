"""Scrapy is asked for the settings of a project only where there is one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.utils.project import inside_project

from dedup.cli import options

PAGE = "<p>The tide turns twice a day, and the harbour is dry at noon."


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


def test_outside_of_a_project_scrapy_is_not_even_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    (tmp_path / "page.html").write_text(PAGE)
    command = ["add", "page.html", "--index", "pages.db", "--jobs", "1"]
    code = (
        "import sys; from dedup.cli import main; "
        f"main({command}, standalone_mode=False); assert 'scrapy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
