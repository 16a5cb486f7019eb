"""The steps on Apache Spark: what is shuffled between them, and what is written.

Every stage is written, and a job that was killed goes on after the last one.  Nothing that grows with
the input is in the memory of the driver; a worker holds a batch, the first pages of a bucket, or a host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from dedup.archives import (
    CONTEXTS,
    EDGES,
    FILES,
    FOUND,
    MEMBERS,
    NUMBER,
    NUMBERS,
    PRINTS,
    RECORD_BITS,
    RECORDS,
    TEXT,
    Batches,
    context_of,
    digest_of,
    dropped_by,
    edges_of,
    kept_records,
    kept_rows,
    members_of,
    prints_of_files,
    table_of,
    unsure,
)
from dedup.files.finding import format_of
from dedup.files.work import WorkerSettings
from dedup.model.errors import ConfigError, DedupError
from dedup.model.marks import NO_EXCEPTIONS
from dedup.model.verdict import Reason
from dedup.prints.config import DedupConfig

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
        ordered = edges.select("a", "b").repartition(1).sortWithinPartitions("b", "a")
        dropped = self.stage("dropped", lambda: mapped(ordered, dropped_by, NUMBERS))
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
    if settings.config.exceptions != NO_EXCEPTIONS:
        raise ConfigError("Spark judges without marks")
    settings = replace(settings, config=replace(settings.config, by_bands=True))
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
        rows = read.select("path", "length", changed).orderBy("path").collect()
    except PySparkException as error:
        raise DedupError(f"the input cannot be read: {str(error).splitlines()[0]}") from error
    found = [{"form": form or format_of(row["path"]), **row.asDict()} for row in rows]
    found = [row for row in found if row["form"]]
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
