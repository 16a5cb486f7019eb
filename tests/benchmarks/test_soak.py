"""The soak's pages: the truth that is planned is the one that is generated, and found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.soak.__main__ import main


@pytest.mark.slow
def test_a_small_soak_finds_the_truth(tmp_path: Path) -> None:
    options = ["--pages", "600", "--every", "40", "--output", str(tmp_path / "docs")]
    done = CliRunner().invoke(main, [str(tmp_path / "soak"), *options])
    assert done.exit_code == 0, done.output
    assert "exactly the pages that the index says were kept" in done.output
    assert "pages.db is sound" in done.output
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "soak-memory.svg",
        "soak-speed.svg",
        "soak.csv",
        "soak.md",
    ]
