"""The command line works where Scrapy is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawling import ROOT

MISSING = ("scrapy", "twisted")
TIDE = "The tide turns twice a day, and the harbour is dry at noon. " * 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of pages, and modules that cannot be imported in the place of Scrapy's."""
    for name in MISSING:
        stub = tmp_path / "missing" / f"{name}.py"
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f'raise ModuleNotFoundError("No module named {name}", name="{name}")\n')
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.html").write_text(f"<h1>Tides</h1><p>{TIDE}")
    (pages / "b.html").write_text(f"<h1>Tides!</h1><p>{TIDE}")
    (pages / "c.html").write_text("<h1>Lamps</h1><p>Oil lamps need a clean wick and a calm room.")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Run ``dedup``, whose worker processes find no Scrapy either; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", "from dedup.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder / 'missing'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_pages_are_added_reported_and_explained(folder: Path) -> None:
    added = run(folder, "add", "pages", "--index", "pages.db", "--jobs", "2")
    assert "3 items seen = " in added
    assert "1 dropped" in added
    reported = run(folder, "report", "pages.db")
    copy = (folder / "pages/b.html").as_uri()
    assert copy in reported
    explained = run(folder, "explain", copy, "pages.db")
    assert "near_duplicate" in explained
    assert run(folder, "check", "pages.db") == "pages.db is sound.\n"
