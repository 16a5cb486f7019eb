"""An index in memory is one of SQLite that is on no disk and that nobody else reaches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedup import Detector, MemoryIndex
from tests.pages import page, text


def test_it_is_on_no_disk_and_shares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryIndex() as one, MemoryIndex() as other, Detector(one) as detector:
        detector.check(page(text(1), "http://a/"))
        assert os.listdir(tmp_path) == []
        for name in (one.name, f"{one.name}-run-{'0' * 32}", "memory", ":memory:"):
            (tmp_path / name).write_text("of somebody else")
        one.runs.end_dead_runs()
        assert [run.ended for run in one.runs.all()] == [None], "its process lives"
        found = one.store.statistics()
        assert (found.rows, found.bytes, other.store.statistics().rows) == (1, 0, 0)
        assert (one.store.is_in_place, one.problems(), one.name) == (True, [], "the index in memory")
