"""A table of inverse document frequencies, counted in pages of the user's own.

The file has a line for each term, the term, a space and its idf, as jieba's own table has; the
setting `frequencies` takes it.  idf is 1 + ln((1 + documents) / (1 + documents with the term)),
so that a term on every page still weighs 1; terms that the table does not have weigh its median.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dedup.files.feeds import BadRecord, Feed, FeedError, Record, find_feeds
from dedup.files.feeds.finding import files_in, format_of
from dedup.reading.fields import FieldRule, NoHtml, RawPage
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.terms import terms_of
from dedup.values.errors import ConfigError, DedupError

_DEFAULT = DedupConfig()


def document_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files in *paths*, those inside of folders too, in the order of their names.

    Raises `ConfigError` for a folder that cannot be read.
    """
    troubles: list[str] = []
    files = [file for path in paths for file in (files_in(path, troubles) if path.is_dir() else [path])]
    if troubles:
        raise ConfigError(f"corpus must be files that can be read: {troubles[0]}")
    return files


def read_documents(path: Path) -> Iterator[str]:
    """Yield the text of each document in the file *path*.

    A file whose name tells a format of `dedup.files.feeds` has one page or item in each record, any
    other file is one plain text.  Raises `ConfigError` for a file that cannot be read.
    """
    try:
        if not format_of(path):
            yield path.read_text("utf-8", "replace")
            return
        for feed in find_feeds([path], FieldRule()).feeds:
            for record in feed.records():
                yield from _texts(feed, record)
    except (OSError, DedupError) as error:
        raise ConfigError(f"corpus ({str(path)!r}) must be a file that can be read: {error}") from error


def count_terms(texts: Iterable[str], config: DedupConfig = _DEFAULT) -> tuple[int, Counter[str]]:
    """Return the number of *texts*, and in how many of them each term of *config* stands."""
    documents = 0
    counts: Counter[str] = Counter()
    for text in texts:
        documents += 1
        counts.update(set(terms_of(text, config)))
    return documents, counts


def frequency_lines(documents: int, counts: Mapping[str, int], minimum: int = 2) -> Iterator[str]:
    """Yield the lines of the table: terms that stand in *minimum* documents or more, in their order.

    >>> list(frequency_lines(3, {"the": 3, "lamp": 1, "sea": 2}))
    ['sea 1.287682', 'the 1.000000']
    """
    for term in sorted(counts):
        if counts[term] >= minimum and term.isprintable():
            yield f"{term} {1 + math.log((1 + documents) / (1 + counts[term])):.6f}"


def _all_text(record: Mapping[str, Any], rule: FieldRule) -> str:
    """Return the texts of a record that is no page, without its URL, numbers and dates."""
    found: list[str] = []
    for name, value in record.items():
        if name != rule.url_field:
            found += [
                part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)
            ]
    return "\n".join(text for text in found if text)


def _texts(feed: Feed, record: Record) -> Iterator[str]:
    """Yield the text of *record*, "" where it holds none, and nothing where it is no page."""
    if record.problem:
        raise FeedError(f"{record.name} {record.problem}")
    if record.payload is not None:
        try:
            raw = feed.raw_page(record.payload, feed.rule)
        except NoHtml as error:
            raw = RawPage(text=_all_text(error.record, feed.rule))
        except BadRecord as error:
            raise FeedError(f"{record.name} {error}") from error
        if raw or feed.has_pages_only:
            yield Page.from_raw(raw or RawPage()).text
