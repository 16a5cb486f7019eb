"""Files of records that a kill or a full disk has cut, and that others are appended to."""

from __future__ import annotations

import codecs
import json
from mmap import ACCESS_READ, mmap
from pathlib import Path


def end_torn_line(path: Path, *, encoding: str, is_json: bool, has_quotes: bool) -> str:
    """End the last line of the file at *path*, so that what is appended begins another; say how.

    With *is_json*, half an object is cut off, because readers fail at it.  Whatever else stands there
    stays, but for half a character.  With *has_quotes*, as in CSV, ends of lines may be in quotes, and
    what is open is closed.  Returns "" where nothing was to be done.  Raises `OSError`.
    """
    if not _is_like_ascii(encoding) or not path.is_file() or not path.stat().st_size:
        return ""
    with path.open("r+b") as file:
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            is_open = has_quotes and _count(data, b'"') % 2 == 1
            if data[-1:] == b"\n" and not is_open:
                return ""
            size, begin = len(data), data.rfind(b"\n") + 1
            line = data[begin:]
        if is_json and line.startswith(b"{") and not _is_json(line, encoding):
            file.truncate(begin)
            return f"the {size - begin} bytes that were written of its last item are cut off"
        whole = size - _behind_last_character(line, encoding)
        file.truncate(whole)
        file.seek(whole)
        file.write(b'"\n' if is_open else b"\n")
    return "that line is ended, so that the next item begins another"


def _is_like_ascii(encoding: str) -> bool:
    try:
        return "\n{".encode(encoding) == b"\n{"
    except LookupError:  # which Scrapy tells
        return False


def _is_json(line: bytes, encoding: str) -> bool:
    try:
        json.loads(line.decode(encoding))
    except (ValueError, RecursionError):
        return False
    return True


def _count(data: mmap, byte: bytes, step: int = 1 << 24) -> int:
    return sum(data[begin : begin + step].count(byte) for begin in range(0, len(data), step))


def _behind_last_character(line: bytes, encoding: str) -> int:
    """Return how many bytes at the end of *line* are only a part of a character."""
    decoder = codecs.getincrementaldecoder(encoding)("ignore")
    decoder.decode(line)
    return len(decoder.getstate()[0])
