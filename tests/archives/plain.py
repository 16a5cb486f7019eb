"""The steps one after the other in this process: what a Spark job must say, for a few pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dedup.archives import (
    EDGES,
    MEMBERS,
    NUMBER,
    Member,
    Row,
    batched,
    context_of,
    dropped_by,
    edges_of,
    members_of,
    rows_of,
    table_of,
    unsure,
)
from dedup.prints.config import DedupConfig

BUCKETS = pa.schema({"key": NUMBER, "id": NUMBER, "sketch": pa.binary()})
IN_BUCKETS = pa.schema([("key", NUMBER), *MEMBERS])


@dataclass(slots=True)
class Plain:
    """The pages of *prints* (rows of `PRINTS`), judged by *config*.

    *members* are the pages that have a bucket in common with another one, *edges* what the rule confirms,
    *canonicals* the page that each dropped one repeats.  *shuffled* may put rows into another order, and
    *size* is how many are in a batch: neither changes anything.
    """

    prints: list[Row]
    config: DedupConfig
    shuffled: Callable[[list[Any]], list[Any]] = list
    size: int = 1000
    certain: list[Row] = field(init=False)
    members: dict[int, Member] = field(init=False)
    edges: list[Row] = field(init=False)
    canonicals: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        pages = [row for row in self.prints if row["same"] is not None]
        leader: dict[bytes, int] = {}
        for row in sorted(pages, key=lambda row: row["id"]):
            leader.setdefault(row["same"], row["id"])
        leaders = {row["id"]: row for row in pages if leader[row["same"]] == row["id"]}
        buckets: dict[int, list[int]] = defaultdict(list)
        for row in self.shuffled(list(leaders.values())):
            for key in row["keys"]:
                buckets[key].append(row["id"])
        crowded = [(key, one) for key, ids in buckets.items() if len(ids) > 1 for one in ids]
        crowded = sorted(self.shuffled(crowded))
        sketches = {number: row["page"]["sketch"] for number, row in leaders.items()}
        rows = [{"key": key, "id": one, "sketch": sketches[one]} for key, one in crowded]
        doubtful = {row["id"] for row in rows_of(unsure(self.batched(rows, BUCKETS)))}
        self.certain = [row for row in leaders.values() if row["id"] not in doubtful]
        members = self._members([leaders[one] for one in {one for _, one in crowded}])
        rows = [{"key": key, **members[one]} for key, one in crowded]
        self.edges = list(rows_of(edges_of(self.batched(rows, IN_BUCKETS), self.config)))
        self.members = {one: Member(row, self.config) for one, row in members.items()}
        ordered = sorted(self.shuffled(self.edges), key=lambda row: (row["b"], row["a"]))
        dropped = {row["id"] for row in rows_of(dropped_by(self.batched(ordered, EDGES)))}
        self.canonicals = self._canonicals(dropped)
        for row in pages:
            if row["id"] != (first := leader[row["same"]]):
                self.canonicals[row["id"]] = self.canonicals.get(first, first)

    def batched(self, rows: Iterable[Row], schema: pa.Schema) -> Any:
        return batched(rows, schema, self.size)

    def _members(self, pages: list[Row]) -> dict[int, Row]:
        hosts: dict[str, list[Row]] = defaultdict(list)
        for row in self.shuffled(self.certain):
            told = {name: row["page"][name] for name in ("sample", "traits")}
            hosts[row["host"]].append({"host": row["host"], **told})
        told = {host: context_of(pa.Table.from_pylist(rows)) for host, rows in hosts.items()}
        nothing = pa.table({"host": []})
        found = [members_of(table_of([row], MEMBERS), told.get(row["host"], nothing)) for row in pages]
        return {row["id"]: row for table in found for row in table.to_pylist()}

    def _canonicals(self, dropped: set[int]) -> dict[int, int]:
        best: dict[int, tuple[Any, ...]] = {}
        for row in self.edges:
            if row["a"] not in dropped:
                order = (row["lost"], -row["similarity"], row["a"])
                best[row["b"]] = min(order, best.get(row["b"], order))
        assert best.keys() == dropped
        return {page: order[-1] for page, order in best.items()}
