"""Pages that may repeat each other, and whether they do: the steps from fingerprints to edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from dedup.archives.columns import (
    BUCKETS,
    CONTEXTS,
    EDGES,
    FACTS,
    PAIRS,
    SIDES,
    SIMILAR,
    TOLD,
    Batches,
    Row,
    batch_of,
    batched,
    fingerprint_in,
    number_of,
    rows_of,
)
from dedup.archives.many import Pages, flags_of
from dedup.files.contexts import batch_of as contexts_batch
from dedup.files.contexts import counts_of
from dedup.recipes.bands import Banding, sketch_keys
from dedup.recipes.config import DedupConfig
from dedup.recipes.sample import of_site, sampled
from dedup.recipes.traits import title_in
from dedup.rule import loss
from dedup.rule.decide import preference
from dedup.rule.frozen import MOST_PAGES, NOTHING, FrozenSite, FrozenSites, HostCounts, counted
from dedup.rule.keys import MIN_EQUAL_TOKENS
from dedup.rule.match import match
from dedup.rule.site import Counted, Flags, SiteContext, told_by
from dedup.rule.verifier import Verifier, verifier_of
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import mixed
from dedup.values.match import Match
from dedup.values.verdict import Canonical

Numbers = NDArray[np.int64]

# The columns of a fingerprint that a pair of sketches has, and what is in the others.
_LIGHT = ("sketch", "body_digest", "token_digest", "tokens")
_NOTHING_ELSE = {
    **dict.fromkeys(("content", "structure", "words", "shingles"), 0),
    **dict.fromkeys(("sample", "traits"), b""),
    "inside": None,
}

# The pages of a bucket that others are compared with: the first 8, then, of those that are not dropped,
# the next ones, up to `max_candidates` in all.  Copies repeat one of the first, so most end there.
WINDOWS = (8, 64, 256)


def windows(config: DedupConfig) -> list[int]:
    """Return how many pages of a bucket are asked about in each turn."""
    ends = [*(end for end in WINDOWS if end < config.max_candidates), config.max_candidates]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


# Keys


def bands(batches: Iterable[pa.RecordBatch], config: DedupConfig) -> Batches:
    """Yield the buckets (`BUCKETS`) that pages are in: by bands of sketches, by equal bytes and tokens.

    Pages of different groups are in none together.
    """
    banding = Banding(config.bands, config.rows)
    for batch in batches:
        keys, ids = [], []
        for row in batch.to_pylist():
            own = _keys(row, banding)
            keys.append(own)
            ids.append(np.full(len(own), row["id"], np.int64))
        if keys:
            columns = [pa.array(np.concatenate(keys)), pa.array(np.concatenate(ids))]
            yield pa.RecordBatch.from_arrays(columns, schema=BUCKETS)


def _keys(row: Row, banding: Banding) -> Numbers:
    group = np.int64(row["group"]).view(np.uint64)
    shared = mixed(sketch_keys(row["sketch"], banding) ^ group).view(np.int64)
    equal = [number_of(b"bytes", str(row["group"]), row["body_digest"])]
    if row["tokens"] >= MIN_EQUAL_TOKENS:
        equal.append(number_of(b"tokens", str(row["group"]), row["token_digest"]))
    return np.concatenate((shared, np.array(equal, np.int64)))


# Pairs


def pairs(batches: Iterable[pa.RecordBatch], first: int) -> Batches:
    """Yield the pairs (`PAIRS`) of pages in buckets, which come in the order of key and id.

    Each page is paired with those of the *first* pages (1 or more) of its bucket that are earlier:
    what it repeats is mostly there.  Pages that come after these are yielded again without a partner.
    In memory are a batch and *first* pages, however many are in a bucket.
    """
    last, heads = None, np.zeros(0, np.int64)
    for batch in batches:
        keys, ids = (batch.column(name).to_numpy() for name in BUCKETS.names)
        if not len(keys):
            continue
        held = len(heads) if last == keys[0] else 0
        keys = np.concatenate((np.full(held, keys[0]), keys))
        ids = np.concatenate((heads[:held], ids))
        starts = _starts(keys)
        yield from _paired(keys, ids, starts, held, first)
        last, heads = keys[-1], ids[starts[-1] :][:first]


def in_company(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Yield the rows of `BUCKETS`, in the order of keys, but for those alone in their bucket."""
    held: list[pa.RecordBatch] = []
    is_like = False
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = _together([*held, batch])
        keys = rows.column("key").to_numpy()
        before = np.concatenate(([is_like], keys[1:] == keys[:-1]))
        yield rows.slice(0, len(keys) - 1).filter(pa.array(before[:-1] | before[1:]))
        held, is_like = [rows.slice(len(keys) - 1)], bool(before[-1])
    if is_like:
        yield from held


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of *batches*, one or more in all, as one batch."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def compared(batches: Iterable[pa.RecordBatch], first: int, config: DedupConfig) -> Batches:
    """Yield what `pairs` does of pages in buckets (`MEMBERS`), of pairs those that may be duplicates.

    The later page may repeat the earlier one, by what the rule says of many pairs at once; or the
    earlier one the later, where others share its fate: they may stand behind both.  Where nothing is
    known of pages, all pairs are there whose sketches the verifier does not rule out.
    """
    heads: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        if heads and heads[0].column("key")[0].as_py() != batch.column("key")[0].as_py():
            heads = []
        rows = _together([*heads, batch])
        keys, ids = (rows.column(name).to_numpy() for name in BUCKETS.names)
        starts = _starts(keys)
        held = sum(head.num_rows for head in heads)
        yield from _compared(rows, starts, held, first, config)
        rank = np.arange(len(keys)) - starts
        if len(late := np.flatnonzero((rank >= first) & (np.arange(len(keys)) >= held))):
            yield _batch(np.full(len(late), -1), ids[late], keys[late])
        heads = [rows.slice(starts[-1], first)]


def _compared(
    rows: pa.RecordBatch, starts: Numbers, held: int, first: int, config: DedupConfig
) -> Iterator[pa.RecordBatch]:
    ids, groups = (rows.column(name).to_numpy() for name in ("id", "group"))
    copied = flags_of(rows, "is_copied")
    pages = Pages.of(pa.Table.from_batches([rows]))
    places = np.arange(len(ids))
    rank = np.where(places < held, 0, places - starts)
    for head in range(min(first, int(rank.max()))):
        b = np.flatnonzero(rank > head)
        a = starts[b] + head
        alike = pages.similarities(a, b)
        may = pages.may_repeat(a, b, alike, config)
        back = np.flatnonzero(copied[a] & ~may)
        may[back] = pages.may_repeat(b[back], a[back], alike[back], config)
        may &= groups[a] == groups[b]
        if may.any():
            found = ids[b[may]]
            yield _batch(ids[a[may]], found, np.zeros(len(found), np.int64))


def _starts(keys: Numbers) -> NDArray[np.intp]:
    """Return for each place where the run of its key begins."""
    begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.repeat(begins, np.diff(np.append(begins, len(keys))))


def _paired(
    keys: Numbers, ids: Numbers, starts: NDArray[np.intp], held: int, first: int
) -> Iterator[pa.RecordBatch]:
    places = np.arange(len(ids))
    rank = places - starts
    new = places >= held
    for head in range(first):
        later = np.flatnonzero(new & (rank > head))
        if not len(later):
            break
        yield _batch(ids[starts[later] + head], ids[later], np.zeros(len(later), np.int64))
    if len(late := np.flatnonzero(new & (rank >= first))):
        yield _batch(np.full(len(late), -1), ids[late], keys[late])


def _batch(a: Numbers, b: Numbers, keys: Numbers) -> pa.RecordBatch:
    columns = [pa.array(column, pa.int64()) for column in (a, b, keys)]
    return pa.RecordBatch.from_arrays(columns, schema=PAIRS)


def similar(batches: Iterable[pa.RecordBatch], config: DedupConfig) -> Batches:
    """Yield the pairs (`SIMILAR`) that the verifier of *config* may pass, or that are equal."""
    verifier = verifier_of(config)
    for batch in batches:
        of_group = compute.equal(batch.column("a_group"), batch.column("b_group"))
        passing = compute.or_(_are_equal(batch), pa.array(_may_pass(batch, verifier)))
        yield batch.filter(compute.and_(of_group, passing)).select(SIMILAR.names)


def _are_equal(batch: pa.RecordBatch) -> pa.BooleanArray:
    bytes_, tokens = (
        compute.equal(batch.column(f"a_{name}"), batch.column(f"b_{name}"))
        for name in ("body_digest", "token_digest")
    )
    enough = compute.greater_equal(batch.column("b_tokens"), MIN_EQUAL_TOKENS)
    return compute.or_(bytes_, compute.and_(tokens, enough))


def _may_pass(batch: pa.RecordBatch, verifier: Verifier) -> Flags:
    """Return which pairs *verifier* may pass; it is asked once for each page, which is in many pairs."""
    flags = np.zeros(batch.num_rows, bool)
    of_page = {name: batch.column(f"b_{name}").to_pylist() for name in _LIGHT}
    sketches = batch.column("a_sketch").to_pylist()
    pages = batch.column("b").to_numpy()
    order = pages.argsort(kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(pages[order])) + 1):
        if len(places):
            row = {name: column[places[0]] for name, column in of_page.items()}
            page = fingerprint_in(_NOTHING_ELSE | row)
            flags[places] = verifier.may_pass(page, [sketches[place] for place in places])
    return flags


# Sites


def chosen(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Yield those of the pages (`CERTAIN`) that are counted: about `MOST_PAGES` of a host, by lot.

    The lot is a page's number: the same pages in whatever order and on however many machines.
    """
    for batch in batches:
        ids = batch.column("id").to_numpy()
        of = np.maximum(batch.column("pages").to_numpy(), 1)
        lots = mixed(ids.view(np.uint64) + np.uint64(1)) / 2.0**64
        yield batch.filter(pa.array(lots < MOST_PAGES / of))


def context_of(pages: pa.Table) -> pa.Table:
    """Return the row of `CONTEXTS` for *pages* of one host (`CERTAIN`), one or more."""
    host = pages.column("host")[0].as_py()
    pages_of_it = zip(*(pages.column(name).to_pylist() for name in ("sample", "traits")), strict=True)
    counts = counted(starmap(told_by, pages_of_it))
    return pa.Table.from_batches([contexts_batch({host: counts})]).cast(CONTEXTS)


def facts(pages: pa.Table, contexts: pa.Table, config: DedupConfig) -> pa.Table:
    """Return *pages* of one host (`FACTS`) with what the row of `CONTEXTS` of that host tells of them.

    Where the verifier asks about no site, nothing is known.
    """
    rows = pages.to_pylist()
    if config.verifier == "loss" and rows:
        site = FrozenSites({rows[0]["host"]: _counts(contexts)}).site(rows[0]["host"])
        rows = [row | _known(fingerprint_in(row), site, config) for row in rows]
    return _table([batch_of(rows, FACTS)], FACTS)


def _known(page: Fingerprint, site: FrozenSite, config: DedupConfig) -> Row:
    missing, allowed = loss.missing_words(page, site), loss.allowed_words(page, config)
    return {
        "own": sampled(of_site(page.sample))[~site.common(of_site(page.sample))].tobytes(),
        "elsewhere": missing is not None and missing <= min(loss.MISSING_WORDS, allowed),
        "is_big": site.pages >= min(loss.KNOWN_PAGES, loss.SOME_PAGES),
    }


class Asked(Exception):  # noqa: N818 - it says what happened
    """A verifier has asked about the site."""


class _Asking:
    """A `SiteContext` that tells whether it is asked: then the pair waits for what is known."""

    @property
    def is_known(self) -> bool:
        raise Asked

    @property
    def pages(self) -> int:
        raise Asked

    def common(self, sample: bytes) -> Flags:  # noqa: ARG002
        raise Asked

    unknown = common

    def on(self, sample: bytes) -> Counted:  # noqa: ARG002
        raise Asked

    def beside(self, host: str) -> _Asking:  # noqa: ARG002
        return self


@dataclass(frozen=True)
class _Told:
    """A `FrozenSite` beside another host, of which it was told what is common there, by hashes."""

    site: FrozenSite
    told: dict[bytes, Flags]

    is_known = True

    @property
    def pages(self) -> int:
        return self.site.pages

    def common(self, sample: bytes) -> Flags:
        return self.site.common(sample) | self.told[sample]

    def unknown(self, sample: bytes) -> Flags:
        return self.site.unknown(sample)

    def on(self, sample: bytes) -> Counted:
        return self.site.on(sample)

    def beside(self, host: str) -> _Told:  # noqa: ARG002
        return self


# Verifying


@dataclass(frozen=True)
class _Pair:
    """A row of `TWO` or `TOLD`."""

    row: Row
    config: DedupConfig

    def edge(self, site: SiteContext) -> Row | None:
        """Return the row of `EDGES`, None where the rule says that *b* does not repeat *a*."""
        row = self.row
        kept, page = fingerprint_in(row, "a_"), fingerprint_in(row, "b_")
        matched = match(kept, page, self.config, site)
        if not matched.is_duplicate:
            return None
        canonical = Canonical(row["a"], "", 0, is_pending=False, fingerprint=kept)
        return self._row(matched, preference(matched, page, canonical))

    def _row(self, matched: Match, near: tuple[float, ...]) -> Row:
        return {
            "a": self.row["a"],
            "b": self.row["b"],
            "asks": False,
            "rank": int(near[0]),
            "content_order": near[1],
            "structure_order": near[2],
            "reason": matched.reason.value,
            "content_distance": matched.content_distance,
            "structure_distance": matched.structure_distance,
            "similarity": matched.similarity,
            "lost": matched.lost,
            "missing": matched.missing,
        }

    @cached_property
    def waiting(self) -> Row:
        """The row of `EDGES` of a pair that asks about the site."""
        nothing = dict.fromkeys(EDGES.names)
        return {**nothing, "a": self.row["a"], "b": self.row["b"], "asks": True}


def settled(batches: Iterable[pa.RecordBatch], config: DedupConfig) -> Batches:
    """Yield the pairs (`TWO`) that the rule confirms (`EDGES`), and those that ask about the site."""
    asking = _Asking()

    def edges() -> Iterator[Row]:
        for row in rows_of(_possible(batches, config)):
            pair = _Pair(row, config)
            try:
                edge = pair.edge(asking)
            except Asked:
                edge = pair.waiting
            if edge is not None:
                yield edge

    return batched(edges(), EDGES)


def _possible(batches: Iterable[pa.RecordBatch], config: DedupConfig) -> Batches:
    """Yield those pairs (`TWO`) that the rule for many does not rule out."""
    for batch in batches:
        sides = [batch.select([f"{side}_{name}" for name in SIDES]) for side in "ab"]
        both = pa.concat_tables(
            pa.Table.from_batches([one]).rename_columns(list(SIDES)) for one in sides
        )
        pages, a = Pages.of(both), np.arange(batch.num_rows)
        b = a + batch.num_rows
        yield batch.filter(pa.array(pages.may_repeat(a, b, pages.similarities(a, b), config)))


def told(two: pa.Table, contexts: pa.Table) -> pa.Table:
    """Return pairs of `TWO` of one host of *a* as `TOLD`, by the row of `CONTEXTS` of that host."""
    counts = _counts(contexts)
    rows = [
        row
        | {
            f"common_{side}": np.packbits(counts.common(b"".join(_asked(row, side)))).tobytes()
            for side in "ab"
        }
        for row in two.to_pylist()
    ]
    return _table([batch_of(rows, TOLD)], TOLD)


def verified(pairs_told: pa.Table, contexts: pa.Table, config: DedupConfig) -> pa.Table:
    """Return the pairs (`TOLD`) that the rule confirms (`EDGES`); *b* of all of them is on one host.

    *contexts* has the row of `CONTEXTS` of that host, or none.
    """
    counts = _counts(contexts)
    edges = []
    for row in pairs_told.to_pylist():
        site = FrozenSites({row["b_host"]: counts}).site(row["b_host"])
        if (edge := _Pair(row, config).edge(_beside(site, row))) is not None:
            edges.append(edge)
    return _table([batch_of(edges, EDGES)], EDGES)


def _beside(site: FrozenSite, row: Row) -> SiteContext:
    if row["a_host"] == row["b_host"]:
        return site
    flags: dict[bytes, Flags] = {}
    for side in "ab":
        asked = _asked(row, side)
        sizes = [len(sampled(one)) for one in asked]
        bits = np.frombuffer(row[f"common_{side}"], np.uint8)
        told = np.unpackbits(bits, count=sum(sizes)).astype(bool)
        flags |= zip(asked, np.split(told, sizes[:1]), strict=True)
    return _Told(site, flags)


def _asked(row: Row, side: str) -> tuple[bytes, bytes]:
    """Return of what it is asked whether it is common: the sample of a page, and its title."""
    return of_site(row[f"{side}_sample"]), title_in(row[f"{side}_traits"])


def _counts(contexts: pa.Table) -> HostCounts:
    rows = contexts.to_pylist()
    return counts_of(rows[0]) if rows else NOTHING


def _table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches, schema)
