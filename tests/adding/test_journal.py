from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup import MemoryIndex
from dedup.files.adding.adding import DROPPED, KEPT, UNREAD, Entry, Journal
from dedup.files.feeds import START, Feed, find_feeds
from dedup.index import Index
from dedup.reading.fields import FieldRule
from dedup.values.errors import DedupError
from tests.feeds import formats

ENTRIES = [
    Entry(0, (120, 3), KEPT + DROPPED + UNREAD, {"seen": 3, "kept": 2}),
    Entry(0, START, "", {}, ends=True),
    Entry(1, (9, 1), KEPT, {"seen": 1, "over_limit/bytes": 1}, ends=True),
]


@pytest.fixture
def index() -> Index:
    return MemoryIndex()


@pytest.fixture
def feeds(tmp_path: Path) -> list[Feed]:
    for name in ("a", "b"):
        formats.jsonl(tmp_path / f"{name}.jsonl", [("http://a/", "<body>sea")])
    return find_feeds([tmp_path], FieldRule()).feeds


def written(index: Index, feeds: list[Feed]) -> int:
    run = index.begin_run(job="job").id
    journal = Journal(index, run, "choices", feeds)
    for number, entry in enumerate(ENTRIES, 1):
        journal.write(number, entry)
    return run


def test_what_was_written_is_read_again(index: Index, feeds: list[Feed]) -> None:
    run = written(index, feeds)
    again = Journal(index, run, "choices", feeds)
    assert again.entries == ENTRIES
    again.end()
    assert Journal(index, run, "choices", feeds).entries == []


def test_other_choices_are_refused(index: Index, feeds: list[Feed]) -> None:
    run = written(index, feeds)
    with pytest.raises(DedupError, match=f"the choices are not those of run {run}, .*dedup forget"):
        Journal(index, run, "other choices", feeds)


def test_other_files_are_refused(index: Index, feeds: list[Feed]) -> None:
    run = written(index, feeds)
    with pytest.raises(DedupError, match="the files are not those of run"):
        Journal(index, run, "choices", feeds[:1])
    with feeds[0].path.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(DedupError, match="the files are not those of run"):
        Journal(index, run, "choices", feeds)
    feeds[0].path.unlink()  # which is refused here, and reported where it is read
    with pytest.raises(DedupError, match="the files are not those of run"):
        Journal(index, run, "choices", feeds)


@pytest.mark.parametrize(
    ("number", "damaged", "what"),
    [
        (0, "", "Expecting value"),
        (0, "[]", "its first entry is invalid"),
        (0, '{"choices": "choices"}', "its first entry is invalid"),
        (1, "[" * 100_000, ""),
        (1, "{}", "an entry is invalid"),
        (1, {"feed": -1}, "an entry is invalid"),
        (1, {"feed": "0"}, "an entry is invalid"),
        (1, {"after": [1]}, "an entry is invalid"),
        (1, {"after": [1, -1]}, "an entry is invalid"),
        (1, {"fates": "012"}, "an entry is invalid"),
        (1, {"counts": {"seen": "3"}}, "an entry is invalid"),
        (1, {"ends": 1}, "an entry is invalid"),
    ],
)
def test_a_damaged_journal_is_refused(
    index: Index, feeds: list[Feed], number: int, damaged: str | dict[str, object], what: str
) -> None:
    run = written(index, feeds)
    if isinstance(damaged, dict):
        damaged = json.dumps(json.loads(index.book.journal(run)[number]) | damaged)
    index.book.extend_journal(run, number, damaged)
    with pytest.raises(DedupError, match=rf"the journal of run {run}, .* is damaged \({what}"):
        Journal(index, run, "choices", feeds)
