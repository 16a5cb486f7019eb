"""Files of HTML, each of them a page: single ones, and those in folders."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dedup.files.feeds.base import MAX_RECORD, BadRecord, Feed, FeedError, Record, Sink
from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage

# An absolute path that stands in a URL as it is; `as_uri` takes twenty times longer to say so.
_IS_PLAIN = re.compile("/[A-Za-z0-9._~/-]*")


class HtmlFiles(Feed):
    """Pages in files; *entries* are the path of each, its path in an output folder, and its site.

    The URL of a page is that of its file, its site is the folder that was asked for.
    """

    form = "html"
    endings = (".html", ".htm", ".xhtml")

    def __init__(self, path: Path, rule: FieldRule, entries: list[tuple[str, str, str]]) -> None:
        super().__init__(path, rule)
        self.entries = entries

    @property
    def files(self) -> list[str]:
        """All its files."""
        return [path for path, _, _ in self.entries]

    def records(self) -> Iterator[Record]:
        """Yield the files; they are opened by `raw_page`."""
        for number, (path, relative, folder) in enumerate(self.entries, 1):
            self.share = number / len(self.entries)
            yield Record(path, (path, relative), (path, folder), size=_size_of(path))

    @staticmethod
    def raw_page(payload: tuple[str, str], rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        """Read the page."""
        path, site = payload
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size > MAX_RECORD:
                    raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
                html = file.read()
        except OSError as error:
            raise BadRecord(f"cannot be read: {error.strerror}") from error
        return RawPage(html=html, url=_url_of(path), seen_on=site)

    def likeness(self) -> object:
        """Raise `FeedError` for two files that would be the same one in the output."""
        seen: dict[str, str] = {}
        for path, relative, _ in self.entries:
            other = seen.setdefault(relative, path)
            if other != path:
                raise FeedError(f"{other} and {path} would both be {relative} in the output")
        return None

    def sink(self, path: Path, *, compressed: bool) -> Sink:  # noqa: ARG002
        """Make the folder *path* for copies of the files."""
        return _FolderSink(path)


def _url_of(path: str) -> str:
    if not os.path.isabs(path):
        path = os.path.join(os.getcwd(), path)
    return f"file://{path}" if _IS_PLAIN.fullmatch(path) else Path(path).as_uri()


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:  # which is reported when it is read
        return 0


class _FolderSink(Sink):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)

    def write(self, source: tuple[str, str]) -> None:
        path, relative = source
        try:
            open(path, "rb").close()
        except OSError as error:
            raise FeedError(f"{path} cannot be read: {error.strerror}") from error
        copy = self._folder / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(path, copy)
        except OSError as error:
            raise DedupError(f"{path} cannot be copied to {copy}: {error.strerror}") from error

    def close(self) -> None:
        """Do nothing: all is written."""
