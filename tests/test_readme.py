from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.crawling import ROOT


def test_the_examples_of_the_readme_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert (result.failed, result.attempted > 3) == (0, True)
