"""An index on PostgreSQL beside one in a file: pages a second of many clients, on templated pages.

    python -m benchmarks.postgres                       # a server of its own, in a temporary folder
    python -m benchmarks.postgres --rows 100000 --clients 1 --clients 4
    python -m benchmarks.postgres --folder KEPT         # the next time nothing has to be prepared
    python -m benchmarks.postgres --address postgresql://me@host/scratch?schema=bench

The pages are those of `benchmarks.templated`: 200 sites, frames, one copy in five.  All but the last are
put into the index at once.  Then clients, each a process, put to both (a client of the server reads its log
first, which is timed apart):

- crawl: the last pages, each client some of every site.  As in a crawl a page that is kept is pending at
  first and confirmed a moment later, some at a time.  The fingerprints are made before.
- same: all clients put a variant of the same new pages at the same time.  Whatever is kept twice by the
  rule for two pages is counted; it must be 0.

The server of its own keeps the defaults of PostgreSQL but for 512 MB of shared buffers; the disk is
written to before a page counts as recorded.  Clients put their pages into a copy of what was filled.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, islice
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.index import fill
from benchmarks.templated import Crawl
from dedup import DedupConfig, Page, SQLiteIndex, fingerprint
from dedup.index import Index, Row, Sighting
from dedup.index.index import open_index
from dedup.index.log import _TABLES
from dedup.model.fingerprint import Fingerprint
from dedup.reading.page import sighting_of
from dedup.rule.match import match

MILLION = 1_000_000
CONFIG = DedupConfig(scope="global")
WORDS = [f"word{number}" for number in range(20_000)]
# So many pages are confirmed together.
TOGETHER = 50
_TICKS = os.sysconf("SC_CLK_TCK")


class Asked(NamedTuple):
    """What some clients have put, all together."""

    seconds: float
    times: list[float]
    """Milliseconds of each batch."""
    kept: list[tuple[int, int]]
    """Client and place of each page that was kept."""
    spent: float
    """Seconds of processor time of the clients."""


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=400_000, show_default=True, help="Pages that are there before.")
@click.option("--pages", default=20_000, show_default=True, help="Pages that all clients put together.")
@click.option(
    "--frame", default=0.25, show_default=True, help="Share of the words that are the frame's."
)
@click.option("--clients", multiple=True, type=int, default=(4,), show_default=True)
@click.option("--batch", default=16, show_default=True, help="Pages that wait for the disk together.")
@click.option("--address", help="An empty schema on a server; else one is started.")
@click.option("--file/--no-file", "with_file", default=True, help="Measure a file beside it.")
@click.option(
    "--folder", "kept", type=click.Path(path_type=Path), help="Keeps fingerprints and the filled server."
)
def main(
    *,
    rows: int,
    pages: int,
    frame: float,
    clients: tuple[int, ...],
    batch: int,
    address: str | None,
    kept: Path | None,
    with_file: bool,
) -> None:
    crawl = Crawl(rows + pages * len(clients), frame=frame)
    made = crawl.prints(kept)
    with (
        tempfile.TemporaryDirectory(prefix="dedup-bench-") as temporary,
        server(folder := str(kept or temporary), address) as place,
    ):
        places = {"server": place if address else copied(place, crawl, made[:rows])}
        if address:
            filled(place, crawl, made[:rows])
        if with_file:
            places["file"] = f"{temporary}/pages.db"
            filled(places["file"], crawl, made[:rows])
        begin = time.monotonic()
        sizes = {name: size_of(place) for name, place in places.items()}
        click.echo(f"opened for the first time in {time.monotonic() - begin:.1f} s")
        table = Table(
            *("index", "clients", "pages", "a second", "median ms", "99 % ms"),
            *("server CPU ms", "client CPU ms", "kept", "kept twice"),
        )
        for turn, number in enumerate(clients):
            last = range(rows + turn * pages, rows + (turn + 1) * pages)
            for name, index in places.items():
                for line in measured(index, number, crawl, made, last, batch=batch, folder=folder):
                    table.add_row(name, str(number), *line)
        console = Console(width=120)
        console.print(table)
        for name, size in sizes.items():
            console.print(f"{name}: {size / max(1, rows):,.0f} bytes a page")


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
    path.mkdir(parents=True, exist_ok=True)
    Path(folder).chmod(0o755)
    own = Server(path, found)
    own.start("fsync=on", "shared_buffers=512MB", "max_wal_size=4GB")
    try:
        yield own.address("bench")
    finally:
        own.stop("fast")


# Filling


def copied(place: str, crawl: Crawl, prints: Sequence[Fingerprint]) -> str:
    """Return a copy of an index with the first pages of *crawl*, which is filled where there is none.

    It is one of this version of the tables: their statements are part of its name.
    """
    import psycopg

    name = f"filled_{crc32(repr((len(prints), crawl.name, _TABLES)).encode())}"
    with psycopg.connect(place.partition("&schema")[0], autocommit=True) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,))
        if found.fetchone() is None:
            connection.execute(f"CREATE DATABASE {name}_new")
            filled(place.replace("/postgres?", f"/{name}_new?"), crawl, prints)
            connection.execute(f"ALTER DATABASE {name}_new RENAME TO {name}")
        connection.execute("DROP DATABASE IF EXISTS copied")
        # Else the newer ones write all of it into their log.
        strategy = "STRATEGY file_copy" if connection.info.server_version >= 150000 else ""
        connection.execute(f"CREATE DATABASE copied TEMPLATE {name} {strategy}")
        connection.execute("CHECKPOINT")
    return place.replace("/postgres?", "/copied?")


def size_of(place: str) -> int:
    """Return the bytes of the index at *place*."""
    with open_index(place) as index:
        return index.store.statistics().bytes


def filled(place: str, crawl: Crawl, prints: Sequence[Fingerprint]) -> None:
    """Fill the index at *place* with the first pages of *crawl*."""
    with open_index(place) as index:
        index.prepare(CONFIG)
        run = index.runs.begin("bench")
        rows = crawl.rows(track(prints, "filling an index"), run.id)
        if isinstance(index, SQLiteIndex):
            fill(index, rows)
        else:
            _fill(index, rows)
        index.runs.end(run, "finished")


def _fill(index: Index, rows: Iterator[Row]) -> None:
    while some := list(islice(rows, 1_000)):
        with index.batch():
            for row in some:
                index.ledger.import_row(row)


# Clients


def measured(
    place: str,
    clients: int,
    crawl: Crawl,
    prints: Sequence[Fingerprint],
    last: range,
    *,
    batch: int,
    folder: str,
) -> Iterator[tuple[str, ...]]:
    """Yield what is measured of the pages *last* of *crawl*, and of pages that all clients put at once."""
    parts = [last[number::clients] for number in range(clients)]
    work = [[(crawl.url(number), prints[number]) for number in part] for part in parts]
    before = processor_time(folder)
    asked = ask(place, work, batch)
    spent = processor_time(folder) - before
    yield "crawl", *_told(asked, spent, len(last)), f"{len(asked.kept) / len(last):.1%}", ""
    together = list(texts(max(60, len(last) // 20 // clients), seed=100 + clients))
    same = [[page_of(words, client) for words in together] for client in range(clients)]
    work = [
        [(f"http://{n}.example/{m}", page) for m, page in enumerate(one)] for n, one in enumerate(same)
    ]
    before = processor_time(folder)
    asked = ask(place, work, batch)
    twice = kept_twice(same, asked.kept)
    yield "same", *_told(asked, processor_time(folder) - before, sum(map(len, work))), "", str(twice)


def _told(asked: Asked, spent: float, count: int) -> tuple[str, ...]:
    return (
        *(f"{count / asked.seconds:,.0f}", f"{np.median(asked.times):.2f}"),
        *(f"{np.percentile(asked.times, 99):.1f}", f"{1000 * spent / count:.2f}" if spent else ""),
        f"{1000 * asked.spent / count:.2f}",
    )


def processor_time(folder: str) -> float:
    """Return the seconds that the server in *folder* has computed, with all that it started; else 0."""
    try:
        main = int(Path(folder, "server", "data", "postmaster.pid").read_text().split()[0])
    except FileNotFoundError:
        return 0.0
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(path.parent.name) == main:
            ticks += sum(map(int, fields[11:15]))  # with those of its processes that have ended
        elif int(fields[1]) == main:
            ticks += sum(map(int, fields[11:13]))
    return ticks / _TICKS


def sighting(url: str, page: Fingerprint, run: int) -> Sighting:
    return sighting_of(
        Page(url=url, body_digest=page.body_digest, text=""),
        page,
        scope="global",
        spider="",
        run=run,
        time=time.time(),
    )


def texts(count: int, seed: int) -> Iterator[list[str]]:
    rng = Random(seed)
    for _ in range(count):
        yield rng.choices(WORDS, k=500)


def page_of(words: Sequence[str], variant: int) -> Fingerprint:
    return fingerprint(Page.from_text(" ".join((*words[:-1], f"variant{variant}"))))


def ask(place: str, work: Sequence[Sequence[tuple[str, Fingerprint]]], batch: int) -> Asked:
    """Let each client put its pages, so many at once, of which it has the URLs and fingerprints."""
    context = get_context("fork")
    barrier, queue = context.Barrier(len(work)), context.Queue()
    processes = [
        context.Process(target=client, args=(place, number, pages, batch, (barrier, queue)))
        for number, pages in enumerate(work)
    ]
    for process in processes:
        process.start()
    found = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    begin, end = min(one[0] for one in found), max(one[1] for one in found)
    return Asked(
        end - begin,
        [ms for one in found for ms in one[2]],
        [kept for one in found for kept in one[3]],
        sum(one[4] for one in found),
    )


def client(
    place: str, number: int, pages: Sequence[tuple[str, Fingerprint]], batch: int, meet: tuple[Any, Any]
) -> None:
    barrier, queue = meet
    with open_index(place) as index:
        run = index.runs.begin("bench")
        times: list[float] = []
        kept: list[tuple[int, int]] = []
        pending: list[int] = []
        barrier.wait()
        start, computed = time.time(), time.process_time()
        for first in range(0, len(pages), batch):
            begin = time.perf_counter()
            with index.store.together():
                for at, (url, page) in enumerate(pages[first : first + batch], first):
                    seen = sighting(url, page, run.id)
                    verdict = index.ledger.find_or_add(seen, CONFIG, confirmed=False)
                    if verdict.kept:
                        kept.append((number, at))
                        assert verdict.row
                        pending.append(verdict.row)
                if len(pending) >= TOGETHER or first + batch >= len(pages):
                    index.ledger.confirm(*pending)
                    pending.clear()
            times.append(1000 * (time.perf_counter() - begin))
        queue.put((start, time.time(), times, kept, time.process_time() - computed))
        index.runs.end(run, "finished")


def kept_twice(work: list[list[Fingerprint]], kept: list[tuple[int, int]]) -> int:
    by_text: defaultdict[int, list[Fingerprint]] = defaultdict(list)
    for client_, place in kept:
        by_text[place].append(work[client_][place])
    return sum(
        match(one, other, CONFIG).is_duplicate
        for pages in by_text.values()
        for one, other in combinations(pages, 2)
    )


if __name__ == "__main__":
    main()
