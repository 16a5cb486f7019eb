"""The block index against its peers: speed, memory and file size.  Each run checks the recall too.

    python -m benchmarks.index                    # every figure, at 10 million simhashes
    python -m benchmarks.index find add --simhashes 1000000
    python -m benchmarks.index curve --largest 100000000 --output docs/

Peers (faiss, DuckDB, 1e0ng's simhash) come with `pip install --group bench`.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

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
# So many transactions a crawl commits together.


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


def header() -> None:
    click.echo("| figure | ours | peer | ratio | target |\n|---|---|---|---|---|")


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


def add(folder: Path, count: int) -> None:
    """Adding one simhash, commit every 1,000, against faiss."""
    import faiss

    simhashes, _ = sample(count)
    new = np.random.default_rng(SEED + 1).integers(1, 2**64, 20_000, np.uint64)
    faiss.omp_set_num_threads(1)
    peer = faiss.IndexBinaryMultiHash(64, 4, 16)
    peer.add(simhashes.view(np.uint8).reshape(-1, 8))
    rows = new.view(np.uint8).reshape(-1, 8)
    begin = time.perf_counter()
    for n in range(len(new)):
        peer.add(rows[n : n + 1])
    theirs = (time.perf_counter() - begin) / len(new) * 1e6
    with built(folder, simhashes) as index:
        ours = each_thousand(index, new)
        say(
            f"add one, commit every 1,000, {count:,} simhashes",
            f"{ours:.0f} µs",
            f"{theirs:.0f} µs (faiss MultiHash)",
            theirs / ours,
            "4 x",
        )
        for simhash in new.tolist():
            index.remove(simhash)


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


def small(folder: Path, count: int) -> None:
    """`find` and memory against 1e0ng's SimhashIndex, at a million simhashes."""
    count = min(count, MILLION)
    for kind in ("ours", "theirs"):
        simhashes, _ = sample(count)
        with built(folder, simhashes) as index:
            path = index.path
        command = [
            sys.executable,
            "-m",
            "benchmarks.index",
            f"_{kind}",
            "--simhashes",
            str(count),
            "--path",
            str(path),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        micros, megabytes = map(float, done.stdout.split())
        if kind == "ours":
            ours = (micros, megabytes)
    say(
        f"find, k=3, {count:,} simhashes",
        f"{ours[0]:.0f} µs",
        f"{micros:.0f} µs (1e0ng)",
        micros / ours[0],
        "6 x",
    )
    say(
        f"anonymous memory over imports, {count:,} simhashes",
        f"{ours[1]:.0f} MB",
        f"{megabytes:.0f} MB (1e0ng)",
        None,
        "20 MB",
    )


def _ours(path: Path, count: int) -> None:
    _, queries = sample(count)
    gc.collect()
    before = anonymous()
    with BlockIndex(path) as index:
        micros = each(lambda query: index.find(query, 3), queries)
        click.echo(f"{micros} {anonymous() - before}")


def _theirs(path: Path, count: int) -> None:
    from simhash import Simhash, SimhashIndex

    simhashes, queries = sample(count)
    ints = simhashes.tolist()
    gc.collect()
    before = anonymous()
    peer = SimhashIndex([(str(n), Simhash(simhash)) for n, simhash in enumerate(ints)], k=3, log=None)
    micros = each(lambda query: peer.get_near_dups(Simhash(query)), queries, 1)
    click.echo(f"{micros} {anonymous() - before}")


def memory(folder: Path, count: int) -> None:
    """Anonymous memory of a process that opens the file and answers 10,000 queries."""
    simhashes, _ = sample(count)
    with built(folder, simhashes) as index:
        path = index.path
    command = [sys.executable, "-m", "benchmarks.index", "_answers", "--path", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    say(
        f"anonymous memory, {count:,} simhashes, 10,000 queries",
        f"{float(done.stdout):.0f} MB",
        "",
        None,
        "150 MB",
    )


def _answers(path: Path, count: int) -> None:
    queries = np.random.default_rng(SEED).integers(1, 2**64, 10_000, np.uint64).tolist()
    with BlockIndex(path) as index:
        for query in queries:
            index.find(query, 3)
        for query in queries[:1000]:
            index.find(query, 10)
        click.echo(f"{anonymous()}")


def anonymous() -> float:
    """Return the anonymous resident memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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


def pairs(folder: Path, count: int) -> None:
    """`near_pairs(3)` against DuckDB's join over blocks."""
    import duckdb

    simhashes, _ = sample(count)
    with built(folder, simhashes) as index:
        begin = time.perf_counter()
        ours = set(index.near_pairs(3))
        taken = time.perf_counter() - begin
    table = {"simhash": np.unique(simhashes)}
    begin = time.perf_counter()
    theirs = _duckdb_pairs(duckdb.connect(), table["simhash"])
    peer = time.perf_counter() - begin
    if ours != theirs:
        raise SystemExit(f"pairs differ: {len(ours):,} and {len(theirs):,}")
    say(
        f"near_pairs(3), {count:,} simhashes, {len(ours):,} pairs",
        f"{taken:.1f} s",
        f"{peer:.1f} s (DuckDB)",
        peer / taken,
        "1 x",
    )


def _duckdb_pairs(connection: Any, simhashes: Hashes) -> set[tuple[int, int]]:
    """Hashes within 3 bits agree in two of five blocks: ten joins on two blocks each."""
    connection.execute("SET threads = 2")
    connection.execute("CREATE TABLE w (simhash UBIGINT)")
    connection.register("source", {"simhash": simhashes})
    connection.execute("INSERT INTO w SELECT simhash FROM source")
    edges = [(0, 13), (13, 13), (26, 13), (39, 13), (52, 12)]
    blocks = [f"((simhash >> {low}) & {(1 << width) - 1})" for low, width in edges]
    joins = []
    for one in range(5):
        for two in range(one + 1, 5):
            key = f"({blocks[one]} << 13) | {blocks[two]}"
            joins.append(
                f"SELECT a.simhash AS x, b.simhash AS y FROM (SELECT simhash, {key} AS k FROM w) a "
                f"JOIN (SELECT simhash, {key} AS k FROM w) b ON a.k = b.k AND a.simhash < b.simhash "
                "WHERE bit_count(xor(a.simhash, b.simhash)) <= 3"
            )
    found = connection.execute(" UNION ".join(joins)).fetchnumpy()
    return set(zip(found["x"].tolist(), found["y"].tolist(), strict=True))


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


def curve(folder: Path, largest: int, output: Path | None) -> None:
    """Build, file size and lookups, cold and warm, from 10^5 simhashes on; a table and, with *output*, a plot."""
    lines = [
        "| simhashes | build s | B a simhash | k=3 cold µs | k=3 µs | k=10 cold µs | k=10 µs |",
        "|---|---|---|---|---|---|---|",
    ]
    points: list[tuple[int, float, float]] = []
    click.echo("\n".join(lines))
    count = 100_000
    while count <= largest:
        path = folder / "curve.db"
        rng = np.random.default_rng(SEED)
        begin = time.perf_counter()
        with BlockIndex(path) as index:
            for start in range(0, count, TEN_MILLION):
                index.add_many(rng.integers(1, 2**64, min(TEN_MILLION, count - start), np.uint64))
                index._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            taken = time.perf_counter() - begin
        size = path.stat().st_size / count
        queries = rng.integers(1, 2**64, 300, np.uint64)
        figures = []
        for radius in (3, 10):
            _forget_pages(path)
            with BlockIndex(path) as index:
                begin = time.perf_counter()
                for query in queries.tolist():
                    index.find(query, radius)
                figures.append((time.perf_counter() - begin) / len(queries) * 1e6)
                figures.append(each(lambda query, i=index, r=radius: i.find(query, r), queries, 3))  # type: ignore[misc]
        points.append((count, figures[1], figures[3]))
        lines.append(
            f"| {count:,} | {taken:.1f} | {size:.1f} | " + " | ".join(f"{f:.0f}" for f in figures) + " |"
        )
        click.echo(lines[-1])
        path.unlink()
        count *= 10
    if output:
        _plot(points, output / "index-curve.svg")


def _forget_pages(path: Path) -> None:
    """Ask the system to drop the file from its page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _plot(points: list[tuple[int, float, float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "dedup"
    figure, axes = plt.subplots(figsize=(7, 4.2))
    counts = [point[0] for point in points]
    for place, (radius, style) in enumerate(((3, "-"), (10, "--")), 1):
        axes.plot(
            counts,
            [point[place] for point in points],
            style,
            marker="o",
            label=f"k={radius}",
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="simhashes in the index",
        ylabel="µs a lookup, warm",
        title="Cost of an exact lookup",
    )
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


FIGURES: dict[str, Callable[[Path, int], None]] = {
    "find": find,
    "add": add,
    "small": small,
    "memory": memory,
    "build": build,
    "pairs": pairs,
    "crowd": crowd,
    "pages": pages,
    "flood": flood,
}
_PROCESSES: dict[str, Callable[[Path, int], None]] = {
    "_ours": _ours,
    "_theirs": _theirs,
    "_answers": _answers,
}


@click.command(help="Measure the block index against its peers; without FIGURES, all of them.")
@click.argument("figures", nargs=-1, type=click.Choice([*FIGURES, "curve", *_PROCESSES]))
@click.option("--simhashes", "count", default=TEN_MILLION, show_default=True, help="How many simhashes.")
@click.option("--largest", default=TEN_MILLION, show_default=True, help="Where the curve ends.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the plot of the curve.")
@click.option("--path", type=click.Path(path_type=Path), hidden=True)
def main(
    figures: tuple[str, ...], count: int, largest: int, output: Path | None, path: Path | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if figures and figures[0] in _PROCESSES:
            assert path is not None
            _PROCESSES[figures[0]](path, count)
            return
        if "curve" not in figures:
            header()
        for name in figures or FIGURES:
            if name == "curve":
                curve(Path(folder), largest, output)
            else:
                FIGURES[name](Path(folder), count)


if __name__ == "__main__":
    main()
