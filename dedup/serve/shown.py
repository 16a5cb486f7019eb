"""How values of the index are written on a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from dedup.report.losses import loss
from dedup.report.sentences import moment, recorded, run_end
from dedup.report.side_by_side import one_line
from dedup.rule.loss import words_of
from dedup.values.printable import printable, printable_url
from dedup.values.simhashes import simhash_hex

_LONG = 300
_NONE = "–"


def link(url: str) -> str:
    """Return *url* if a person may follow it, else "": only the web, no script and no file."""
    try:
        return url if urlsplit(url).scheme in ("http", "https") and url.isprintable() else ""
    except ValueError:
        return ""


def share(part: int, whole: int) -> str:
    """Return *part* of *whole* in percent."""
    return f"{part / whole:.1%}" if whole else _NONE


def bits(distance: int | None) -> str:
    """Return a distance, or a dash where there is none."""
    return _NONE if distance is None else str(distance)


def similarity(value: float | None) -> str:
    """Return a similarity, or a dash where there is none."""
    return _NONE if value is None else f"{value:.2f}"


FILTERS: dict[str, Callable[..., Any]] = {
    "shown": lambda text: printable(text, _LONG),
    "url": lambda url: printable_url(url, _LONG),
    "text": one_line,
    "link": link,
    "when": partial(moment, timespec="seconds"),
    "ended": run_end,
    "share": share,
    "bits": bits,
    "similarity": similarity,
    "why": recorded,
    "loss": lambda row: loss(row) or _NONE,
    "words": lambda row: words_of(row.sighting.fingerprint),
    "spaced": lambda name: str(name).replace("_", " "),
    "hex": simhash_hex,
    "count": lambda number: f"{number:,}",
}
