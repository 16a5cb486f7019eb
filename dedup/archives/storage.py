"""Folders wherever Spark reads and writes, by Hadoop's file systems: here, s3a://, hdfs://."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dedup.values.errors import DedupError

# The end of the name of a file that is being written.
PART = ".part"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(path: str) -> bool:
    """Return whether *path* has a scheme, so that only Spark can open it.

    >>> is_remote("s3a://bucket/a.warc.gz"), is_remote("/data/a.warc.gz")
    (True, False)
    """
    return bool(_SCHEME.match(path))


@dataclass(frozen=True, slots=True)
class Stored:
    """A file: where it is, its bytes, and when it was changed, in milliseconds since 1970."""

    path: str
    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class Storage:
    """The file systems that *session*, one of Spark's, can reach."""

    session: Any

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""
        return bool(self._system(path).exists(self._place(path)))

    def files(self, path: str) -> Iterator[Stored]:
        """Yield the files in the folder *path* and inner ones, or the file itself, by name."""
        found = self._system(path).listFiles(self._place(path), True)
        files = []
        while found.hasNext():
            status = found.next()
            place = status.getPath().toString()
            files.append(Stored(place, status.getLen(), status.getModificationTime()))
        yield from sorted(files, key=lambda file: file.path)

    def names(self, path: str) -> list[str]:
        """Return the names in the folder *path*."""
        found = self._system(path).listStatus(self._place(path))
        return sorted(status.getPath().getName() for status in found)

    def read(self, path: str) -> str:
        """Return the text of a small file."""
        stream = self._system(path).open(self._place(path))
        try:
            text: str = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
            return text
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Write the small file *path*; killed, it leaves the old text, or the new one to `recover`."""
        system, part = self._system(path), self._place(f"{path}{PART}")
        stream = system.create(part, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        system.delete(self._place(path), False)
        self.recover(path)

    def recover(self, path: str) -> None:
        """End a `write` of *path* that was killed when all was written, and the old file deleted."""
        if not self._system(path).rename(self._place(f"{path}{PART}"), self._place(path)):
            raise DedupError(f"{path} cannot be written")

    def delete(self, path: str) -> None:
        """Delete a folder and all that is in it, or a file."""
        self._system(path).delete(self._place(path), True)

    @property
    def _jvm(self) -> Any:
        return self.session.sparkContext._jvm

    def _place(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _system(self, path: str) -> Any:
        configuration = self.session.sparkContext._jsc.hadoopConfiguration()
        system = self._place(path).getFileSystem(configuration)
        # Beside a file of this machine Hadoop would put one with its checksum.
        return system.getRawFileSystem() if system.getScheme() == "file" else system
