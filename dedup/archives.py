"""Archives: the rule in steps from table to table, and the job that has Spark run them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from dedup import native
from dedup.algorithms import sketch
from dedup.algorithms.bands import sketch_keys
from dedup.files.feeds import Feed, FeedError, Record, find_feeds
from dedup.files.feeds.finding import format_of
from dedup.files.work import Sighted, Sighter, WorkerSettings
from dedup.model.errors import ConfigError, DedupError
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.hashes import digest, mixed, signed, unsigned
from dedup.model.marks import NO_EXCEPTIONS
from dedup.model.verdict import Reason
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
    nothing = dict.fromkeys(PRINTS.names)
    return {
        **nothing,
        "id": place,
        "is_whole": is_whole,
        "is_page": False,
        "problem": problem,
        "url": "",
    }


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
    if compiled := native.search():
        alike = compiled.similarities(one, sketches)
    else:
        rows = np.frombuffer(b"".join(sketches), np.uint8).reshape(-1, sketch.BINS)
        alike = sketch.similarities(one, rows).tolist()
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
        yield from batched(({"file": feed.name, "record": _bytes(one)} for one in sources), RECORDS, 64)


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


def _bytes(source: tuple[Any, ...]) -> bytes:
    """Return the bytes of a line, or those of a file between two places."""
    if isinstance(source[0], bytes):
        return source[0]
    path, begin, end = source
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


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


Tell = Callable[[str, int, float], None]

FORMS = ("jsonl", "parquet", "warc")
WORK, OUTPUTS = "work", ("files", "kept", "verdicts")
# About so many pages of one host are counted, and so many told what is known, at a time.
MOST_PAGES, AT_ONCE = 20_000, 10_000
FEW_PROBLEMS = 20
HERE = "file:"  # what Spark says of files that a worker opens by itself
# The files of the input by their numbers; *settings* is a digest of what they are judged by.
_STAMP = {"length": NUMBER, "changed": NUMBER, "settings": TEXT}
LISTED = pa.schema({"number": NUMBER, "path": TEXT, "form": TEXT, **_STAMP})


def mapped(table: DataFrame, step: Callable[[Batches], Batches], schema: pa.Schema) -> DataFrame:
    """Return what *step* makes of *table*, as *schema*."""
    return table.mapInArrow(step, from_arrow_schema(schema))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that writes into *folder*; *tell* is called with name, rows and seconds of each stage."""

    session: SparkSession
    folder: str
    config: DedupConfig
    tell: Tell = lambda *_: None

    def stage(self, name: str, make: Callable[[], DataFrame], *, is_output: bool = False) -> DataFrame:
        """Return the table *name*: what an earlier start has written, or what *make* gives, written."""
        path = f"{self.folder}/{name if is_output else f'{WORK}/{name}'}"
        system, mark = place_of(self.session, f"{path}/_SUCCESS")
        if not system.exists(mark):
            begin = time.perf_counter()
            make().write.mode("overwrite").parquet(path)
            self.tell(name, self.session.read.parquet(path).count(), time.perf_counter() - begin)
        return self.session.read.parquet(path)

    def judged(self, pages: DataFrame) -> DataFrame:
        """Return which of *pages* (`PRINTS`) are dropped: *b* for *a*, as `EDGES`."""
        pages = pages.where("same IS NOT NULL")
        leader = pages.groupBy("same").agg(sql.min("id").alias("leader"))
        alike = pages.select("id", "same").join(leader, "same").where("id > leader")
        copies = self.stage("copies", lambda: alike.select("id", "leader"))
        leaders = pages.join(copies, "id", "left_anti")
        buckets = self.stage("buckets", lambda: crowded(leaders))
        members = self.stage("members", lambda: self._members(leaders, buckets))
        rows = _in_buckets(buckets.join(members, "id").select("key", *MEMBERS.names))
        edges = self.stage("edges", lambda: mapped(rows, partial(edges_of, config=self.config), EDGES))
        dropped = self.stage("dropped", lambda: _dropped(edges))
        return self.stage("decisions", lambda: _decisions(edges, dropped, copies))

    def _members(self, leaders: DataFrame, buckets: DataFrame) -> DataFrame:
        """Return the pages in *buckets* with what is known of their hosts."""
        sketches = buckets.join(leaders.select("id", "page.sketch"), "id").select("key", "id", "sketch")
        some = mapped(_in_buckets(sketches), unsure, NUMBERS).distinct()
        certain = leaders.join(some, "id", "left_anti")
        certain = certain.select("id", "host", "page.sample", "page.traits")
        hosts = certain.groupBy("host").agg(sql.count("*").alias("of"))
        # By lot, and the same ones on however many machines.
        lot = sql.pmod(sql.xxhash64("id"), sql.col("of")) < MOST_PAGES
        counted = certain.join(hosts, "host").where(lot)
        contexts = counted.groupBy("host").applyInArrow(context_of, from_arrow_schema(CONTEXTS))
        pages = leaders.join(buckets.select("id").distinct(), "id", "left_semi")
        pages = pages.select("id", "host", "keys", "page")
        sizes = pages.groupBy("host").agg(sql.ceil(sql.count("*") / AT_ONCE).alias("parts"))
        parted = pages.join(sizes, "host").withColumn("part", sql.pmod("id", "parts"))
        asked = sizes.select(sql.col("host").alias("at"), sql.col("parts").alias("of"))
        every = sql.explode(sql.sequence(sql.lit(0).cast("long"), sql.col("of") - 1))
        known = contexts.withColumnRenamed("host", "at").join(asked, "at").withColumn("slice", every)
        by_host = parted.groupBy("host", "part").cogroup(known.groupBy("at", "slice"))
        return by_host.applyInArrow(members_of, from_arrow_schema(MEMBERS))


def crowded(pages: DataFrame) -> DataFrame:
    """Return the buckets of *pages* (`PRINTS`) with two or more: rows of `key` and `id`."""
    buckets = pages.select(sql.explode("keys").alias("key"), "id")
    many = buckets.groupBy("key").agg(sql.count("*").alias("of")).where("of > 1")
    return buckets.join(many.select("key"), "key", "left_semi")


def _in_buckets(rows: DataFrame) -> DataFrame:
    return rows.repartition("key").sortWithinPartitions("key", "id")


def _dropped(edges: DataFrame) -> DataFrame:
    """Return the pages that are dropped: one task goes through all *edges*."""
    ordered = edges.select("a", "b").repartition(1).sortWithinPartitions("b", "a")
    return mapped(ordered, dropped_by, NUMBERS)


def _decisions(edges: DataFrame, dropped: DataFrame, copies: DataFrame) -> DataFrame:
    """Return the edge of each page that is dropped: that to the kept page with which least is lost."""
    kept = edges.join(dropped.withColumnRenamed("id", "a"), "a", "left_anti")
    order = sql.struct("lost", -sql.col("similarity"), "a")
    best = kept.groupBy("b").agg(sql.min_by(sql.struct(*EDGES.names), order).alias("best"))
    best = best.select("best.*")
    # A copy of a text has the fate of the first one, for which it is dropped if that is kept.
    of_first = copies.join(best.withColumnRenamed("b", "leader"), "leader", "left")
    whole = {"a": sql.col("leader"), "similarity": sql.lit(1.0), "lost": sql.lit(0).cast("long")}
    is_kept = sql.col("a").isNull()
    of_first = of_first.withColumn("b", sql.col("id")).withColumns(
        {name: sql.when(is_kept, value).otherwise(sql.col(name)) for name, value in whole.items()}
    )
    return best.unionByName(of_first.select(*EDGES.names))


def verdicts_of(prints: DataFrame, found: DataFrame) -> DataFrame:
    """Return the verdicts on all pages of *prints*, *found* being the decisions."""
    there = prints.select(
        sql.col("id").alias("a"),
        sql.col("url").alias("canonical_url"),
        sql.col("page.body_digest").alias("body"),
    )
    pages = prints.where("is_whole").join(found.withColumnRenamed("b", "id"), "id", "left")
    reason = (
        sql.when(sql.expr("body = page.body_digest"), Reason.EXACT_DUPLICATE.value)
        .when(sql.col("a").isNotNull(), Reason.NEAR_DUPLICATE.value)
        .when(sql.col("same").isNull(), Reason.NOT_JUDGED.value)
        .otherwise(Reason.NEW.value)
    )
    return pages.join(there, "a", "left").select(
        sql.shiftright("id", RECORD_BITS).alias("file"),
        _record("id").alias("record"),
        "url",
        sql.when(sql.col("a").isNull(), "kept").otherwise("dropped").alias("verdict"),
        reason.alias("reason"),
        "canonical_url",
        sql.shiftright("a", RECORD_BITS).alias("canonical_file"),
        _record("a").alias("canonical_record"),
        *FOUND,
        sql.col("page.words").alias("words"),
        "problem",
    )


def _record(name: str) -> Any:
    return sql.col(name).bitwiseAND((1 << RECORD_BITS) - 1)


def kept_of(files: DataFrame, found: DataFrame, settings: WorkerSettings) -> DataFrame:
    """Return the records of *files* that were not dropped."""
    number = sql.shiftright("b", RECORD_BITS).alias("number")
    gone = found.groupBy(number).agg(sql.collect_list("b").alias("dropped"))
    rows = files.join(gone, "number", "left")
    if not (first := files.where("form = 'parquet'").select("path").head(1)):
        return mapped(rows, partial(kept_records, rule=settings.rule), RECORDS)
    schema = to_arrow_schema(files.sparkSession.read.parquet(address(first[0][0])).schema)
    return mapped(rows, partial(kept_rows, rule=settings.rule, schema=schema), schema)


# A whole job


def place_of(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the file system of Hadoop that *path* is on, and its place there."""
    context: Any = session.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place


class Summary(NamedTuple):
    """What a job did: *unreadable* are files that end early, *few* the first of all problems."""

    pages: int
    dropped: int
    problems: int
    unreadable: int
    few: list[str]


def suited(config: DedupConfig) -> DedupConfig:
    """Return *config* so that bands find candidates; raises `ConfigError` for what needs an index."""
    if config.exceptions != NO_EXCEPTIONS:
        raise ConfigError("Spark judges without exceptions")
    return replace(config, by_bands=True)


def run_job(
    session: SparkSession,
    paths: Sequence[str],
    folder: str,
    settings: WorkerSettings,
    *,
    form: str = "",
    overwrite: bool = False,
    tell: Tell = lambda *_: None,
) -> Summary:
    """Judge the pages of *paths* and write everything into *folder*.

    What an interrupted job there has done is not done again.  Raises `DedupError`.
    """
    where = address(folder)
    found = found_files(session, [address(path) for path in paths], form)
    mark = digest_of(settings.config, settings.rule, settings.kind).hex()
    job = Job(session, where, settings.config, tell)
    _begin(session, where, overwrite=overwrite)
    table = table_of([{**row, "settings": mark} for row in found], LISTED)
    listed = job.stage("files", lambda: session.createDataFrame(table), is_output=True)
    if listed.orderBy("number").toArrow().to_pylist() != table.to_pylist():
        raise DedupError(f"{folder} has a job of other input or settings; --overwrite begins anew")
    files = files_of(listed)
    printed = partial(prints_of_files, settings=settings)
    prints = job.stage("prints", lambda: mapped(files, printed, PRINTS))
    _require_pages(prints)
    decisions = job.judged(prints)
    job.stage("kept", lambda: kept_of(files, decisions, settings), is_output=True)
    verdicts = job.stage("verdicts", lambda: verdicts_of(prints, decisions), is_output=True)
    summary = _summed(verdicts, prints)
    system, place = place_of(session, f"{where}/{WORK}")
    system.delete(place, True)
    return summary


def address(path: str) -> str:
    """Return *path* with a scheme: without one it is of this machine, and of every worker.

    >>> address("s3a://bucket/a.warc.gz"), address("/data/")
    ('s3a://bucket/a.warc.gz', 'file:///data')
    """
    return path.rstrip("/") if "://" in path else f"file://{Path(path).absolute()}"


def found_files(session: SparkSession, paths: Sequence[str], form: str) -> list[dict[str, Any]]:
    """Return the files behind *paths*, in the order of their names.

    Raises `DedupError` where there are none, or of several formats.
    """
    try:
        read = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(paths))
        changed = sql.unix_micros("modificationTime").alias("changed")
        rows = read.select("path", "length", changed).collect()
    except PySparkException as error:
        raise DedupError(f"the input cannot be read: {str(error).splitlines()[0]}") from error
    found = [{"form": form or format_of(row["path"]), **row.asDict()} for row in rows]
    found = sorted((row for row in found if row["form"]), key=lambda row: row["path"])
    forms = sorted({row["form"] for row in found})
    if len(forms) != 1 or forms[0] not in FORMS:
        raise DedupError(
            f"the input must be files of one format of {FORMS}, it has {forms or 'no file'}"
        )
    return [{"number": number, **row} for number, row in enumerate(found)]


def _begin(session: SparkSession, folder: str, *, overwrite: bool) -> None:
    """Make room for a job, or let an interrupted one go on.  Raises `DedupError`."""
    system, place = place_of(session, folder)
    found = system.listStatus(place) if system.exists(place) else ()
    names = {status.getPath().getName() for status in found}
    try:
        is_ours = session.read.parquet(f"{folder}/files").columns == LISTED.names
    except PySparkException:
        is_ours = False
    if names and not (is_ours and names <= {WORK, *OUTPUTS}):
        raise DedupError(f"{folder} is there already and is no output of `dedup spark`; name another")
    if overwrite:
        for name in names:
            system.delete(place.suffix(f"/{name}"), True)
    elif WORK not in names and names == set(OUTPUTS):
        raise DedupError(f"{folder} has a finished job already; --overwrite does it again")


def files_of(listed: DataFrame) -> DataFrame:
    """Return the files *listed* (`LISTED`) as `FILES`; each is a task of its own.

    What is not of this machine comes with its content: Spark reads it, at most 2 GB a file.
    """
    here = sql.col("path").startswith(HERE)
    names = [row["path"] for row in listed.where(~here).select("path").collect()]
    files = listed.withColumn("content", sql.lit(None).cast("binary"))
    if names:
        read = listed.sparkSession.read.format("binaryFile").load(names).select("path", "content")
        files = listed.join(read, "path", "left")
    files = files.withColumn("path", sql.regexp_replace("path", "^file:/+", "/"))
    return files.select(*FILES.names).repartition(listed.count())


def _require_pages(prints: DataFrame) -> None:
    """Raise `DedupError` where *prints* has records, and none of them is a page."""
    if prints.where("is_page").isEmpty():
        first = prints.where("problem <> ''").orderBy("id").select("problem").first()
        raise DedupError(
            f"there is no page in the input{f': {first[0]}' if first else ''}. Name the fields to judge "
            "records by, -s DEDUP_TEXT_FIELDS=title,text"
        )


def _summed(verdicts: DataFrame, prints: DataFrame) -> Summary:
    wrong = prints.where("problem <> ''")
    few = wrong.orderBy("id").select("problem").limit(FEW_PROBLEMS).collect()
    dropped = verdicts.where("verdict = 'dropped'").count()
    ends = wrong.where("is_whole IS NULL").count()
    return Summary(verdicts.count(), dropped, wrong.count(), ends, [row["problem"] for row in few])
