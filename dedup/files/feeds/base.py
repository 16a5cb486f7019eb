"""What every format does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage

# A record of more bytes than this is not judged: a file without line ends would fill the memory.
MAX_RECORD = 64 * 1024 * 1024


class FeedError(DedupError):
    """A file that cannot be read, or not beyond this place."""


class BadRecord(DedupError):  # noqa: N818 - it says what is the matter
    """One record that cannot be read; the next one can."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a feed.

    *name* says in messages where it is.  *source* is what a
    `Sink` writes, None where nothing whole can be written.  *payload* is what `Feed.raw_page` takes,
    None for what is no page or has a *problem*; *size* is its approximate number of bytes.  *names* are
    what others call it, *repeats* what it calls the record that it is nothing without.
    """

    name: str
    source: Any
    payload: Any = None
    size: int = 0
    problem: str = ""
    names: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()


class Sink(ABC):
    """An output in a feed's format; whole when it is closed."""

    @abstractmethod
    def write(self, source: Any) -> None:
        """Write the `Record.source` of a record; raises `FeedError` if it can no longer be read."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Feed(ABC):
    """The records of the file *path*; a second reading of the unchanged file yields the same ones."""

    form: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    """How the names of its files end, without ".gz"."""
    may_be_compressed: ClassVar[bool] = False
    """Whether files with ".gz" after that are read, too."""
    has_pages_only: ClassVar[bool] = True
    """Whether every record counts as a page, even when it is empty, or only those that hold a page."""

    def __init__(self, path: Path, rule: FieldRule) -> None:
        self.path = path
        self.rule = rule
        self.share = 0.0
        """The share (0 to 1) of the file that has been read."""

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    @property
    def files(self) -> list[str]:
        """The paths of all its files."""
        return [self.name]

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the records; raises `FeedError` where it cannot be read further."""

    @staticmethod
    @abstractmethod
    def raw_page(payload: Any, rule: FieldRule) -> RawPage | None:
        """Return the page that a record holds, None for none; raises `BadRecord`."""

    @abstractmethod
    def sink(self, path: Path, *, compressed: bool) -> Sink:
        """Open *path* for records of this feed and of others of the same `likeness`."""

    def likeness(self) -> object:
        """Return what must be equal in feeds that are written to one file; raises `FeedError`."""
        return None

    def check_columns(self, there: Sequence[str]) -> None:
        """Raise `FeedError` if a column that the rule names is not *there*, or none is."""
        missing = ", ".join(sorted(set(self.rule.text_fields) - set(there)))
        if missing or not there:
            raise FeedError(
                f"{self.name} has no column {missing or 'at all'}; it has {', '.join(there)}"
            )

    def named(self, place: int, unit: str = "line") -> str:
        """Return the name of a record in messages."""
        return f"{self.name}, {unit} {place:,}"
