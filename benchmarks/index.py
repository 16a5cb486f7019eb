"""The block index beside faiss: random simhashes, half of the queries near one of them.

    python -m benchmarks.index                    # 10 million simhashes
    python -m benchmarks.index --simhashes 1000000

What it finds is checked: all that is within the distance.  faiss comes with `pip install --group bench`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

import click
import numpy as np

from benchmarks.tables import Table
from dedup.index.search import BlockIndex
from dedup.model.hashes import Hashes

SEED = 20
REPEATS = 3


def sample(count: int) -> tuple[Hashes, Hashes]:
    """Return simhashes to store and 1,000 queries, half of them near a stored simhash."""
    rng = np.random.default_rng(SEED)
    simhashes = rng.integers(1, 2**64, count, np.uint64)
    near = count // 10
    simhashes[:near] = flipped(simhashes[near : 2 * near], rng)
    stored = rng.choice(count, 500)
    queries = np.concatenate((flipped(simhashes[stored], rng), rng.integers(1, 2**64, 500, np.uint64)))
    rng.shuffle(queries)
    return simhashes, queries


def flipped(simhashes: Hashes, rng: np.random.Generator) -> Hashes:
    """Return *simhashes* with one to eight random bits turned over in each."""
    changed = simhashes.copy()
    for turn in range(8):
        chosen = rng.integers(0, 8, len(simhashes)) >= turn
        bits = np.uint64(1) << rng.integers(0, 64, len(simhashes), np.uint64)
        changed = np.where(chosen, changed ^ bits, changed)
    return changed


def microseconds(call: Callable[[int], object], queries: Iterable[int]) -> float:
    """Return the median over repeats of the mean time of a call."""
    times, asked = [], list(queries)
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        for query in asked:
            call(query)
        times.append((time.perf_counter() - begin) / len(asked) * 1e6)
    return median(times[1:])  # the first one has loaded what is looked at


def check_recall(index: BlockIndex, simhashes: Hashes, queries: Hashes, distance: int) -> None:
    for query in queries[:20].tolist():
        near = np.bitwise_count(simhashes ^ np.uint64(query)) <= distance
        if set(index.find(query, distance)) != set(simhashes[near].tolist()):
            raise SystemExit(f"recall is not 1 at distance {distance}")


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--simhashes", "count", default=10_000_000, show_default=True)
def main(count: int) -> None:
    import faiss

    simhashes, queries = sample(count)
    faiss.omp_set_num_threads(1)
    codes = simhashes.view(np.uint8).reshape(-1, 8)
    # Each with how many queries it is asked: a flat search takes its time.
    peers = {3: (faiss.IndexBinaryMultiHash(64, 4, 16), "MultiHash", 1000)}
    peers[10] = (faiss.IndexBinaryFlat(64), "flat", 100)
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder, BlockIndex(Path(folder, "simhashes.db")) as index:
        begin = time.perf_counter()
        index.add_many(simhashes)
        rows.append((f"add_many of {count:,}", f"{time.perf_counter() - begin:.1f} s", ""))
        for distance, (peer, name, asked) in peers.items():
            check_recall(index, simhashes, queries, distance)
            peer.add(codes)
            some = queries[:asked].view(np.uint8).reshape(-1, 8)
            ours = microseconds(lambda one, d=distance: index.find(one, d), queries.tolist())  # type: ignore[misc]
            theirs = microseconds(
                lambda n, p=peer, s=some, d=distance: p.range_search(s[n : n + 1], d + 1),  # type: ignore[misc]
                range(asked),
            )
            rows.append((f"find, {distance} bits", f"{ours:,.0f} µs", f"{theirs:,.0f} µs ({name})"))
        index._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = Path(folder, "simhashes.db").stat().st_size
        rows.append(("bytes a simhash", f"{size / count:.0f}", ""))
    click.echo(Table("The block index", ("figure", "`BlockIndex`", "faiss"), rows).markdown())


if __name__ == "__main__":
    main()
