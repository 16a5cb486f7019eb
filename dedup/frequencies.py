"""A table of inverse document frequencies, counted in pages of the user's own.

The file has a line for each term, the term, a space and its idf, as jieba's own table has; the
setting `frequencies` takes it.  idf is 1 + ln((1 + documents) / (1 + documents with the term)),
so that a term on every page still weighs 1; terms that the table does not have weigh its median.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dedup.config import DedupConfig
from dedup.errors import ConfigError
from dedup.fields import FieldRule, content_of
from dedup.page import Page
from dedup.terms import terms_of

HTML = frozenset((".htm", ".html", ".xhtml"))
JSON_LINES = frozenset((".jl", ".jsonl", ".ndjson"))

_DEFAULT = DedupConfig()


def document_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files in *paths*, those inside of folders too, in the order of their names."""
    return [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if not file.is_dir()
    ]


def read_documents(path: Path) -> Iterator[str]:
    """Yield the text of each document in the file *path*.

    A file of HTML is one page, a file of JSON lines (`.jsonl`, `.jl`) has a page or item a line,
    any other file is one plain text.  Raises `ConfigError` for a file that cannot be read.
    """
    try:
        if path.suffix.lower() in JSON_LINES:
            for line in path.read_text("utf-8", "replace").splitlines():
                if line.strip():
                    yield _text_of_record(json.loads(line))
        elif path.suffix.lower() in HTML:
            yield Page.from_html(path.read_bytes()).text
        else:
            yield path.read_text("utf-8", "replace")
    except (OSError, ValueError, RecursionError) as error:
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


def _text_of_record(record: Any) -> str:
    found = content_of(record if isinstance(record, dict) else {"text": record}, FieldRule())
    if found is None:
        return ""
    return Page.from_html(found.html).text if found.html else found.text
