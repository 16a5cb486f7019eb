"""``dedup explain``: what became of a page and why; words for people, bits for programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import Given, is_file, is_index, opened, settings_for, settings_of
from dedup.cli.output import console, place, print_json, row_record, url_text
from dedup.files.finding import format_of
from dedup.files.formats import MAX_RECORD
from dedup.index import Index, Row, Run
from dedup.index.database import is_database
from dedup.index.notes import left_out
from dedup.model.errors import DedupError
from dedup.model.fingerprint import Fingerprint
from dedup.model.limits import EXCESSES
from dedup.model.printable import moment, printable
from dedup.model.row import NoSuchRow
from dedup.model.verdict import Match, Outcome
from dedup.prints.config import DedupConfig
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.page import Page
from dedup.report.diff import Compared, compared
from dedup.report.explanation import (
    Explanation,
    differing,
    kept_sentence,
    told_fields,
    verdict_sentence,
)
from dedup.report.explanation import explain as explained
from dedup.report.losses import stored_pages
from dedup.rule.keys import STRUCTURE_MAX_DISTANCE, nearness
from dedup.rule.loss import loses, words_of
from dedup.rule.match import NO_CANDIDATE, match

NO_COPY = 3  # the exit code if OTHER is no copy
_MOST_ROWS = 10
_MOST_NEAR = 20
_PARTS = 20  # of a text that are lost
_LONGEST_PART = 1_000  # characters of each
_HOW_TO_GET_PAGES = (
    "Words are shown for files that are there unchanged, and for pages that the index keeps: its first "
    "500, or all (crawl with DEDUP_STORE_PAGES = True)."
)
_URL = re.compile(r"\w+://\S+")
# What is no text to look for, but the name of a file.
_PATH = re.compile(r"\S*/\S*|\S+\.(?:html?|txt)", re.IGNORECASE)


def explain(*, what: str, other: str | None, index: str | None, settings: Given, as_json: bool) -> None:
    """Say what became of a page and why, what is near it, or how *other* stands to it."""
    if index is None and other is not None and is_index(other):
        index, other = other, None
    if other is not None:
        _compare((what, other), index, settings, as_json=as_json)
        return
    with opened(index, settings) as there:
        config = settings_for(there, settings).config
        rows = _rows_at(there, what) if _URL.fullmatch(what) else _history(there, what)
        shown, newest = rows[-_MOST_ROWS:], _newest(rows) if rows else None
        page = newest.sighting.fingerprint if newest else _asked(there, what, config)
        is_kept = not any(_other(there, row) for row in shown)
        near = _near(there, page, newest.id if newest else None, config) if is_kept else []
        if as_json:
            records = [_row_record(there, row, config) for row in shown]
            found = [_near_record(*one, page) for one in near]
            if records and is_kept:
                records[-1]["near"] = found
            print_json(records or found)
            return
        screen = console()
        if len(rows) > len(shown):
            screen.print(Text(f"{len(rows):,} rows, the newest {len(shown):,} of them:\n"))
        for row in shown:
            _show_row(screen, there, row, config)
        if is_kept:
            _show_near(screen, near, page)


# What the index knows


def _history(index: Index, name: str) -> list[Row]:
    """Return the rows of a URL, or of a file by its path as for `dedup add`, the oldest first."""
    rows = index.history(name)
    return rows if rows or _URL.fullmatch(name) else index.history(Path(name).absolute().as_uri())


def _rows_at(index: Index, name: str) -> list[Row]:
    """Return the rows of *name*; `DedupError` if there is none."""
    if rows := _history(index, name):
        return rows
    raise DedupError(f"{printable(name)} is not in {index.name}")


def _newest(rows: list[Row]) -> Row:
    """Return the newest row, of those that are not forgotten if there are any."""
    return max(rows, key=lambda row: (row.outcome is not Outcome.FORGOTTEN, row.id))


def _other(index: Index, row: Row) -> Row | None:
    """Return the page that *row* repeats."""
    repeated = row.verdict.canonical or row.verdict.represents
    return None if repeated is None else index.row(repeated)


def _nearest(index: Index, row: Row) -> Row | None:
    """Return the page that was nearest to *row* when that was kept."""
    with suppress(NoSuchRow):
        return None if row.verdict.nearest is None else index.row(row.verdict.nearest)
    return None


def _verdict(index: Index, row: Row, config: DedupConfig) -> str:
    """Return what was decided about *row*, and why."""
    nearest = _nearest(index, row)
    return kept_sentence(row, nearest, config) if nearest else verdict_sentence(row, _run(index, row))


def _run(index: Index, row: Row) -> Run | None:
    return next((run for run in index.runs.all() if run.id == row.sighting.run), None)


def _now(index: Index, kept: Row, row: Row, config: DedupConfig) -> tuple[Explanation, Compared | None]:
    """Return how *row* stands to one that was *kept*, by today's settings, and their texts."""
    found = explained(kept.sighting.fingerprint, row.sighting.fingerprint, config, row)
    return found, _texts_of(_page_of_row(index, kept), _page_of_row(index, row))


def _show_row(screen: Console, index: Index, row: Row, config: DedupConfig) -> None:
    seen, run = row.sighting, _run(index, row)
    kept, nearest = _other(index, row), _nearest(index, row)
    other = kept or nearest
    now = _now(index, other, row, config) if other else None
    screen.print(Text.assemble((url_text(seen.url), "bold"), f"  {place(row)}"))
    if seen.title:
        screen.print(Text(f"  title    {printable(seen.title)}"))
    by = f" by spider {printable(run.spider)!r}" if run and run.spider else ""
    screen.print(Text(f"  seen     {moment(seen.time)} UTC{by}, as {printable(seen.kind)}"))
    verdict, texts, lost = _verdict(index, row, config), now and now[1], row.verdict.lost
    if kept and texts and (counted := texts.counted(verdict)) != verdict:
        is_estimate = lost is not None and lost != texts.lost
        exact = f" This is an exact count; the crawl had estimated {lost:,}." if is_estimate else ""
        verdict = counted + exact
    state = "" if row.outcome == "confirmed" else f", {row.outcome}"
    screen.print(Text(f"  verdict  {row.verdict.reason}{state}. {verdict}"))
    if gaps := left_out(index.store).get(seen.host):
        screen.print(Text(f"  left out {printable('; '.join(gaps))}, where the page has it"))
    if kept and kept.id != row.id:
        url = url_text(kept.sighting.url)
        screen.print(Text.assemble("  kept     ", (url, "bold"), f"  {place(kept)}"))
        if fields := told_fields(differing(kept, row)):
            screen.print(Text(f"  differs  {fields}"))
    if not kept and nearest:
        url = url_text(nearest.sighting.url)
        screen.print(Text.assemble("  nearest  ", (url, "bold"), f"  {place(nearest)}"))
    if now:
        _show_explanation(screen, now[0], now[1], has_reasons=kept is not None)
    screen.print()


def _row_record(index: Index, row: Row, config: DedupConfig) -> dict[str, Any]:
    record = row_record(row) | {"verdict": _verdict(index, row, config)}
    if other := _other(index, row) or _nearest(index, row):
        now, texts = _now(index, other, row, config)
        record |= {"now": now.record, **_lost_parts(texts)}
    return record


# How one page stands to another


def _texts_of(one: Page | None, other: Page | None) -> Compared | None:
    """Return the texts of two pages compared, None where one is missing."""
    return compared(one.text, other.text) if one and other else None


def _lost_parts(texts: Compared | None) -> dict[str, Any]:
    return {"lost_parts": texts.lost_parts} if texts else {}


def _show_explanation(
    screen: Console, explanation: Explanation, texts: Compared | None, *, has_reasons: bool = True
) -> None:
    """Print the words that are lost where the *texts* are at hand, and why."""
    if explanation.match.lost is not None:
        lost = loses(explanation.match.lost, explanation.words)
        screen.print(Text.assemble(("loses", "bold"), f"  {texts.counted(lost) if texts else lost}"))
    if texts:
        for line in _lost_lines(texts):
            screen.print(Text(f"  {line}", "red"))
    else:
        screen.print(Text(_HOW_TO_GET_PAGES))
    keys = {key.sentence for key in explanation.keys}
    for reason in explanation.reasons if has_reasons else ():
        if reason not in keys or explanation.match.finding == NO_CANDIDATE:
            screen.print(Text(f"  {texts.counted(reason) if texts else reason}"))


def _lost_lines(texts: Compared) -> Iterator[str]:
    """Yield what the second of two texts alone has, the first parts of it."""
    lost = texts.lost_parts
    yield from (f"{{+{printable(part, _LONGEST_PART)}+}}" for part in lost[:_PARTS])
    if len(lost) > _PARTS:
        yield f"and {len(lost) - _PARTS:,} more"


# What is near

_Near = list[tuple[Row, Match]]


def _asked(index: Index, what: str, config: DedupConfig) -> Fingerprint:
    """Return the fingerprint of a file, or of a text."""
    index.expect()
    if is_file(what):
        return fingerprint(_page_of_file(Path(what)), config)
    if _PATH.fullmatch(what):
        raise DedupError(f"{printable(what)}: no such file, nor a URL that the index knows")
    return fingerprint(Page.from_text(what), config)


def _near(index: Index, page: Fingerprint, own: int | None, config: DedupConfig) -> _Near:
    """Return the pages near *page* but the row that is its *own*, the nearest first."""
    most = _MOST_NEAR + 1
    near = index.near(page, max_distance=config.max_distance, limit=most)
    near += index.near(page, field="structure", max_distance=STRUCTURE_MAX_DISTANCE, limit=most)
    rows = {
        row.id: row for row in (*index.with_body(page.body_digest, most), *(one.row for one in near))
    }
    rows.pop(own or 0, None)
    order = sorted(rows.values(), key=lambda row: nearness(page, row.as_canonical()))
    return [(row, match(row.sighting.fingerprint, page, config)) for row in order[:_MOST_NEAR]]


def _show_near(screen: Console, near: _Near, page: Fingerprint) -> None:
    if not near:
        screen.print(Text("nothing else in the index is near it"))
        return
    screen.print(Text(f"content structure similarity  {'loses':<23}        near it", "bold"))
    for row, how in near:
        bits = (
            "-" if one is None else str(one) for one in (how.content_distance, how.structure_distance)
        )
        lost = "-" if how.lost is None else loses(how.lost, words_of(page))
        copy = "copy" if how.is_duplicate else ""
        where = f"{url_text(row.sighting.url)}  {place(row)}"
        measures = "{:>7} {:>9}".format(*bits)
        screen.print(Text(f"{measures} {how.similarity:>10.2f}  {lost:<23}  {copy:<4}  {where}"))


def _near_record(row: Row, how: Match, page: Fingerprint) -> dict[str, Any]:
    """Return a row, with how *page*, which was asked about, stands to it."""
    names = ("content_distance", "structure_distance", "similarity", "lost", "missing", "is_duplicate")
    measures = {name: getattr(how, name) for name in names}
    return row_record(row) | measures | {"asked_words": words_of(page)}


# Two pages


class _Side(NamedTuple):
    """One of two pages that are compared; *page* and *row* are None where there is none."""

    name: str
    fingerprint: Fingerprint
    page: Page | None
    row: Row | None = None


def _compare(names: tuple[str, str], name: str | None, given: Given, *, as_json: bool) -> None:
    if missing := [name for name in names if not (is_file(name) or _URL.fullmatch(name))]:
        raise DedupError(f"{printable(missing[0])}: no such file or URL")
    with ExitStack() as stack:
        index = None
        if name is not None or not all(map(is_file, names)):
            index = stack.enter_context(opened(name, given))
            config = settings_for(index, given).config
            if any(map(is_file, names)):
                index.expect()
        else:
            config = settings_of(dict(given)).config
        one, other = (_side(name, index, config) for name in names)
    repeats = one.row and other.row and other.row.verdict.canonical == one.row.id
    found = explained(one.fingerprint, other.fingerprint, config, other.row if repeats else None)
    texts = _texts_of(one.page, other.page)
    if as_json:
        print_json({"a": one.name, "b": other.name, **found.record, **_lost_parts(texts)})
    else:
        screen = console()
        for letter, side in (("A", one), ("B", other)):
            where = f"  {place(side.row)}" if side.row else ""
            screen.print(Text.assemble(f"{letter}  ", (url_text(side.name), "bold"), where))
        what = "B is a copy of A" if found.match.is_duplicate else "B is no copy of A"
        screen.print(Text(f"{what}: {found.match.reason}", "bold"))
        _show_explanation(screen, found, texts)
    if not found.match.is_duplicate:
        sys.exit(NO_COPY)


def _side(name: str, index: Index | None, config: DedupConfig) -> _Side:
    """Return the page in a file, or the newest of a URL in *index*."""
    if index is None or is_file(name):
        page = _page_of_file(Path(name))
        return _Side(name, fingerprint(page, config), page)
    row = _newest(_rows_at(index, name))
    return _Side(row.sighting.url, row.sighting.fingerprint, stored_pages(index)(row.id), row)


def _page_of_file(path: Path) -> Page:
    """Return the page in the file *path*: HTML by its name or its first character, else text.

    A warning goes to the standard error if it is over a limit.
    """
    if is_database(path):
        raise DedupError(f"{path} is a database; name a page first, and then the index")
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    is_html = format_of(path) == "html" or body.lstrip()[:1] == b"<"
    page = Page.from_html(body) if is_html else Page.from_text(body.decode("utf-8", "replace"))
    if page.excess:
        has = EXCESSES[page.excess]
        click.echo(f"{printable(str(path))} has {has}: only its bytes are compared", err=True)
    return page


def _page_of_row(index: Index, row: Row) -> Page | None:
    """Return the page of *row*: as the index keeps it, else from its file if that has the same bytes."""
    if page := stored_pages(index)(row.id):
        return page
    url = row.sighting.url
    try:
        parts = urlsplit(url)
        path = Path(os.fsdecode(unquote_to_bytes(parts.path)))
        is_here = parts.scheme == "file" and not parts.netloc and path.is_file()
        if not is_here or path.stat().st_size > MAX_RECORD:  # `dedup add` would not read it
            return None
        page = Page.from_html(path.read_bytes(), url=url)
    except (OSError, ValueError):  # what may not be read, an address that is none
        return None
    return page if page.body_digest == row.sighting.fingerprint.body_digest else None
