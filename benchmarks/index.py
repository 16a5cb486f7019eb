"""The block index against faiss: speed and file size; the recall is checked too.  And pages of a crawl.

    python -m benchmarks.index                    # every figure, at 10 million simhashes
    python -m benchmarks.index find build --simhashes 1000000

faiss comes with `pip install --group bench`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import click
import numpy as np

from benchmarks.templated import Crawl
from dedup import DedupConfig, Page, SQLiteIndex
from dedup.algorithms.sketch import BINS
from dedup.index import Row, Run, Sighting
from dedup.index.blocks import BlockIndex
from dedup.index.rows import INSERT, values_of
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import Hashes
from dedup.model.urls import url_key
from dedup.model.verdict import Outcome, Reason, Verdict
from dedup.reading.page import sighting_of

SEED = 20
REPEATS = 5
TEN_MILLION = 10_000_000
MILLION = 1_000_000


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


def seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)


def each(call: Callable[[int], object], queries: Hashes, repeats: int = REPEATS) -> float:
    """Return the median over repeats of the mean microseconds of a call."""
    ints = queries.tolist()

    def run() -> None:
        for query in ints:
            call(query)

    run()
    return seconds(run, repeats) / len(ints) * 1e6


def linear(simhashes: Hashes, query: int, radius: int) -> set[int]:
    near = np.bitwise_count(simhashes ^ np.uint64(query)) <= radius
    return set(simhashes[near].tolist())


def say(figure: str, ours: str, theirs: str, ratio: float | None, target: str) -> None:
    shown = "" if ratio is None else f"{ratio:.2f} x"
    click.echo(f"| {figure} | {ours} | {theirs} | {shown} | {target} |")


@contextmanager
def built(folder: Path, simhashes: Hashes) -> Iterator[BlockIndex]:
    path = folder / f"simhashes-{len(simhashes)}.db"
    with BlockIndex(path) as index:
        if not len(index):
            index.add_many(simhashes)
            index._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield index


def check_recall(index: BlockIndex, simhashes: Hashes, queries: Hashes, radius: int) -> None:
    for query in queries[:20].tolist():
        if set(index.find(query, radius)) != linear(simhashes, query, radius):
            raise SystemExit(f"recall is not 1 at distance {radius}")


def find(folder: Path, count: int) -> None:
    """`find` against faiss, at k=3 and k=10."""
    import faiss

    simhashes, queries = sample(count)
    faiss.omp_set_num_threads(1)
    codes, asked = (array.view(np.uint8).reshape(-1, 8) for array in (simhashes, queries))
    peer = faiss.IndexBinaryMultiHash(64, 4, 16)
    peer.add(codes)
    flat = faiss.IndexBinaryFlat(64)
    flat.add(codes)
    # Of its calls with one query each, as ours are asked.
    multi = seconds(lambda: [peer.range_search(asked[n : n + 1], 4) for n in range(len(asked))], 3)
    few = asked[:100]
    brute = seconds(lambda: [flat.range_search(few[n : n + 1], 11) for n in range(len(few))], 3)
    multi, brute = multi / len(asked) * 1e6, brute / len(few) * 1e6
    with built(folder, simhashes) as index:
        for radius, theirs, name, target in (
            (3, multi, "faiss MultiHash 4x16", "8 x"),
            (10, brute, "faiss Flat", "8 x" if count >= TEN_MILLION else "1 x"),
        ):
            check_recall(index, simhashes, queries, radius)
            ours = each(lambda query, r=radius, i=index: i.find(query, r), queries)  # type: ignore[misc]
            say(
                f"find, k={radius}, {count:,} simhashes",
                f"{ours:.0f} µs",
                f"{theirs:.0f} µs ({name})",
                theirs / ours,
                target,
            )
        size = index.path.stat().st_size / len(index)
        say(
            f"file size, {count:,} simhashes",
            f"{size:.1f} B a simhash",
            "",
            None,
            "48 B",
        )


def each_thousand(index: BlockIndex, simhashes: Hashes) -> float:
    times = []
    ints = simhashes.tolist()
    for start in range(0, len(ints), 1000):
        begin = time.perf_counter()
        with index.transaction():
            for simhash in ints[start : start + 1000]:
                index.add(simhash)
        times.append((time.perf_counter() - begin) / 1000 * 1e6)
    return median(times)


def build(folder: Path, count: int) -> None:
    """`add_many` of everything."""
    simhashes, _ = sample(count)
    path = folder / "build.db"
    begin = time.perf_counter()
    with BlockIndex(path) as index:
        index.add_many(simhashes)
        taken = time.perf_counter() - begin
    say(f"add_many of {count:,}", f"{taken:.1f} s", "", None, "20 s")
    path.unlink()


def crowd(folder: Path, count: int) -> None:
    """Query and insert inside 100,000 simhashes that share their blocks."""
    rng = np.random.default_rng(SEED)
    center = 0x5A5A_1234_9ABC_DEF0
    simhashes = np.full(100_000, center, np.uint64)
    for _ in range(6):
        simhashes ^= np.uint64(1) << rng.integers(0, 64, len(simhashes), np.uint64)
    simhashes = np.unique(simhashes)
    with built(folder, simhashes) as index:
        check_recall(index, simhashes, simhashes, 3)
        query = each(lambda simhash, i=index: i.find(simhash, 3), simhashes[:300])  # type: ignore[misc]
        fresh = simhashes[:2000] ^ np.uint64(1 << 63) ^ np.uint64(1)
        insert = each_thousand(index, fresh[:2000])
        say(
            f"find, k=3, in a crowd of {len(simhashes):,}",
            f"{query:.0f} µs",
            "",
            None,
            "1,500 µs",
        )
        say(
            f"add in a crowd of {len(simhashes):,}",
            f"{insert:.0f} µs",
            "",
            None,
            "1,500 µs",
        )


def pages(folder: Path, count: int) -> None:
    """`find_or_add` and `confirm` of a page of a crawl, at a million pages, commits included, in CPU time."""
    count = min(count, MILLION)
    path = folder / f"pages-{count}.db"
    config = DedupConfig()
    crawl = Crawl(count + 3000)
    prints = crawl.prints()
    with SQLiteIndex(path) as index:
        run = index.runs.begin("bench")
        fill(index, crawl.rows(prints[:count], run.id))
        times, copies = [], 0
        for number in range(count, len(prints)):
            seen = _sighting(prints[number], crawl.url(number), run)
            begin = time.process_time()
            verdict = index.ledger.find_or_add(seen, config, confirmed=False)
            if verdict.kept and verdict.row:
                index.ledger.confirm(verdict.row)
            times.append((time.process_time() - begin) * 1e6)
            copies += not verdict.kept
        say(
            f"find_or_add and confirm, {count:,} pages of {crawl.sites} sites, {copies / 3000:.0%} copies",
            f"{np.mean(times):.0f} µs (median {median(times):.0f})",
            "",
            None,
            "400 µs",
        )
        index.runs.end(run, "finished")


def flood(folder: Path, count: int) -> None:
    """`find_or_add` of a page with 100,000 canonicals in its content radius, and apart from that
    with a million of its structure simhash."""
    for name, size, crowded in (
        ("content", 100_000, "content"),
        ("structure", min(count, MILLION), "structure"),
    ):
        path = folder / f"flood-{name}.db"
        rng = np.random.default_rng(SEED)
        with SQLiteIndex(path) as index:
            run = index.runs.begin("bench")
            fill(index, _random_rows(rng, size, run.id, crowded))
            times = []
            for number in range(200):
                page = _random_page(rng, crowded)
                begin = time.perf_counter()
                seen = _sighting(page, f"http://new.example/{number}", run)
                verdict = index.ledger.find_or_add(seen, DedupConfig())
                times.append((time.perf_counter() - begin) * 1e6)
            say(
                f"find_or_add in a flood of {size:,} pages by {name} ({verdict.candidates} looked at)",
                f"{median(times):.0f} µs",
                "",
                None,
                "",
            )
            index.runs.end(run, "finished")


def _sighting(page: Fingerprint, url: str, run: Run) -> Sighting:
    read = Page(url=url, body_digest=page.body_digest, text="")
    return sighting_of(read, page, spider=run.spider, run=run.id, time=time.time())


_CENTER = 0x1234_5678_9ABC_DEF0


def _random_page(rng: np.random.Generator, crowded: str = "") -> Fingerprint:
    content, structure = (int(simhash) for simhash in rng.integers(1, 2**64, 2, np.uint64))
    if crowded == "content":
        content = _CENTER ^ sum(1 << int(bit) for bit in rng.choice(64, 4, replace=False))
    # One in two pages of a crawl has a template that another one has.
    structure = _CENTER if crowded == "structure" else structure % 1000 * 0x9E3779B97F4A7C15 % 2**64 + 1
    return Fingerprint(
        content,
        structure,
        rng.integers(1, 256, BINS, np.uint8).tobytes(),
        rng.bytes(16),
        rng.bytes(16),
        300,
    )


def _random_rows(rng: np.random.Generator, count: int, run: int, crowded: str = "") -> Iterator[Row]:
    for number in range(count):
        url = f"http://old.example/{number}"
        seen = Sighting(_random_page(rng, crowded), url, url_key(url), "page", "bench", run, 0.0)
        yield Row(0, seen, Verdict(Reason.NEW, kept=True), Outcome.CONFIRMED, listed=True)


def fill(index: SQLiteIndex, rows: Iterable[Row]) -> None:
    """Put *rows* of one group into an empty index at once, as so many calls of `find_or_add` would."""
    store = index.store
    connection = store.connection
    filled = list(rows)
    if not filled:
        return
    seen = filled[0].sighting
    listed = [row.sighting.fingerprint for row in filled if row.listed]
    with index.batch():
        scope = store.scope((seen.kind, seen.scope), create=True)
        connection.executemany(INSERT, ((None, scope, *values_of(row)) for row in filled))
        for field in ("content", "structure"):
            simhashes = np.array([page.simhash(field) for page in listed], np.uint64)
            store._lists.postings(field, scope).add_many(simhashes[simhashes != 0])


FIGURES: dict[str, Callable[[Path, int], None]] = {
    "find": find,
    "build": build,
    "crowd": crowd,
    "pages": pages,
    "flood": flood,
}


@click.command(help="Measure the block index against faiss; without FIGURES, all of them.")
@click.argument("figures", nargs=-1, type=click.Choice([*FIGURES]))
@click.option("--simhashes", "count", default=TEN_MILLION, show_default=True, help="How many simhashes.")
def main(figures: tuple[str, ...], count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        click.echo("| figure | ours | peer | ratio | target |\n|---|---|---|---|---|")
        for name in figures or FIGURES:
            FIGURES[name](Path(folder), count)


if __name__ == "__main__":
    main()
