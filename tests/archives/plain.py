"""The steps one after the other in this process: what a Spark job must say, for a few pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from dedup.archives.columns import (
    BUCKETS,
    CERTAIN,
    LIGHT,
    PRINTS,
    SIDES,
    TOLD,
    TWO,
    Row,
    batch_of,
    batched,
    rows_of,
)
from dedup.archives.greedy import decided
from dedup.archives.steps import (
    bands,
    chosen,
    context_of,
    pairs,
    settled,
    similar,
    told,
    verified,
    windows,
)
from dedup.files.contexts import counts_of
from dedup.recipes.config import DedupConfig
from dedup.rule.frozen import FrozenSites, name_of

Pair = tuple[int, int]


@dataclass(slots=True)
class Plain:
    """The pages of *prints* (rows of `PRINTS`), judged by *config*.

    *edges* are the pairs that the rule confirms, by their pages; *dropped* the pages that are not kept,
    *canonicals* the edge by which each of them is.  *shuffled* may put rows into another order, and
    *size* is how many are in a batch: neither changes anything.
    """

    prints: list[Row]
    config: DedupConfig
    shuffled: Callable[[list[Any]], list[Any]] = list
    size: int = 1000
    sites: FrozenSites = field(init=False)
    edges: dict[Pair, Row] = field(init=False, default_factory=dict)
    dropped: set[int] = field(init=False, default_factory=set)
    canonicals: dict[int, Row] = field(init=False, default_factory=dict)
    _pages: dict[int, Row] = field(init=False)
    _leader: dict[int, int] = field(init=False)
    _similar: set[Pair] = field(init=False, default_factory=set)
    _contexts: dict[str, pa.Table] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._pages = {row["id"]: row for row in self.prints if row["same"] is not None}
        first: dict[bytes, int] = {}
        for number in sorted(self._pages):
            first.setdefault(self._pages[number]["same"], number)
        self._leader = {number: first[row["same"]] for number, row in self._pages.items()}
        self._judge()

    @property
    def leaders(self) -> list[int]:
        """The pages that differ in more than URL and bytes from all earlier ones of their site."""
        return [number for number, leader in self._leader.items() if number == leader]

    def _judge(self) -> None:
        rows = [self._pages[number] for number in self.leaders]
        late: list[Row] = list(rows_of(bands(self._batched(rows, PRINTS), self.config)))
        for turn, first in enumerate(windows(self.config)):
            found, late = self._pairs(late, first)
            new = self._alike(found) - self._similar
            self._similar |= new
            waiting = {row["id"] for row in late}
            if not turn:
                self._know(waiting)
            self.edges |= self._verified(new)
            waiting = waiting if turn < len(windows(self.config)) - 1 else set()
            self._decide(waiting)
            late = [row for row in late if row["id"] not in self.dropped]
        self._follow()

    def _batched(self, rows: Iterable[Row], schema: pa.Schema) -> Any:
        return batched(self.shuffled(list(rows)), schema, self.size)

    def _pairs(self, buckets: list[Row], first: int) -> tuple[set[Pair], list[Row]]:
        """Return the pairs of *buckets*, and what is left of them."""
        ordered = sorted(self.shuffled(buckets), key=lambda row: (row["key"], row["id"]))
        found = list(rows_of(pairs(batched(ordered, BUCKETS, self.size), first)))
        late: list[Row] = [{"key": row["key"], "id": row["b"]} for row in found if row["a"] < 0]
        return {(row["a"], row["b"]) for row in found if row["a"] >= 0}, late

    def _alike(self, found: set[Pair]) -> set[Pair]:
        names = (*LIGHT.names, "body_digest", "token_digest", "tokens")
        rows = [self._joined(pair, tuple(dict.fromkeys(names))) for pair in found]
        batches = (
            pa.RecordBatch.from_pylist(rows[start : start + self.size])
            for start in range(0, len(rows), self.size)
        )
        return {(row["a"], row["b"]) for row in rows_of(similar(batches, self.config))}

    def _joined(self, pair: Pair, names: Iterable[str]) -> dict[str, Any]:
        sides = zip("ab", pair, strict=True)
        columns = {
            f"{side}_{name}": self._pages[number].get(name) for side, number in sides for name in names
        }
        return {"a": pair[0], "b": pair[1], **columns}

    def _know(self, waiting: set[int]) -> None:
        """Count what stands on the pages that are kept whatever the verifier says."""
        unsure = waiting | {b for _, b in self._similar}
        certain = [self._pages[number] for number in self.leaders if number not in unsure]
        hosts: dict[str, list[Row]] = defaultdict(list)
        for row in certain:
            hosts[row["host"]].append(row)
        rows = [{**row, "pages": len(hosts[row["host"]])} for row in certain]
        counted = sorted(rows_of(chosen(self._batched(rows, CERTAIN))), key=lambda row: row["host"])
        for host, some in groupby(counted, key=lambda row: row["host"]):
            self._contexts[host] = context_of(pa.Table.from_batches([batch_of(list(some), CERTAIN)]))
        known = {host: counts_of(table.to_pylist()[0]) for host, table in self._contexts.items()}
        self.sites = FrozenSites(known, name_of(known))

    def _verified(self, some: set[Pair]) -> dict[Pair, Row]:
        two = [self._joined(pair, SIDES) for pair in some]
        found = list(rows_of(settled(self._batched(two, TWO), self.config)))
        asking: list[Row] = [self._joined((row["a"], row["b"]), SIDES) for row in found if row["asks"]]
        rows = [row for row in found if not row["asks"]]
        rows += self._by_host(self._all_told(asking), "b", self._verify)
        return {(row["a"], row["b"]): row for row in rows}

    def _verify(self, two: pa.Table, contexts: pa.Table) -> pa.Table:
        return verified(two, contexts, self.config)

    def _all_told(self, asking: list[Row]) -> list[Row]:
        near = [row for row in asking if row["a_host"] == row["b_host"]]
        far = [row for row in asking if row["a_host"] != row["b_host"]]
        nothing = {"common_a": None, "common_b": None}
        return [*({**row, **nothing} for row in near), *self._by_host(far, "a", told)]

    def _by_host(
        self, rows: list[Row], side: str, step: Callable[[pa.Table, pa.Table], pa.Table]
    ) -> list[Row]:
        schema = TOLD if rows and "common_a" in rows[0] else TWO
        host = f"{side}_host"
        done: list[Row] = []
        nothing = pa.table({name: [] for name in ("host", "pages", "hashes", "counts")})
        for name, some in groupby(sorted(rows, key=lambda row: str(row[host])), lambda row: row[host]):
            table = pa.Table.from_batches([batch_of(self.shuffled(list(some)), schema)])
            done += step(table, self._contexts.get(name, nothing)).to_pylist()
        return done

    def _decide(self, waiting: set[int]) -> None:
        places = np.array(sorted(self.edges), np.int64).reshape(-1, 2)
        self.dropped |= set(decided(places[:, 0], places[:, 1], waiting).dropped.tolist())

    def _follow(self) -> None:
        """Find the canonical of every page that is dropped, copies of a leader included."""
        copies = {number: leader for number, leader in self._leader.items() if number != leader}
        beside: dict[int, set[int]] = defaultdict(set)
        for a, b in self._similar:
            beside[a].add(b)
            beside[b].add(a)
        wanted = {
            (kept, copy)
            for copy, leader in copies.items()
            for kept in (beside[leader] if leader in self.dropped else {leader})
            if kept < copy and kept not in self.dropped
        }
        edges = self.edges | self._verified(wanted)
        for edge in edges.values():
            if edge["a"] not in self.dropped and (edge["b"] in self.dropped or edge["b"] in copies):
                best = self.canonicals.get(edge["b"])
                if best is None or nearer(edge) < nearer(best):
                    self.canonicals[edge["b"]] = edge
        self.dropped |= copies.keys()
        for copy, leader in copies.items():
            self.canonicals.setdefault(copy, self.canonicals.get(leader, {}))


def nearer(edge: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key by which the first of the edges of a page leads to its canonical."""
    return edge["rank"], edge["content_order"], edge["structure_order"], edge["a"]
