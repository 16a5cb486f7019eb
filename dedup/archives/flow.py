"""The steps on Spark: what is shuffled between them, what is written after each, and how it goes on.

Nothing that grows with the input is ever in the memory of the driver: it decides `driver_pairs` edges
at a time.  A worker has a batch in memory, or the pairs of one host (`PAIRS_AT_ONCE`) and what is known
of that host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from dedup.archives import results, steps
from dedup.archives.columns import (
    BUCKETS,
    CERTAIN,
    CONTEXTS,
    EDGES,
    FACTS,
    KNOWN,
    MEMBERS,
    PAGE,
    PAIRS,
    PRINTS,
    SIDES,
    TOLD,
    TWO,
    Batches,
)
from dedup.archives.greedy import decided
from dedup.archives.job import require_pages
from dedup.archives.reading import RECORD_BITS, prints_of_files
from dedup.archives.state import FILE, WORK, State
from dedup.archives.storage import Storage
from dedup.files.adding.work import WorkerSettings
from dedup.rule.keys import MIN_EQUAL_TOKENS
from dedup.values.simhashes import SIMHASH_BITS

Step = Callable[[Iterable[pa.RecordBatch]], Batches]
Tell = Callable[[str, int, float], None]

# Pairs that ask about one host are judged so many at a time: at most 10 KB for each, mostly 2.
PAIRS_AT_ONCE = 10_000
# Edges that the driver decides at a time: 16 bytes for each, and some 200 while it decides.
DRIVER_PAIRS = 500_000
# So many of what a copy may repeat are verified first; the others where none of them is confirmed.
NEAREST = 4
# The `rank` of a pair with other texts; a higher one has those whose words only stand elsewhere.
LAST_RANK = 2
# After so many rounds on the cluster the driver decides what is left.
ROUNDS = 30
_PLACE = ("rank", "content_order", "structure_order", "a")


@dataclass(slots=True)
class Archive:
    """A job of *session* that writes into *folder*, as far as *state* says that it is done.

    *files* has the rows of `FILES`.  *tell* is called with the name, the rows and the seconds of each
    stage.
    """

    session: SparkSession
    folder: str
    state: State
    settings: WorkerSettings
    tell: Tell = lambda *_: None
    driver_pairs: int = DRIVER_PAIRS
    rounds: int = ROUNDS
    _round: int = field(init=False, default=0)
    _dropped: list[DataFrame] = field(init=False, default_factory=list)
    _edges: list[DataFrame] = field(init=False, default_factory=list)
    _similar: list[DataFrame] = field(init=False, default_factory=list)

    # Stages

    def stage(self, name: str, make: Callable[[], DataFrame], place: str = "") -> DataFrame:
        """Return the table *name*: what an earlier start has written, or what *make* gives, written."""
        path = f"{self.folder}/{place or f'{WORK}/{name}'}"
        if name not in self.state.done:
            begin = time.perf_counter()
            make().write.mode("overwrite").parquet(path)
            self.finished(name)
            self.tell(name, self.session.read.parquet(path).count(), time.perf_counter() - begin)
        return self.session.read.parquet(path)

    def finished(self, name: str) -> None:
        """Write down that *name* is done."""
        self.state.done.append(name)
        Storage(self.session).write(f"{self.folder}/{FILE}", self.state.text)

    # The whole

    def run(self, files: DataFrame) -> DataFrame:
        """Judge the pages of *files* and write everything; return the verdicts."""
        prints = self.stage("prints", lambda: printed(files, self.settings))
        require_pages(prints)
        found = self.judged(prints)
        self.stage("kept", lambda: kept_of(files, found, self.settings), "kept")
        verdicts = self.stage("verdicts", lambda: verdicts_of(prints, found), "verdicts")
        self.state.is_finished = True
        self.finished("all")
        return verdicts

    def judged(self, prints: DataFrame) -> DataFrame:
        """Return the decisions (`DECISIONS`) on all pages of *prints* that are dropped."""
        pages = prints.where("same IS NOT NULL")
        copies = self.stage("copies", lambda: copies_of(pages))
        leaders = pages.join(copies, "id", "left_anti")
        config = self.settings.config
        late = crowded(mapped(leaders, partial(steps.bands, config=config), BUCKETS))
        facts = unknown(pages)
        turns = steps.windows(config)
        for turn, first in enumerate(turns):
            paired = partial(pairs_of, late, facts, copies, first, config)
            raw = self.stage(f"pairs-{turn}", paired)
            late = raw.where("a < 0").select("key", sql.col("b").alias("id"))
            alike = raw.where("a >= 0").select("a", "b")
            self._similar.append(alike)
            if not turn:
                contexts = self.stage("context", partial(contexts_of, leaders, alike, late), "context")
                facts = self.stage("facts", partial(facts_of, pages, contexts, config))
            self._edges.append(self.verified(f"edges-{turn}", alike, facts))
            waiting = late if turn < len(turns) - 1 else late.limit(0)
            self._decide(turn, waiting.select("id").distinct())
            late = late.join(self.dropped(), "id", "left_anti")
            if late.isEmpty():
                break
        return self._decisions(facts, pages, copies)

    def dropped(self) -> DataFrame:
        """Return the leaders (`id`) that are dropped so far."""
        return reduce(DataFrame.unionByName, self._dropped, self._numbers(()))

    def _numbers(self, numbers: Iterable[int]) -> DataFrame:
        table = pa.table({"id": pa.array(numbers, pa.int64())})
        return self.session.createDataFrame(table)

    # Verifying

    def verified(self, name: str, pairs: DataFrame, pages: DataFrame) -> DataFrame:
        """Return the *pairs* (`SIMILAR`) of *pages* (`FACTS`) that the rule confirms, as `EDGES`."""
        config = self.settings.config
        found = self.stage(
            f"settled-{name}",
            lambda: mapped(two_of(pairs, pages), partial(steps.settled, config=config), EDGES),
        )
        asking = found.where("asks").select("a", "b")
        if asking.isEmpty():
            return found
        return self.stage(name, lambda: found.where("NOT asks").unionByName(self._asked(asking, pages)))

    def _asked(self, asking: DataFrame, pages: DataFrame) -> DataFrame:
        contexts = self.session.read.parquet(f"{self.folder}/context")
        two = two_of(asking, pages)
        nothing = sql.lit(None).cast("binary")
        near = two.where("a_host = b_host").withColumns({"common_a": nothing, "common_b": nothing})
        far = two.where("a_host <> b_host")
        if not far.isEmpty():
            near = near.unionByName(by_host(far, contexts, "a_host", steps.told, TOLD))
        config = self.settings.config

        def verified(pairs: pa.Table, known: pa.Table) -> pa.Table:
            return steps.verified(pairs, known, config)

        return by_host(near, contexts, "b_host", verified, EDGES)

    # Deciding

    def _decide(self, turn: int, waiting: DataFrame) -> None:
        """Drop what repeats a page that is kept, in rounds, until nothing changes."""
        live = self._without(reduce(DataFrame.unionByName, self._edges).select("a", "b").distinct())
        while True:
            count = live.count()
            if not count:
                return
            few = count <= self.driver_pairs
            make = partial(self._hit, live, waiting)
            if few or self._round >= self.rounds:
                make = partial(self._hit_here, live, waiting)
            self._round += 1
            name = f"dropped-{turn}-{self._round}"
            hit = self.stage(name, make)
            if hit.isEmpty():
                return
            self._dropped.append(hit)
            if few:  # all that can be decided is
                return
            live = self.stage(f"live-{turn}-{self._round}", partial(_left, live, hit))

    def _without(self, edges: DataFrame) -> DataFrame:
        return _left(edges, self.dropped())

    @staticmethod
    def _hit(live: DataFrame, waiting: DataFrame) -> DataFrame:
        later = live.select(sql.col("b").alias("id")).distinct()
        kept = live.select(sql.col("a").alias("id")).distinct()
        kept = kept.join(later, "id", "left_anti").join(waiting, "id", "left_anti")
        hit = live.join(kept.withColumnRenamed("id", "a"), "a", "left_semi")
        return hit.select(sql.col("b").alias("id")).distinct()

    def _hit_here(self, live: DataFrame, waiting: DataFrame) -> DataFrame:
        """Decide the first pages of *live* in this process, at most `driver_pairs` edges."""
        edges = live.orderBy("b", "a").limit(self.driver_pairs + 1).toArrow()
        a, b = (edges.column(name).to_numpy() for name in ("a", "b"))
        if len(b) > self.driver_pairs:  # of the last page not all edges may be here
            a, b = a[b < b[-1]], b[b < b[-1]]
        ours = self._numbers({*a.tolist(), *b.tolist()})
        open_pages = ours.join(waiting, "id", "left_semi").toArrow().column("id").to_pylist()
        return self._numbers(decided(a, b, open_pages).dropped)

    def _decisions(self, facts: DataFrame, pages: DataFrame, copies: DataFrame) -> DataFrame:
        dropped = self.stage("dropped", lambda: self.dropped().distinct())
        edges = reduce(DataFrame.unionByName, self._edges)
        by_edge = nearest(
            edges.join(dropped.select(sql.col("id").alias("b")), "b", "left_semi"), dropped
        )
        repeats = self._repeats(facts, partial(self._wanted, copies, dropped))
        by_copy = nearest(repeats, dropped)
        # Where the page is not among those that its bucket has compared.
        led = copies.select(sql.col("id").alias("copy"), sql.col("leader").alias("b")).join(by_edge, "b")
        led = led.withColumn("b", sql.col("copy")).drop("copy")
        by_leader = led.join(by_copy.select("b"), "b", "left_anti")
        found = by_edge.unionByName(by_copy).unionByName(by_leader)
        urls = pages.select(sql.col("id").alias("a"), sql.col("url").alias("canonical_url"))
        return self.stage("decisions", lambda: found.join(urls, "a").select(*results.DECISIONS.names))

    def _repeats(self, facts: DataFrame, wanted: Callable[[], DataFrame]) -> DataFrame:
        """Return the nearest of the *wanted* pairs of each *b* that the rule confirms, as `EDGES`.

        Of a copy of a text that hundreds of pages are like, only the nearest are verified at first.
        """
        pairs = self.stage("pairs-copies", lambda: placed(wanted(), facts))
        first = pairs.where(sql.col("place") <= NEAREST).select("a", "b")
        found = self.verified("edges-copies", first, facts)
        # What only stands elsewhere comes after all others, however near; see `rule.decide.preference`.
        named = found.where(sql.col("rank") <= LAST_RANK).select("b")
        others = pairs.where(sql.col("place") > NEAREST).join(named, "b", "left_anti")
        return found.unionByName(self.verified("edges-others", others.select("a", "b"), facts))

    def _wanted(self, copies: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return the pairs of a copy with what it may repeat: its leader, or what that is like."""
        alike = reduce(DataFrame.unionByName, self._similar)
        both = alike.unionByName(alike.select(sql.col("b").alias("a"), sql.col("a").alias("b")))
        gone = dropped.select(sql.col("id").alias("leader"))
        kept = copies.join(gone, "leader", "left_anti")
        others = copies.join(gone, "leader", "left_semi")
        beside = both.select(sql.col("a").alias("leader"), sql.col("b").alias("a"))
        beside = beside.join(dropped.select(sql.col("id").alias("a")), "a", "left_anti")
        pairs = others.join(beside, "leader").where("a < id").select("a", sql.col("id").alias("b"))
        led = kept.select(sql.col("leader").alias("a"), sql.col("id").alias("b"))
        return led.unionByName(pairs).distinct()


# Tables of tables


def mapped(table: DataFrame, step: Step, schema: pa.Schema) -> DataFrame:
    """Return what *step* makes of *table*, as *schema*."""
    return table.mapInArrow(step, from_arrow_schema(schema))


def printed(files: DataFrame, settings: WorkerSettings) -> DataFrame:
    """Return the fingerprints of all records of *files* (`FILES`)."""
    return mapped(files, partial(prints_of_files, settings=settings), PRINTS)


def copies_of(pages: DataFrame) -> DataFrame:
    """Return the *pages* that have the fate of an earlier one of their host: `id`, `leader`."""
    leaders = pages.groupBy("same").agg(sql.min("id").alias("leader"))
    return pages.select("id", "same").join(leaders, "same").where("id > leader").select("id", "leader")


def crowded(buckets: DataFrame) -> DataFrame:
    """Return *buckets* (`BUCKETS`) without the pages that are alone in theirs."""
    ordered = buckets.repartition("key").sortWithinPartitions("key")
    return mapped(ordered, steps.in_company, BUCKETS)


def members_of(buckets: DataFrame, facts: DataFrame, copies: DataFrame) -> DataFrame:
    """Return the pages in *buckets* (`BUCKETS`) as `MEMBERS`, with *facts* (`FACTS`)."""
    copied = copies.select(sql.col("leader").alias("id")).distinct()
    copied = copied.withColumn("is_copied", sql.lit(True))
    whole = facts.join(copied, "id", "left")
    return buckets.join(whole, "id").select(*MEMBERS.names)


def pairs_of(
    buckets: DataFrame, facts: DataFrame, copies: DataFrame, first: int, config: Any
) -> DataFrame:
    """Return the pairs of *buckets* with the *first* pages of each that may be duplicates (`PAIRS`)."""
    members = members_of(buckets, facts, copies)
    ordered = members.repartition("key").sortWithinPartitions("key", "id")
    return mapped(ordered, partial(steps.compared, first=first, config=config), PAIRS).distinct()


def unknown(pages: DataFrame) -> DataFrame:
    """Return *pages* as `FACTS`, where nothing is known."""
    types = from_arrow_schema(FACTS)
    nothing = {name: sql.lit(None).cast(types[name].dataType) for name in KNOWN}
    return pages.select("id", "group", *PAGE).withColumns(nothing)


def facts_of(pages: DataFrame, contexts: DataFrame, config: Any) -> DataFrame:
    """Return *pages* with what is known of them (`FACTS`)."""

    def told(some: pa.Table, known: pa.Table) -> pa.Table:
        return steps.facts(some, known, config)

    return by_host(unknown(pages), contexts, "host", told, FACTS, numbers=("id",))


def contexts_of(leaders: DataFrame, alike: DataFrame, late: DataFrame) -> DataFrame:
    """Return what stands on the pages that are kept whatever the verifier says (`CONTEXTS`)."""
    unsure = alike.select(sql.col("b").alias("id")).unionByName(late.select("id"))
    certain = leaders.select("id", "host", "sample", "traits").join(unsure, "id", "left_anti")
    hosts = certain.groupBy("host").agg(sql.count("*").alias("pages"))
    counted = certain.join(hosts, "host").select(*CERTAIN.names)
    chosen = mapped(counted, steps.chosen, CERTAIN)
    return chosen.groupBy("host").applyInArrow(steps.context_of, from_arrow_schema(CONTEXTS))


def two_of(pairs: DataFrame, pages: DataFrame) -> DataFrame:
    """Return *pairs* (`SIMILAR`) with the fingerprints of both (`TWO`)."""
    for side in "ab":
        pairs = pairs.join(_sided(pages.select("id", *SIDES), side, SIDES), side)
    return pairs.select(*TWO.names)


def by_host(
    pairs: DataFrame,
    contexts: DataFrame,
    side: str,
    step: Callable[[pa.Table, pa.Table], pa.Table],
    schema: pa.Schema,
    *,
    numbers: Sequence[str] = ("a", "b"),
) -> DataFrame:
    """Return what *step* makes of the *pairs* of each host and what is known of that host.

    The pairs of one host are cut into parts of about `PAIRS_AT_ONCE`, by their *numbers*.
    """
    parts = sql.ceil(sql.count("*") / PAIRS_AT_ONCE).alias("parts")
    hosts = pairs.groupBy(sql.col(side).alias("site")).agg(parts)
    part: Column = sql.pmod(sql.xxhash64(*numbers), sql.col("parts"))
    left = pairs.withColumn("site", sql.col(side)).join(hosts, "site").withColumn("part", part)
    asked = hosts.select(sql.col("site").alias("host"), sql.col("parts").alias("of"))
    known = contexts.join(asked, "host").withColumn("asked", sql.col("host").alias("asked"))
    known = known.withColumn(
        "slice", sql.explode(sql.sequence(sql.lit(0).cast("long"), sql.col("of") - 1))
    )
    grouped = left.groupBy("site", "part").cogroup(known.groupBy("asked", "slice"))
    return grouped.applyInArrow(step, from_arrow_schema(schema))


def nearest(edges: DataFrame, dropped: DataFrame) -> DataFrame:
    """Return for each *b* of *edges* the nearest *a* that is not *dropped*."""
    kept = edges.join(dropped.select(sql.col("id").alias("a")), "a", "left_anti")
    whole = sql.struct(*EDGES.names)
    best = kept.groupBy("b").agg(sql.min_by(whole, sql.struct(*_PLACE)).alias("best"))
    return best.select("best.*")


def placed(pairs: DataFrame, facts: DataFrame) -> DataFrame:
    """Return *pairs* with their `place`, from 1, among those of the same *b*: the nearest first."""
    names = ("content", "structure", "body_digest", "token_digest", "tokens")
    for side in "ab":
        pairs = pairs.join(_sided(facts, side, names), side)
    are_told = (sql.col("b_tokens") >= MIN_EQUAL_TOKENS) & (sql.expr("a_token_digest = b_token_digest"))
    rank = sql.when(sql.expr("a_body_digest = b_body_digest"), 0).when(are_told, 1).otherwise(2)
    order = Window.partitionBy("b").orderBy(rank, *map(_distance, names[:2]), "a")
    return pairs.select("a", "b", sql.row_number().over(order).alias("place"))


def _distance(name: str) -> Column:
    """Return in how many bits two simhashes differ, more than there are where there is none."""
    a, b = sql.col(f"a_{name}"), sql.col(f"b_{name}")
    return sql.when((a == 0) | (b == 0), SIMHASH_BITS + 1).otherwise(sql.bit_count(a.bitwiseXOR(b)))


def verdicts_of(prints: DataFrame, found: DataFrame) -> DataFrame:
    """Return the verdicts on all pages of *prints*, *found* being the decisions."""
    given = ("a", "reason", "canonical_url", *results._FOUND)
    judged = found.select(sql.col("b").alias("id"), *given)
    names = ("id", "url", "same", "words", "problem")
    pages = prints.where("is_page").select(*names).join(judged, "id", "left")
    return mapped(pages, results.verdicts, results.VERDICTS)


def kept_of(files: DataFrame, found: DataFrame, settings: WorkerSettings) -> DataFrame:
    """Return the records of *files* that were not dropped."""
    number = sql.shiftright("b", RECORD_BITS).alias("number")
    gone = found.groupBy(number).agg(sql.collect_list("b").alias(results.DROPPED))
    rows = files.join(gone, "number", "left")
    first = files.select("path", "form").first()
    if first is None or first["form"] != "parquet":
        return mapped(rows, partial(results.kept_records, rule=settings.rule), results.RECORDS)
    path = first["path"] if "://" in first["path"] else f"file://{first['path']}"
    schema = files.sparkSession.read.parquet(path).schema
    step = partial(results.kept_rows, rule=settings.rule, schema=to_arrow_schema(schema))
    return rows.mapInArrow(step, schema)


def _sided(table: DataFrame, side: str, names: Iterable[str]) -> DataFrame:
    columns = [sql.col(name).alias(f"{side}_{name}") for name in names]
    return table.select(sql.col("id").alias(side), *columns)


def _left(edges: DataFrame, gone: DataFrame) -> DataFrame:
    for side in "ab":
        edges = edges.join(gone.select(sql.col("id").alias(side)), side, "left_anti")
    return edges.select("a", "b")
