"""An explanation and a diff, for a terminal and as JSON: words for people, bits for programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import click
from rich.console import Console
from rich.text import Text

from dedup.files.feeds.base import MAX_RECORD
from dedup.files.feeds.finding import format_of
from dedup.index import Index, Row
from dedup.index.files import is_database
from dedup.reading.page import Page
from dedup.report.explanation import Explanation
from dedup.report.side_by_side import SideBySide, side_by_side
from dedup.rule.keys import SimhashKey
from dedup.rule.loss import loses
from dedup.values.errors import DedupError
from dedup.values.hashes import simhash_hex
from dedup.values.limits import EXCESSES
from dedup.values.printable import printable
from dedup.values.verdict import Outcome

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
HOW_TO_GET_PAGES = (
    "Words are shown for files that are there unchanged, and for pages that the index keeps: its first "
    "500, or all (crawl with DEDUP_STORE_PAGES = True)."
)


def is_address(name: str) -> bool:
    """Return whether *name* can be the URL of a page: it has a scheme."""
    return _ADDRESS.match(name) is not None


def page_of_file(path: Path) -> Page:
    """Return the page in the file *path*: HTML by its name or its first character, else text.

    A warning goes to the standard error if it is over a limit.
    """
    if is_database(path):
        raise DedupError(f"{path} is a database; name a page first, and then the index")
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    if format_of(path) == "html" or body.lstrip()[:1] == b"<":
        page = Page.from_html(body)
    else:
        page = Page.from_text(body.decode("utf-8", "replace"))
    if page.excess:
        has = EXCESSES[page.excess]
        click.echo(f"{printable(str(path))} has {has}: only its bytes are compared", err=True)
    return page


def page_of_row(index: Index, row: Row) -> Page | None:
    """Return the page of *row*: as the index keeps it, else from its file if that has the same bytes."""
    if page := index.page_of(row):
        return page
    body, url = _bytes_at(row.sighting.url), row.sighting.url
    page = Page.from_html(body, url=url)
    return page if body and page.body_digest == row.sighting.fingerprint.body_digest else None


def _bytes_at(url: str) -> bytes:
    """Return the bytes of the file at *url*, b"" if there is none that `dedup add` would read."""
    try:
        parts = urlsplit(url)
        path = Path(os.fsdecode(unquote_to_bytes(parts.path)))
        is_here = parts.scheme == "file" and not parts.netloc and path.is_file()
        return path.read_bytes() if is_here and path.stat().st_size <= MAX_RECORD else b""
    except (OSError, ValueError):  # what may not be read, an address that is none
        return b""


def rows_at(index: Index, url: str) -> list[Row]:
    """Return the rows of *url*, the oldest first; `DedupError` if there is none.

    It may also be the path of a file, as it is given to `dedup add`.
    """
    if rows := index.history(url):
        return rows
    if not is_address(url) and (rows := index.history(Path(url).absolute().as_uri())):
        return rows
    raise DedupError(f"{printable(url)} is not in {index.name}")


def newest(rows: Sequence[Row]) -> Row:
    """Return the newest row, of those that are not forgotten if there are any."""
    return max(rows, key=lambda row: (row.outcome is not Outcome.FORGOTTEN, row.id))


_LONGEST_CHANGE = 1_000
# So many parts of a text that are lost are shown.
_PARTS = 20


Pages = tuple[Page | None, Page | None]


def texts_of(pages: Pages) -> SideBySide | None:
    """Return the texts of two pages side by side, None where one is missing."""
    one, other = pages
    return side_by_side(one.text, other.text) if one and other else None


def show_explanation(screen: Console, explanation: Explanation, pages: Pages) -> None:
    """Print the words that are lost where both *pages* are at hand, the first of them kept, and why."""
    texts = texts_of(pages)
    if explanation.match.lost is not None:
        lost = loses(explanation.match.lost, explanation.words)
        screen.print(Text.assemble(("loses", "bold"), f"  {texts.counted(lost) if texts else lost}"))
    if texts:
        for line in _lost_lines(texts):
            screen.print(Text(f"  {line}", "red"))
    else:
        screen.print(Text(HOW_TO_GET_PAGES))
    for reason in explanation.reasons:
        if reason not in explanation.keys.sentences:
            screen.print(Text(f"  {texts.counted(reason) if texts else reason}"))


def _lost_lines(texts: SideBySide) -> Iterator[str]:
    """Yield what the second of two texts alone has, the first parts of it."""
    lost = texts.lost_parts
    yield from (f"{{+{printable(part, _LONGEST_CHANGE)}+}}" for part in lost[:_PARTS])
    if len(lost) > _PARTS:
        yield f"and {len(lost) - _PARTS:,} more"


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON; simhashes are 16 hexadecimal digits."""
    matched, keys = explanation.match, explanation.keys
    return {
        "reason": matched.reason.value,
        "is_duplicate": matched.is_duplicate,
        "finding": matched.check.finding,
        "sentence": matched.sentence,
        "similarity": matched.similarity,
        "min_similarity": explanation.bounds.get("similarity"),
        "lost": matched.lost,
        "words": explanation.words,
        "max_lost_words": explanation.bounds.get("lost"),
        **{key.field: _key_record(key) for key in (keys.content, keys.structure)},
        "reasons": list(explanation.reasons),
    }


def _key_record(key: SimhashKey) -> dict[str, Any]:
    return {
        "canonical": simhash_hex(key.kept),
        "page": simhash_hex(key.page),
        "distance": key.distance,
        "max_distance": key.bound,
        "is_used": key.is_used,
        "is_within": key.is_met,
    }
