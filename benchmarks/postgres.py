"""An index on PostgreSQL beside one in a file: pages a second of many clients, on templated pages.

    python -m benchmarks.postgres                       # a server of its own, in a temporary folder
    python -m benchmarks.postgres --rows 400000 --clients 1 --clients 4
    python -m benchmarks.postgres --address postgresql://me@host/scratch?schema=bench

The pages are those of `benchmarks.templated`.  All but the last are put into the index at once.  Then clients, each a
process, put the last ones, each some of every site, so many at once: half of them while they meet all hosts for the
first time, and read what is known of these, and half when they know them.  As in a crawl a page that is kept is
pending at first and confirmed a moment later.  The fingerprints are made before.

The server of its own keeps the defaults of PostgreSQL but for 512 MB of shared buffers; the disk is written to before
a page counts as recorded.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.templated import Crawl
from dedup import DedupConfig, Fingerprint, Page
from dedup.index import Index, Run, Sighting
from dedup.index.index import open_index
from dedup.index.ledger import Asked
from dedup.reading.page import sighting_of

CONFIG = DedupConfig(scope="global")
# So many pages are confirmed together.
TOGETHER = 50

Work = Sequence[tuple[str, Fingerprint]]


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=20_000, show_default=True, help="Pages that are there before.")
@click.option("--pages", default=20_000, show_default=True, help="Pages that all clients put together.")
@click.option("--clients", multiple=True, type=int, default=(4,), show_default=True)
@click.option("--batch", default=16, show_default=True, help="Pages that wait for the disk together.")
@click.option("--address", help="An empty schema on a server; else one is started.")
@click.option("--file/--no-file", "with_file", default=True, help="Measure a file beside it.")
def main(
    *, rows: int, pages: int, clients: tuple[int, ...], batch: int, address: str | None, with_file: bool
) -> None:
    crawl = Crawl(rows + pages * len(clients))
    made = [(crawl.url(number), page) for number, page in enumerate(crawl.prints())]
    table = Table(
        "index", "clients", "hosts", "a second", "median ms", "99 % ms", "client CPU ms", "kept"
    )
    sizes = []
    with tempfile.TemporaryDirectory(prefix="dedup-bench-") as folder, server(folder, address) as place:
        places = {"server": place} | ({"file": f"{folder}/pages.db"} if with_file else {})
        for name, index in places.items():
            fill(index, crawl, [page for _, page in made[:rows]])
            with open_index(index) as opened:
                sizes.append(
                    f"{name}: {opened.store.statistics().bytes / max(1, rows):,.0f} bytes a page"
                )
            for turn, number in enumerate(clients):
                last = made[rows + turn * pages : rows + (turn + 1) * pages]
                work = [last[one::number] for one in range(number)]
                for hosts, cells in measured(index, work, batch).items():
                    table.add_row(name, str(number), hosts, *cells)
    console = Console(width=120)
    console.print(table, *sizes, sep="\n")


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
        own.stop("fast")


def fill(place: str, crawl: Crawl, prints: Sequence[Fingerprint]) -> None:
    """Fill the index at *place* with the first pages of *crawl*."""
    with open_index(place) as index:
        index.prepare()
        run = index.runs.begin("bench")
        rows = crawl.rows(track(prints, "filling an index"), run.id)
        while some := list(islice(rows, 1_000)):
            with index.batch():
                for row in some:
                    index.ledger.import_row(row)
        index.runs.end(run, "finished")


def measured(place: str, work: Sequence[Work], batch: int) -> dict[str, tuple[str, ...]]:
    """Let each client put its pages; return the cells that tell what each half of them took."""
    context = get_context("fork")
    barrier, queue = context.Barrier(len(work)), context.Queue()
    processes = [
        context.Process(target=client, args=(place, one, batch, barrier, queue)) for one in work
    ]
    for process in processes:
        process.start()
    found = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    halves = zip(*found, strict=True)
    return {name: _cells(half) for name, half in zip(("new", "known"), halves, strict=True)}


def _cells(half: Sequence[tuple[float, float, list[float], float, int, int]]) -> tuple[str, ...]:
    starts, ends, times, cpu, counts, kept = zip(*half, strict=True)
    count, every = sum(counts), np.concatenate(times)
    return (
        *(f"{count / (max(ends) - min(starts)):,.0f}", f"{np.median(every):.2f}"),
        *(
            f"{np.percentile(every, 99):.1f}",
            f"{1000 * sum(cpu) / count:.2f}",
            f"{sum(kept) / count:.1%}",
        ),
    )


def client(place: str, pages: Work, batch: int, barrier: Any, queue: Any) -> None:
    """Put each half of *pages*; tell when it began and ended, the milliseconds of each batch, and so on."""
    with open_index(place) as index:
        run = index.runs.begin("bench")
        found = []
        for half in (pages[: len(pages) // 2], pages[len(pages) // 2 :]):
            barrier.wait()
            start, cpu = time.time(), time.process_time()
            times, kept = _put(index, run, half, batch)
            found.append((start, time.time(), times, time.process_time() - cpu, len(half), kept))
        queue.put(found)
        index.runs.end(run, "finished")


def _put(index: Index, run: Run, pages: Work, batch: int) -> tuple[list[float], int]:
    """Put *pages*; return the milliseconds of each batch, and how many were kept."""
    times: list[float] = []
    pending: list[int] = []
    kept = 0
    for first in range(0, len(pages), batch):
        begin = time.perf_counter()
        with index.store.together():
            left = [Asked(_sighting(url, page, run)) for url, page in pages[first : first + batch]]
            while left:
                found = index.ledger.find_or_add_first(left, CONFIG)
                pending += [verdict.row for verdict in found if verdict.kept and verdict.row]
                left = left[len(found) :]
            if len(pending) >= TOGETHER or first + batch >= len(pages):
                index.ledger.confirm(*pending)
                kept += len(pending)
                pending.clear()
        times.append(1000 * (time.perf_counter() - begin))
    return times, kept


def _sighting(url: str, page: Fingerprint, run: Run) -> Sighting:
    read = Page(url=url, body_digest=page.body_digest, text="")
    return sighting_of(read, page, scope="global", spider="", run=run.id, time=time.time())


if __name__ == "__main__":
    main()
