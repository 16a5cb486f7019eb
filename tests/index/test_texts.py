from __future__ import annotations

from pathlib import Path

import pytest

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.files.adding import Adding, WorkerSettings
from dedup.files.finding import find_feeds
from dedup.index import Index, detector
from dedup.reading.fields import FieldRule
from tests.pages import page, text

FIRST = DedupConfig(store_first=5)


def stored(index: Index) -> list[int]:
    return [row.id for row in index.rows() if index.text_of(row) is not None]


def check(index: Index, config: DedupConfig, *seeds: int) -> None:
    with Detector(index, config) as detector:
        for seed in seeds:
            detector.check(page(text(seed), f"http://a/{seed}"))


def test_the_first_pages_of_a_file_have_texts_in_however_many_runs(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "a.db") as index:
        check(index, FIRST, 1, 2, 3)
        check(index, FIRST, 4, 5, 6, 7)
        assert stored(index) == [1, 2, 3, 4, 5]
        index.ledger.forget_url("http://a/2")
        assert stored(index) == [1, 3, 4, 5]
        check(index, FIRST, 8)
        assert stored(index) == [1, 3, 4, 5]
        check(index, DedupConfig(store_pages=True), 9)
        assert stored(index) == [1, 3, 4, 5, 9]


def test_they_take_no_more_than_their_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector, "MOST_BYTES", 1150)
    for run in (1, 2):
        with SQLiteIndex(tmp_path / "a.db") as index:
            check(index, DedupConfig(store_first=100), *range(10 * run, 10 * run + 5))
            sizes = [*map(len, index.store.all_pages())]
            assert 1150 - 2 * max(sizes) < sum(sizes) <= 1150
            assert max(stored(index)) <= 5


def test_a_memory_and_a_server_keep_none() -> None:
    index = MemoryIndex()
    check(index, FIRST, 1, 2)
    assert stored(index) == []


def test_pages_of_files_have_texts_too(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    for seed in range(8):
        (tmp_path / "html" / f"{seed}.html").write_text(f"<html><body><p>{text(seed)}</p></body></html>")
    with SQLiteIndex(tmp_path / "a.db") as index:
        inputs = find_feeds([tmp_path / "html"], FieldRule())
        for _ in Adding(index, inputs, WorkerSettings(config=FIRST)).work():
            pass
        assert stored(index) == [1, 2, 3, 4, 5]
