"""Output: text of pages made safe, colours on a terminal only, JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dedup.index import Row
from dedup.rule.loss import words_of
from dedup.values.printable import printable_url

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_URL = 2000


def console() -> Console:
    """Return the standard output, which never takes a text for markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_json(value: object, indent: int | None = 2) -> None:
    """Print *value* as JSON in ASCII, on one line without *indent*."""
    # DEL is ASCII, and a terminal may act on it.
    click.echo(json.dumps(value, indent=indent).replace("\x7f", "\\u007f"))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is under way."""
    from rich.console import Console

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(f"{what} ..."):
        yield


def url_text(url: str) -> str:
    """Return a URL to show."""
    return printable_url(url, LONGEST_URL)


def place(row: Row) -> str:
    """Return where a row stands, for instance (row 3, run 1)."""
    return f"(row {row.id}, run {row.sighting.run})"


def row_record(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    seen, verdict = row.sighting, row.verdict
    return {
        "row": row.id,
        "url": seen.url,
        "item_key": seen.item_key,
        "title": seen.title,
        "run": seen.run,
        "time": seen.time,
        "kind": seen.kind,
        "scope": seen.scope,
        "reason": verdict.reason.value,
        "kept": verdict.kept,
        "outcome": row.outcome.value,
        "canonical_row": verdict.canonical,
        "canonical_url": verdict.canonical_url,
        "content_distance": verdict.content_distance,
        "structure_distance": verdict.structure_distance,
        "similarity": verdict.similarity,
        "lost": verdict.lost,
        "missing": verdict.missing,
        "words": words_of(seen.fingerprint),
        "tokens": seen.fingerprint.tokens,
    }
