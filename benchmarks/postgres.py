"""An index on PostgreSQL beside one in a file: questions a second of many clients, at a million pages.

    python -m benchmarks.postgres                       # a server of its own, in a temporary folder
    python -m benchmarks.postgres --rows 100000 --clients 1 --clients 4
    python -m benchmarks.postgres --address postgresql://me@host/scratch?schema=bench

The index is filled with random pages, for the server by COPY.  Then clients, each a process, put pages of
500 words to both in turn:

- new: pages that nobody has seen.
- copies: pages that differ from those in one word.
- same: all clients put a variant of the same new pages at the same time.  Whatever is kept twice by the
  rule for two pages is counted; it must be 0.

Each question is one `find_or_add`, confirmed at once.  The server of its own keeps the defaults of
PostgreSQL but for 512 MB of shared buffers; the disk is written to before a page counts as recorded.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.index import _canonical, _fill, _random_page
from dedup import DedupConfig, Page, PostgresIndex, SQLiteIndex, fingerprint
from dedup.index import Index, Sighting
from dedup.index.index import open_index
from dedup.index.rows import INSERTED, values_of
from dedup.reading.sighting import sighting_of
from dedup.rule.match import match
from dedup.values.fingerprint import Fingerprint

MILLION = 1_000_000
SERVER = DedupConfig(scope="global", candidates="minhash", max_structure_candidates=0)
FILE = DedupConfig(scope="global")
WORDS = [f"word{number}" for number in range(20_000)]
SEED = 5


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=MILLION, show_default=True, help="Pages that are there before.")
@click.option("--pages", default=2000, show_default=True, help="Pages that all clients put together.")
@click.option("--clients", multiple=True, type=int, default=(1, 4, 16), show_default=True)
@click.option("--address", help="An empty schema on a server; else one is started.")
@click.option("--file/--no-file", "with_file", default=True, help="Measure a file beside it.")
def main(rows: int, pages: int, clients: tuple[int, ...], address: str | None, with_file: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="dedup-bench-") as folder, server(folder, address) as place:
        places = {"server": place} | ({"file": f"{folder}/pages.db"} if with_file else {})
        sizes = {name: filled(place, rows) for name, place in places.items()}
        table = Table("index", "clients", "pages", "a second", "median ms", "99 % ms", "kept twice")
        for number in clients:
            for name, index in places.items():
                for line in measured(index, number, pages):
                    table.add_row(name, str(number), *line)
        console = Console(width=100)
        console.print(table)
        for name, size in sizes.items():
            console.print(f"{name}: {size / rows:,.0f} bytes a page")


@contextmanager
def server(folder: str, address: str | None) -> Iterator[str]:
    if address:
        yield address
        return
    from tests.postgres import Server, programs

    found = programs()
    if found is None:
        raise click.UsageError("PostgreSQL is not installed; name an --address")
    path = Path(folder, "server")
    path.mkdir()
    Path(folder).chmod(0o755)
    own = Server(path, found)
    own.start("fsync=on", "shared_buffers=512MB", "max_wal_size=4GB")
    try:
        yield own.address("bench")
    finally:
        own.stop()


# Filling


def filled(place: str, count: int) -> int:
    """Fill the index at *place*; return its size in bytes."""
    rng = np.random.default_rng(SEED)
    with open_index(place) as index:
        index.prepare(config_of(index))
        run = index.begin_run("bench")
        if isinstance(index, SQLiteIndex):
            _fill(index, count, run.id, rng)
        else:
            _copy(index, count, run.id, rng)
        index.end_run(run, "finished")
        return index.views.statistics().bytes


def config_of(index: Index) -> DedupConfig:
    return SERVER if isinstance(index, PostgresIndex) else FILE


def _copy(index: Any, count: int, run: int, rng: np.random.Generator) -> None:
    """Put random pages into an index on a server, by COPY, and make its search indexes after that."""
    store = index.store
    scope = store._scope(("page", ""), create=True)
    connection = store._server._connected()
    found = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() "
        "AND tablename = 'pages' AND indexname <> 'pages_pkey'"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    keys = partial(store._keys_by, store.banding, scope)
    columns = ", ".join((*INSERTED, "place", "bands"))
    with connection.cursor().copy(f"COPY pages ({columns}) FROM STDIN") as copy:
        for number in track(range(count), "filling the server"):
            page, url = _random_page(rng), f"http://old.example/{number}"
            seen = Sighting(page, url, url, "page", "", run, 0.0)
            copy.write_row((*values_of(_canonical(seen), scope), number + 1, keys(page.sketch)))
    for _, definition in track(found, "making its indexes"):
        connection.execute(definition)
    connection.execute("UPDATE scopes SET last = %s WHERE id = %s", (count, scope))
    connection.execute("ANALYZE")


# Clients


def texts(count: int, seed: int) -> Iterator[list[str]]:
    rng = Random(seed)
    for _ in range(count):
        yield rng.choices(WORDS, k=500)


def page_of(words: Sequence[str], variant: int) -> Fingerprint:
    return fingerprint(Page.from_text(" ".join((*words[:-1], f"variant{variant}"))))


def measured(place: str, clients: int, pages: int) -> Iterator[tuple[str, ...]]:
    """Yield what is measured, of each kind of pages."""
    made = list(texts(pages, seed=clients))
    parts = [made[number::clients] for number in range(clients)]
    new = [[page_of(words, 0) for words in part] for part in parts]
    copies = [[page_of(words, 1) for words in part] for part in parts]
    together = list(texts(max(60, pages // clients), seed=100 + clients))
    same = [[page_of(words, client) for words in together] for client in range(clients)]
    for kind, work in (("new", new), ("copies", copies), ("same", same)):
        seconds, times, kept = asked(place, work, f"{kind}{clients}")
        twice = str(kept_twice(same, kept)) if kind == "same" else ""
        expected = {"new": pages, "copies": 0}
        if kind in expected:
            assert len(kept) == expected[kind], (kind, len(kept))
        total = sum(map(len, work))
        yield (
            *(kind, f"{total / seconds:,.0f}", f"{np.median(times):.2f}"),
            *(f"{np.percentile(times, 99):.1f}", twice),
        )


def asked(
    place: str, work: list[list[Fingerprint]], name: str
) -> tuple[float, list[float], list[tuple[int, int]]]:
    """Let each client put its pages; return seconds in all, ms of each, and what each client kept."""
    context = get_context("fork")
    barrier, queue = context.Barrier(len(work)), context.Queue()
    processes = [
        context.Process(target=client, args=((place, number, pages, name), barrier, queue))
        for number, pages in enumerate(work)
    ]
    for process in processes:
        process.start()
    found = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    begin, end = min(one[0] for one in found), max(one[1] for one in found)
    return (
        end - begin,
        [ms for one in found for ms in one[2]],
        [kept for one in found for kept in one[3]],
    )


def client(given: tuple[str, int, list[Fingerprint], str], barrier: Any, queue: Any) -> None:
    place, number, pages, name = given
    with open_index(place) as index:
        config = config_of(index)
        run = index.begin_run(name)
        times, kept = [], []
        barrier.wait()
        start = time.time()
        for place_, page in enumerate(pages):
            url = f"http://{name}-{number}.example/{place_}"
            seen = sighting_of(
                Page(url=url, body_digest=page.body_digest, text=""),
                page,
                scope="global",
                spider="",
                run=run.id,
                time=time.time(),
            )
            begin = time.perf_counter()
            verdict = index.ledger.find_or_add(seen, config)
            times.append(1000 * (time.perf_counter() - begin))
            if verdict.kept:
                kept.append((number, place_))
        queue.put((start, time.time(), times, kept))
        index.end_run(run, "finished")


def kept_twice(work: list[list[Fingerprint]], kept: list[tuple[int, int]]) -> int:
    by_text: defaultdict[int, list[Fingerprint]] = defaultdict(list)
    for client_, place in kept:
        by_text[place].append(work[client_][place])
    return sum(
        match(one, other, SERVER).is_duplicate
        for pages in by_text.values()
        for one, other in combinations(pages, 2)
    )


if __name__ == "__main__":
    main()
