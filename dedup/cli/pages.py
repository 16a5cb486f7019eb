"""Where the pages come from that commands compare: files, an index, the feed of a crawl."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from dedup.cli.output import bars
from dedup.files.feeds import BadRecord
from dedup.files.feeds.finding import format_of
from dedup.files.feeds.json_lines import JsonLines, object_in
from dedup.front.settings import DedupSettings
from dedup.index import Index, Row
from dedup.reading.fields import FieldRule, raw_page_of
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import fingerprint
from dedup.values.errors import DedupError
from dedup.values.fingerprint import Fingerprint
from dedup.values.limits import MAX_ATTRIBUTES, Excess
from dedup.values.printable import printable
from dedup.values.urls import url_key
from dedup.values.verdict import Outcome

_OVER = {
    Excess.BYTES: "is over DEDUP_MAX_BYTES",
    Excess.TEXT: "has text over DEDUP_MAX_BYTES",
    Excess.ATTRIBUTES: f"has a tag of more than {MAX_ATTRIBUTES:,} attributes",
}
HOW_TO_GET_PAGES = (
    "Hashes and tags are shown for pages that the index keeps (crawl with DEDUP_STORE_PAGES = True) "
    "or that a feed gives (--feed FILE)."
)

feed_option = click.option(
    "--feed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON Lines of a crawl (.gz or not) to take pages from that the index does not keep.",
)


limit_option = click.option(
    "--limit",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="So many words and runs of tags of each.",
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the pages that are compared: its *name*, its fingerprint, its page and row if there are."""

    name: str
    fingerprint: Fingerprint
    page: Page | None
    row: Row | None = None


class Pages:
    """The pages behind the rows of *index*, stored there or in the JSON Lines file *feed*.

    *keys* are the URLs, in canonical form, whose records of the feed are kept in memory.
    """

    def __init__(
        self, index: Index, settings: DedupSettings, feed: Path | None, keys: Collection[str]
    ) -> None:
        self._index = index
        self._config = settings.config
        self._of_feed = _pages_of_feed(feed, settings, keys) if feed else {}

    def page_of(self, row: Row) -> Page | None:
        """Return the page that *row* was judged by, None where neither index nor feed has it."""
        if stored := self._index.views.page_of(row):
            return stored
        for page in self._of_feed.get(row.sighting.url_key, ()):
            found = fingerprint(page, self._config)
            if found.token_digest == row.sighting.fingerprint.token_digest:
                return page
        return None

    def side(self, row: Row) -> Side:
        """Return *row* as one of two sides."""
        return Side(row.sighting.url, row.sighting.fingerprint, self.page_of(row), row)


def is_file(name: str) -> bool:
    """Return whether there is a file of that name."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a path, or not one
        return False


def page_of_file(path: Path, config: DedupConfig) -> Page:
    """Return the page in the file *path*: HTML by its name or its first character, else text.

    One that is over a limit of *config* is said on the standard error.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    if format_of(path) == "html" or body.lstrip()[:1] == b"<":
        page = Page.from_html(body, max_bytes=config.max_bytes)
    else:
        page = Page.from_text(body.decode("utf-8", "replace"), max_bytes=config.max_bytes)
    if page.excess:
        click.echo(f"{printable(str(path))} {_OVER[page.excess]}: only its bytes are compared", err=True)
    return page


def rows_at(index: Index, url: str) -> list[Row]:
    """Return the rows of *url*, the oldest first; `DedupError` with likely URLs if there is none."""
    if rows := index.views.history(url):
        return rows
    likely = " or ".join(printable(found) for found in index.views.similar_urls(url))
    hint = f"; did you mean {likely}" if likely else ""
    raise DedupError(f"{printable(url)} is not in {index.name}{hint}")


def newest(rows: Sequence[Row]) -> Row:
    """Return the newest row, of those that are not forgotten if there are any."""
    return max(rows, key=lambda row: (row.outcome is not Outcome.FORGOTTEN, row.id))


def _pages_of_feed(
    path: Path, settings: DedupSettings, keys: Collection[str]
) -> Mapping[str, Sequence[Page]]:
    # A crawl that judged responses may have written items that hold the same page in other fields.
    limit = settings.config.max_bytes
    rules = (settings.fields, FieldRule(url_field=settings.url_field))
    makers = [partial(_page_of_record, rule=rule, max_bytes=limit) for rule in rules]
    found: defaultdict[str, list[Page]] = defaultdict(list)
    passed: list[str] = []
    for name, record in _records(path, settings, passed):
        url = record.get(settings.url_field)
        if isinstance(url, str) and url_key(url) in keys:
            try:
                made = [make(record) for make in (settings.page_from_item, *makers) if make]
            except Exception as error:  # a user's function that knows the items only, not their records
                passed.append(f"{name} is none for DEDUP_PAGE_FROM_ITEM: {error!r}")
            else:
                found[url_key(url)] += [page for page in made if page]
    if passed:
        others = f" (and {len(passed) - 1:,} more such)" if passed[1:] else ""
        click.echo(f"passed over: {printable(passed[0])}{others}", err=True)
    return found


def _page_of_record(record: Mapping[str, Any], rule: FieldRule, max_bytes: int) -> Page | None:
    raw = raw_page_of(record, rule)
    return Page.from_raw(raw, max_bytes=max_bytes) if raw else None


def _records(
    path: Path, settings: DedupSettings, passed: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in the lines of a feed, with their names.

    A killed crawl may have left a line that is none: it is noted in *passed*.
    """
    feed = JsonLines(path, settings.fields)
    with bars() as shown:
        bar = shown.add_task("reading the feed", total=1)
        for record in feed.records():
            shown.update(bar, completed=feed.share)
            try:
                found = object_in(record.payload or b"")
            except BadRecord as error:
                passed.append(f"{record.name} {record.problem or error}")
            else:
                yield record.name, found
