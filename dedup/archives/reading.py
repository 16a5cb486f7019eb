"""Files to pages: the same records in the same order as `dedup add` reads them, with fixed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from dedup.archives.columns import (
    PRINTS,
    Batches,
    Row,
    batched,
    digest_of,
    fingerprint_columns,
    number_of,
    rows_of,
)
from dedup.files.adding.work import Sighted, Sighter, WorkerSettings
from dedup.files.feeds import Feed, FeedError, Record, find_feeds
from dedup.reading.fields import FieldRule, NoHtml, raw_page_of
from dedup.rule.keys import text_digest
from dedup.values.errors import DedupError
from dedup.values.sighting import Sighting

# A page's number is that of its file, and in the low bits that of its record there, both from 0.
RECORD_BITS = 40
FORMS = ("jsonl", "parquet", "warc")
_AT_ONCE = 64
_NOTHING = {
    **dict.fromkeys(PRINTS.names),
    **dict.fromkeys(("url", "title", "canonical_link", "item_key", "kind", "scope", "host"), ""),
    **dict.fromkeys(("group", "content", "structure", "tokens", "words", "shingles"), 0),
    **dict.fromkeys(("sketch", "body_digest", "token_digest", "sample", "traits"), b""),
}


def prints_of_files(batches: Iterable[pa.RecordBatch], settings: WorkerSettings) -> Batches:
    """Yield the fingerprints (`PRINTS`) of all records of files, rows of `FILES`.

    Records of a web archive that are no pages are left out.  A record that cannot be read has a
    *problem*, and so has a file that cannot be read to its end: in a row after its last record.
    """
    sighter = Sighter(settings)
    for file in rows_of(batches):
        with opened(file, settings.rule) as feed:
            yield from batched(_rows(file, feed, sighter), PRINTS)


def prints(batches: Iterable[pa.RecordBatch], settings: WorkerSettings) -> Batches:
    """Yield the fingerprints of records: rows with an `id`, and the fields that *settings* name.

    Verdicts go by the order of the ids, 0 to 2**63 - 1; no two are equal.
    """
    sighter = Sighter(settings)
    for batch in batches:
        records = batch.to_pylist()
        results = sighter.results(raw_page_of, records)
        rows = (_row(one["id"], result) for one, result in zip(records, results, strict=True))
        yield from batched(rows, PRINTS)


@contextmanager
def opened(file: Row, rule: FieldRule) -> Iterator[Feed]:
    """Give the feed of *file*; what came with its content is put into a file of this machine."""
    if file["content"] is None:
        yield _feed(Path(file["path"]), rule, file["form"])
        return
    with TemporaryDirectory(prefix="dedup-") as folder:
        copy = Path(folder, Path(file["path"]).name)
        copy.write_bytes(file["content"])
        yield _feed(copy, rule, file["form"])


def numbered(file: Row, feed: Feed) -> Iterator[tuple[int, Record]]:
    """Yield the records of *feed* with their numbers."""
    first = file["number"] << RECORD_BITS
    return ((first + place, record) for place, record in enumerate(feed.records()))


def _feed(path: Path, rule: FieldRule, form: str) -> Feed:
    return find_feeds([path], rule, form).feeds[0]


def _rows(file: Row, feed: Feed, sighter: Sighter) -> Iterator[Row]:
    place = (file["number"] << RECORD_BITS) - 1
    records = numbered(file, feed)
    try:
        while some := list(islice(records, _AT_ONCE)):
            results = sighter.results(feed.raw_page, [record.payload for _, record in some])
            for (place, record), result in zip(some, results, strict=True):
                if record.problem:
                    is_whole = record.source is not None
                    yield _unread(place, f"{record.name}: {record.problem}", is_page=is_whole)
                elif record.payload is not None and (result is not None or feed.has_pages_only):
                    yield _row(place, result, record.name)
    except FeedError as error:
        yield _unread(place + 1, str(error), is_page=None)


def _row(place: int, result: Any, name: str = "") -> Row:
    if isinstance(result, Sighted):
        return _printed(place, result.sighting.bounded())
    if isinstance(result, NoHtml):
        fields = ", ".join(result.record) or "none"
        result = f"is no page: {result} (its fields are {fields})"
    return _unread(place, f"{name or place}: {result}" if result else "", is_page=True)


def _unread(place: int, problem: str, *, is_page: bool | None) -> Row:
    """Return the row of a record that is not judged, see `PRINTS`."""
    return {**_NOTHING, "id": place, "is_page": is_page, "problem": problem}


def _printed(place: int, seen: Sighting) -> Row:
    page = seen.fingerprint
    group = number_of(seen.kind, seen.scope, seen.item_key)
    host = seen.host
    text = (b"tokens", text_digest(page)) if text_digest(page) else (b"bytes", page.body_digest)
    return {
        "id": place,
        "is_page": True,
        "problem": "",
        "url": seen.url,
        "title": seen.title,
        "canonical_link": seen.canonical_link,
        "item_key": seen.item_key,
        "seen_on": seen.seen_on,
        "kind": seen.kind,
        "scope": seen.scope,
        "group": group,
        "host": host,
        "same": None if page.is_empty else digest_of(str(group), host, *text),
        **fingerprint_columns(page),
    }


def require_form(feeds: Iterable[Feed]) -> str:
    """Return the format of all *feeds*; raises `DedupError` where there are several, or none."""
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        found = ", ".join(forms) or "no file"
        raise DedupError(f"the input must be files of one format ({', '.join(FORMS)}), it has {found}")
    if forms[0] not in FORMS:
        raise DedupError(f"files of {forms[0]} are not read on Spark; `dedup add` reads them")
    return forms[0]
