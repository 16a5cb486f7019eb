"""The soak's pages: the truth that is planned is the one that is generated, and found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.soak.__main__ import main


@pytest.mark.slow
def test_a_small_soak_finds_the_truth(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(tmp_path / "soak"), "--pages", "600", "--every", "40"])
    assert done.exit_code == 0, done.output
    assert "exactly the pages that the index says were kept" in done.output
    assert "pages.db is sound" in done.output
