"""The journal of a run: what became of each record, so that an interrupted pass goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dedup.files.feeds import Feed, Place
from dedup.index import Index
from dedup.values.errors import DedupError
from dedup.values.hashes import digest

# What became of a record: a letter in the journal.
DROPPED, KEPT, UNREAD = "0", "1", "?"


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch: the number of its *feed*, the fate of each record, and where it ended.

    An `UNREAD` record is kept too, if it can be written.
    """

    feed: int
    after: Place
    fates: str
    counts: dict[str, int]
    ends: bool = False


class Journal:
    """The journal of *run* in *index*; *entries* are those that stood in it when it was opened.

    *choices* is a digest of what the verdicts depend on.  Raises `DedupError` if the choices or the
    files of *feeds* have changed since the run began, or if the journal is damaged.
    """

    def __init__(self, index: Index, run: int, choices: str, feeds: Sequence[Feed]) -> None:
        self._index = index
        self._run = run
        self.entries: list[Entry] = []
        stamps = [(feed.form, _stamp_of(file)) for feed in feeds for file in feed.files]
        begun = {"choices": choices, "files": signature(stamps)}
        if texts := index.book.journal(run):
            self._read(texts, begun)
        else:
            index.book.extend_journal(run, 0, json.dumps(begun))

    def _read(self, texts: Sequence[str], begun: dict[str, str]) -> None:
        try:
            before = _begun(texts[0])
            self.entries += [_entry(text) for text in texts[1:]]
        except (ValueError, RecursionError) as error:
            raise DedupError(
                f"the journal of run {self._run}, which was interrupted and would continue, is damaged "
                f"({error}); `dedup forget --run {self._run}` undoes it, and then it starts again"
            ) from error
        for name, now in begun.items():
            if before[name] != now:
                raise DedupError(
                    f"the {name} are not those of run {self._run}, which was interrupted and would "
                    f"continue; `dedup forget --run {self._run}` undoes it, and then it starts again"
                )

    def write(self, number: int, entry: Entry) -> None:
        """Write *entry*, the one of that *number* from 1 on, in the transaction of its rows."""
        self._index.book.extend_journal(self._run, number, json.dumps(asdict(entry)))

    def end(self) -> None:
        """Delete it: the run need not go on."""
        self._index.book.end_journal(self._run)


def signature(value: object) -> str:
    """Return a digest of *value* as its `repr` shows it."""
    return digest(repr(value).encode("utf-8", "surrogateescape")).hex()


def _begun(text: str) -> dict[str, Any]:
    """Return the first entry of a journal; raises ValueError."""
    begun = json.loads(text)
    if not (isinstance(begun, dict) and {"choices", "files"} <= begun.keys()):
        raise ValueError("its first entry is invalid")
    return begun


def _entry(text: str) -> Entry:
    """Return an entry of a journal; raises ValueError."""
    match json.loads(text):
        case {
            "feed": int(feed),
            "after": [int(offset), int(number)],
            "fates": str(fates),
            "counts": dict(counts),
            "ends": bool(ends),
        } if (
            min(feed, offset, number) >= 0
            and set(fates) <= {DROPPED, KEPT, UNREAD}
            and all(isinstance(count, int) for count in counts.values())
        ):
            return Entry(feed, (offset, number), fates, counts, ends)
    raise ValueError("an entry is invalid")


def _stamp_of(file: str) -> tuple[str, int, int]:
    """Return what tells that *file* was changed, or removed."""
    name = os.path.join(os.getcwd(), file)
    try:
        stat = os.stat(file)
    except OSError:  # which is reported when it is read
        return (name, 0, 0)
    return (name, stat.st_size, stat.st_mtime_ns)
