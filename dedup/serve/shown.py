"""How values of the index are written on a page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from dedup.values.printable import printable
from dedup.values.simhashes import simhash_hex

_LONG = 300


def link(url: str) -> str:
    """Return *url* if a person may follow it, else "": only the web, no script and no file."""
    try:
        return url if urlsplit(url).scheme in ("http", "https") and url.isprintable() else ""
    except ValueError:
        return ""


def when(seconds: float) -> str:
    """Return a time in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def share(part: int, whole: int) -> str:
    """Return *part* of *whole* in percent."""
    return f"{part / whole:.1%}" if whole else "–"


def bits(distance: int | None) -> str:
    """Return a distance, or a dash where there is none."""
    return "–" if distance is None else str(distance)


def similarity(value: float | None) -> str:
    """Return a similarity, or a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def text(words: str) -> str:
    """Return a piece of a text on one line, with all that acts rather than shows escaped."""
    return printable(" ".join(words.split()), len(words))


FILTERS: dict[str, Callable[..., Any]] = {
    "shown": lambda text: printable(text, _LONG),
    "text": text,
    "link": link,
    "when": when,
    "share": share,
    "bits": bits,
    "similarity": similarity,
    "words": lambda name: str(name).replace("_", " "),
    "hex": simhash_hex,
    "count": lambda number: f"{number:,}",
}
