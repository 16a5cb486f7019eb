from __future__ import annotations

from benchmarks.picture import drawing
from tests.crawling import ROOT


def test_the_picture_shows_what_the_code_does() -> None:
    assert drawing() == (ROOT / "docs/judging.svg").read_text("utf-8")
