"""Archives of any size, deduplicated by the same rule as a crawl: the steps, from Arrow to Arrow.

    files -> prints -> buckets of pages with an equal band -> edges, by `match` -> what is dropped

A page is dropped only for an earlier one that is kept, and that the rule for two pages confirms.  What a
crawl learns of a site page by page is counted once, on pages that are kept whatever the rule says.  The
steps know no engine; `dedup.spark_job` has them run on Apache Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from dedup.algorithms.sketch import sketch_keys
from dedup.files.finding import find_feeds
from dedup.files.formats import Feed, FeedError, Record
from dedup.files.warc import chunks_of
from dedup.files.work import Sighted, Sighter, WorkerSettings
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.hashes import digest, mixed, signed, unsigned
from dedup.native._search import similarity
from dedup.prints.config import DedupConfig
from dedup.prints.samples import Sampled, places, sampled
from dedup.reading.fields import FieldRule, NoHtml
from dedup.rule.keys import BANDING, MAX_CANDIDATES, text_digest
from dedup.rule.match import match, sieve
from dedup.rule.similarity import MIN_SIMILARITY
from dedup.rule.site import Counted, Flags, is_common, told_by

Batches = Iterable[pa.RecordBatch]
Row = Mapping[str, Any]

# A page's number is that of its file, and in the low bits that of its record there, both from 0.
RECORD_BITS = 40
# By the rule, a page is compared with so many pages of a bucket: those whose sketches are most alike.
NEAREST = 16
# The first of a bucket: a page is certain to be kept if it is one of them in each of its buckets, and
# like none before it; and later ones are compared with them, whatever they repeat themselves.
FIRST = 64

NUMBER, TEXT, BYTES = pa.int64(), pa.string(), pa.binary()
_TYPES = {"int": NUMBER, "int | None": NUMBER, "bytes": BYTES}
_FINGERPRINT = {one.name: _TYPES[str(one.type)] for one in fields(Fingerprint) if one.compare}
# A file of the input: *content* is what it holds where a worker cannot open it by its *path*.
FILES = pa.schema({"number": NUMBER, "path": TEXT, "form": TEXT, "content": BYTES})
_PAGE = {
    "id": NUMBER,
    "host": TEXT,
    "keys": pa.list_(NUMBER),
    "page": pa.struct(list(_FINGERPRINT.items())),
}
# A record.  *problem* says why it cannot be read; *is_whole* is false where it is damaged, and null
# where its file ends early.  *same* is equal for pages of a host that have one fate, *keys* name the
# buckets that a page is in; both are null for what is not judged.
PRINTS = pa.schema(
    {**_PAGE, "is_whole": pa.bool_(), "is_page": pa.bool_(), "problem": TEXT, "url": TEXT, "same": BYTES}
)
NUMBERS = pa.schema({"id": NUMBER})
# What stands on pages of a host: hashes in order, and on how many of the pages each is.
CONTEXTS = pa.schema({"host": TEXT, "pages": NUMBER, "hashes": BYTES, "counts": BYTES})
# A page with what is known of its host: on how many *pages* there each stands that it tells its site.
MEMBERS = pa.schema({**_PAGE, "pages": NUMBER, "counts": BYTES})
# The page *b* may be dropped for *a*.
FOUND = {"similarity": pa.float64(), "lost": NUMBER, "missing": NUMBER}
EDGES = pa.schema({"a": NUMBER, "b": NUMBER, **FOUND})
RECORDS = pa.schema({"file": TEXT, "record": BYTES})


# Reading


def prints_of_files(batches: Batches, settings: WorkerSettings) -> Iterator[pa.RecordBatch]:
    """Yield `PRINTS` of all records of files, rows of `FILES`.

    Records of a web archive that are no pages are left out.  A file that cannot be read to its end has a
    *problem* in a row after its last record.
    """
    for file in rows_of(batches):
        with opened(file, settings.rule) as feed:
            yield from batched(_rows(file, feed, settings), PRINTS)


@contextmanager
def opened(file: Row, rule: FieldRule) -> Iterator[Feed]:
    """Give the feed of *file*; what came with its content is put into a file of this machine."""
    with TemporaryDirectory(prefix="dedup-") as folder:
        path = Path(file["path"])
        if file["content"] is not None:
            path = Path(folder, path.name)
            path.write_bytes(file["content"])
        yield find_feeds([path], rule, file["form"]).feeds[0]


def _numbered(file: Row, feed: Feed) -> Iterator[tuple[int, Record]]:
    return enumerate(feed.records(), file["number"] << RECORD_BITS)


def _rows(file: Row, feed: Feed, settings: WorkerSettings) -> Iterator[Row]:
    sighter = Sighter(settings)
    place = (file["number"] << RECORD_BITS) - 1
    records = _numbered(file, feed)
    try:
        while some := list(islice(records, 64)):
            results = sighter.results(feed.raw_page, [record.payload for _, record in some])
            for (place, record), result in zip(some, results, strict=True):
                if record.problem:
                    is_whole = record.source is not None
                    yield _unread(place, f"{record.name}: {record.problem}", is_whole=is_whole)
                elif record.payload is not None and (result is not None or feed.has_pages_only):
                    yield _row(place, result, record.name)
    except FeedError as error:
        yield _unread(place + 1, str(error), is_whole=None)


def _row(place: int, result: Any, name: str = "") -> Row:
    if isinstance(result, Sighted):
        return _printed(place, result.sighting.bounded())
    if isinstance(result, NoHtml):
        result = f"is no page: {result} (its fields are {', '.join(result.record) or 'none'})"
    return _unread(place, f"{name or place}: {result}" if result else "", is_whole=True)


def _unread(place: int, problem: str, *, is_whole: bool | None) -> Row:
    return {"id": place, "is_whole": is_whole, "is_page": False, "problem": problem, "url": ""}


def _printed(place: int, seen: Sighting) -> Row:
    page = seen.fingerprint
    group = repr((seen.kind, seen.scope, seen.item_key))
    # What the rule asks about; of a page of few words, all bytes.
    alike = replace(
        page, structure_simhash=0, body_digest=b"" if text_digest(page) else page.body_digest
    )
    return {
        **_unread(place, "", is_whole=True),
        "is_page": True,
        "url": seen.url,
        "host": seen.host,
        "same": None if page.is_empty else digest_of(group, seen.host, alike),
        "keys": None if page.is_empty else _keys(group, page),
        "page": {name: _turned(name, getattr(page, name), signed) for name in _FINGERPRINT},
    }


def _keys(group: str, page: Fingerprint) -> list[int]:
    """Return the buckets of *page*: of its bytes, its text and its bands, within its *group*."""
    told = [("bytes", page.body_digest), *([("text", text)] if (text := text_digest(page)) else ())]
    equal = [int.from_bytes(digest_of(group, *one)[:8], "little", signed=True) for one in told]
    mark = np.frombuffer(digest_of(group)[:8], "<u8")
    return [*equal, *mixed(sketch_keys(page.sketch, BANDING) ^ mark).view(np.int64).tolist()]


def digest_of(*parts: object) -> bytes:
    """Return 16 bytes that are equal for equal *parts*."""
    return digest(repr(parts).encode("utf-8", "surrogatepass"))


def _turned(name: str, value: Any, turn: Callable[[int], int]) -> Any:
    return turn(value) if name.endswith("simhash") else value


# Comparing


def unsure(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield what the rule may drop (`NUMBERS`) of pages in buckets: rows of `key`, `id`, `sketch`."""

    def found() -> Iterator[Row]:
        for _, bucket in groupby(rows_of(batches), key=lambda row: row["key"]):
            first: list[bytes] = []
            for row in bucket:
                if len(first) >= FIRST or _nearest(row["sketch"], first):
                    yield {"id": row["id"]}
                first += [row["sketch"]] * (len(first) < FIRST)

    return batched(found(), NUMBERS)


def _nearest(one: bytes, sketches: list[bytes]) -> list[int]:
    """Return the places of those *sketches* that are like *one*, the most similar first.

    Without a shingle these are all: only pages that are equal have a bucket in common then.
    """
    bound = MIN_SIMILARITY if any(one) else 0.0
    alike = [similarity(one, sketch) for sketch in sketches]
    near = [place for place, share in enumerate(alike) if share >= bound]
    return sorted(near, key=lambda place: -alike[place])


def context_of(pages: pa.Table) -> pa.Table:
    """Return the row of `CONTEXTS` for pages of one host (`host`, `sample`, `traits`), one or more."""
    rows = pages.to_pylist()
    told = [sampled(told_by(row["sample"], row["traits"])) for row in rows]
    hashes, counts = np.unique(np.concatenate(told), return_counts=True)
    counts = np.minimum(counts, 2**16 - 1).astype("<u2")
    row = {"host": rows[0]["host"], "pages": len(rows), "hashes": hashes.tobytes()}
    return table_of([{**row, "counts": counts.tobytes()}], CONTEXTS)


def members_of(pages: pa.Table, contexts: pa.Table) -> pa.Table:
    """Return *pages* of one host as `MEMBERS`, by the row of `CONTEXTS` of that host, or none."""
    known: Row = contexts.to_pylist()[0] if contexts.num_rows else {}
    hashes = np.frombuffer(known.get("hashes", b""), "<u4")
    counts = np.append(np.frombuffer(known.get("counts", b""), "<u2"), np.uint16(0))
    rows = []
    for row in pages.to_pylist():
        told = sampled(told_by(row["page"]["sample"], row["page"]["traits"]))
        on_how_many = counts[places(told, hashes)]  # the last is of what is nowhere
        rows.append({**row, "pages": known.get("pages", 0), "counts": on_how_many.tobytes()})
    return table_of(rows, MEMBERS)


class Member:
    """A page in a bucket: a row of `MEMBERS`."""

    def __init__(self, row: Row, config: DedupConfig) -> None:
        self.id, self.keys, self.pages = row["id"], frozenset(row["keys"]), row["pages"]
        page = row["page"].items()
        self.page = Fingerprint(**{name: _turned(name, one, unsigned) for name, one in page})
        self._counts, self._config = row["counts"], config

    @cached_property
    def _told(self) -> tuple[Sampled, Counted]:
        hashes = sampled(told_by(self.page.sample, self.page.traits))
        order = hashes.argsort(kind="stable")
        return hashes[order], np.frombuffer(self._counts, "<u2").astype(np.int64)[order]

    def on(self, hashes: Sampled) -> Counted:
        """Return on how many pages of its host each of *hashes* stands, 0 for what it has not itself."""
        own, counts = self._told
        return np.where((found := places(hashes, own)) >= 0, np.append(counts, 0)[found], 0)

    @cached_property
    def _may_repeat(self) -> Callable[[Fingerprint], bool]:
        return sieve(self.page, self._config, PairSite(self, self))

    def repeated(self, heads: Sequence[Member], key: int) -> Iterator[Row]:
        """Yield the edges to those of *heads*, earlier pages of the bucket *key*, that the page repeats.

        Two pages that have several buckets in common are compared in the first of these.
        """
        near = _nearest(self.page.sketch, [head.page.sketch for head in heads])
        here = (heads[place] for place in near if min(heads[place].keys & self.keys) == key)
        for kept in islice(here, NEAREST):
            if not self._may_repeat(kept.page):
                continue
            matched = match(kept.page, self.page, self._config, PairSite(self, kept))
            if matched.is_duplicate:
                found = {name: getattr(matched, name) for name in FOUND}
                yield {"a": kept.id, "b": self.id, **found}


class PairSite:
    """What is known of the site of *page* beside *kept*, see `dedup.rule.site.SiteContext`.

    It is asked only about what stands on one of the two.  Of another host it is not known how often
    what *kept* alone has stands on this one: that counts as its own, so that less is like it.
    """

    is_known = True

    def __init__(self, page: Member, kept: Member) -> None:
        self._page, self._kept, self.pages = page, kept, page.pages

    def on(self, sample: bytes) -> Counted:
        """See `SiteContext`."""
        return self._page.on(sampled(sample))

    def seen(self, told: bytes) -> Counted:
        """See `SiteContext`; copies that are dropped are not known here."""
        return self.on(told)

    def unknown(self, sample: bytes) -> Flags:
        """See `SiteContext`."""
        return np.logical_not(self.on(sample))

    def common(self, sample: bytes) -> Flags:
        """See `SiteContext`."""
        hashes, one, other = sampled(sample), self._page, self._kept
        flags: Flags = is_common(one.on(hashes), one.pages) | is_common(other.on(hashes), other.pages)
        return flags

    def beside(self, host: str) -> PairSite:  # noqa: ARG002
        """See `SiteContext`."""
        return self


def edges_of(batches: Batches, config: DedupConfig) -> Iterator[pa.RecordBatch]:
    """Yield the `EDGES` of pages in buckets: rows of `key` and `MEMBERS`, in the order of key and id.

    A page is compared with the first of its bucket, and then with those before it that repeat none
    there, `MAX_CANDIDATES` in all.
    """

    def found() -> Iterator[Row]:
        for key, bucket in groupby(rows_of(batches), key=lambda row: row["key"]):
            heads: list[Member] = []
            for member in (Member(row, config) for row in bucket):
                edges = list(member.repeated(heads, key))
                yield from edges
                if len(heads) < (MAX_CANDIDATES if not edges else FIRST):
                    heads.append(member)

    return batched(found(), EDGES)


def dropped_by(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the numbers of the pages that are dropped, by all edges (`a`, `b`) in the order of *b*.

    It holds a byte for each page in a block of 4,096 where one is dropped.
    """
    blocks: dict[int, bytearray] = defaultdict(lambda: bytearray(4096))

    def found() -> Iterator[Row]:
        for batch in batches:
            a, b = (batch.column(name).to_pylist() for name in "ab")
            for kept, page in zip(a, b, strict=True):
                # All edges to the earlier page came before: its fate is known.
                if (kept >> 12 in blocks and blocks[kept >> 12][kept & 4095]) or (
                    blocks[page >> 12][page & 4095]
                ):
                    continue
                blocks[page >> 12][page & 4095] = 1
                yield {"id": page}

    return batched(found(), NUMBERS)


# What was kept


def kept_rows(batches: Batches, rule: FieldRule, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Parquet files (`FILES` and `dropped`) that were not dropped, as *schema*."""
    for _, sources in _kept(batches, rule):
        for _, some in groupby(sources, key=lambda source: id(source[0])):
            taken = list(some)
            rows = taken[0][0].take(pa.array([index for _, index in taken]))
            yield from pa.Table.from_batches([rows]).cast(schema).to_batches()


def kept_records(batches: Batches, rule: FieldRule) -> Iterator[pa.RecordBatch]:
    """Yield the records (`RECORDS`) of files that were not dropped, byte by byte as they stand there."""
    for feed, sources in _kept(batches, rule):
        yield from batched(
            (
                {
                    "file": feed.name,
                    "record": one if isinstance(one, bytes) else b"".join(chunks_of(one)),
                }
                for one in sources
            ),
            RECORDS,
            64,
        )


def _kept(batches: Batches, rule: FieldRule) -> Iterator[tuple[Feed, Iterator[Any]]]:
    for file in rows_of(batches):
        with opened(file, rule) as feed:
            yield feed, _left(file, feed, set(file["dropped"] or ()))


def _left(file: Row, feed: Feed, gone: set[int]) -> Iterator[Any]:
    try:
        for place, record in _numbered(file, feed):
            if place not in gone and record.source is not None:
                yield record.source
    except FeedError:  # which its prints have told
        return


# Rows and batches


def rows_of(batches: Batches) -> Iterator[Row]:
    """Yield the rows of *batches*, a batch at a time in memory."""
    for batch in batches:
        yield from batch.to_pylist()


def batched(rows: Iterable[Row], schema: pa.Schema, size: int = 1000) -> Iterator[pa.RecordBatch]:
    """Yield *rows* in batches of *schema* with at most *size* rows (1 or more)."""
    left = iter(rows)
    while some := list(islice(left, size)):
        yield from table_of(some, schema).to_batches()


def table_of(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Return *rows* as a table of *schema*, null where they have no such column."""
    return pa.Table.from_pylist(rows, schema)
