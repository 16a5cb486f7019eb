"""An index on PostgreSQL beside one in a file: pages a second of many clients, on templated pages.

    python -m benchmarks.postgres                       # a server of its own, in a temporary folder
    python -m benchmarks.postgres --rows 400000 --clients 1 --clients 4
    python -m benchmarks.postgres --batch 1 --round-trip 5          # page by page, and far away
    python -m benchmarks.postgres --keep FOLDER --rows 1000000 --join 1 --join 4
    python -m benchmarks.postgres --address postgresql://me@host/scratch?schema=bench

The pages are those of `benchmarks.templated`.  All but the last are put into the index at once.  Then clients, each a
process, put the last ones, each some of every site, so many at once: half of them while they meet all hosts for the
first time, and read what is known of these, and half when they know them.  As in a crawl a page that is kept is
pending at first and confirmed a moment later.  Fingerprints and sightings are made before.  A machine that joins has no file of
the index yet, and is ready when it has judged a page.

The server of its own keeps the defaults of PostgreSQL but for 512 MB of shared buffers; the disk is written to before
a page counts as recorded.  Its processor time is that of all its processes.  On a busy machine clients wait
for a core, most of the time: only what they wait for besides is the server, the disk, or each other.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.templated import Crawl
from dedup import DedupConfig, Detector, Fingerprint, Page
from dedup.index import Index, Row, Run, Sighting
from dedup.index.index import open_index
from dedup.model.fingerprint import PageToRecord
from dedup.model.verdict import Outcome
from dedup.reading.page import sighting_of

CONFIG = DedupConfig(scope="global")
# So many pages are confirmed together.
TOGETHER = 50
# So many pages there are at all, whichever of them are used.
CRAWL = 1_500_000

Work = Sequence[tuple[str, Fingerprint]]
# Begin and end, the milliseconds of each batch, the seconds that the client ran, and waited for a core, the
# processor time of the server at the begin and at the end, pages, and how many of them were kept.
Half = tuple[float, float, list[float], float, float, float, float, int, int]
_FORK = get_context("fork")


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--rows", default=20_000, show_default=True, help="Pages that are there before.")
@click.option("--pages", default=20_000, show_default=True, help="Pages that all clients put together.")
@click.option("--clients", multiple=True, type=int, default=(4,), show_default=True)
@click.option("--join", multiple=True, type=int, help="So many machines join at once; no clients.")
@click.option("--batch", default=16, show_default=True, help="Pages that are asked about together.")
@click.option("--round-trip", default=0.0, help="Milliseconds that each answer is late.")
@click.option("--keep", type=click.Path(path_type=Path), help="Where a server stays, with its rows.")
@click.option("--address", help="An empty schema on a server; else one is started.")
@click.option("--file/--no-file", "with_file", default=True, help="Measure a file beside it.")
def main(
    *,
    rows: int,
    pages: int,
    clients: tuple[int, ...],
    join: tuple[int, ...],
    batch: int,
    round_trip: float,
    keep: Path | None,
    address: str | None,
    with_file: bool,
) -> None:
    crawl = Crawl(CRAWL)
    heads = (
        "a second",
        "median ms",
        "99 % ms",
        "CPU ms",
        "for a core ms",
        "else ms",
        "server CPU ms",
        "kept",
    )
    table, told = Table("index", "clients", "hosts", *heads), []
    with tempfile.TemporaryDirectory(prefix="dedup-bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = str(keep or folder)
        with server(keep or Path(folder), address, rows) as (place, pid):
            places = {"server": place} | ({"file": f"{folder}/pages.db"} if with_file else {})
            for name, index in places.items():
                first = fill(index, crawl, rows)
                with open_index(index) as opened:
                    told.append(f"{name}: {opened.store.statistics().bytes / first:,.0f} bytes a page")
                if name == "server" and join:
                    told += [f"{number} joined: {joined(index, number, folder)}" for number in join]
                    continue
                with late(index, round_trip, keep or Path(folder)) as reached:
                    for number in clients:
                        numbers = range(first, first + pages)
                        made = list(zip(map(crawl.url, numbers), crawl.prints(numbers), strict=True))
                        work = [made[one::number] for one in range(number)]
                        for hosts, cells in measured(reached, work, batch, pid).items():
                            table.add_row(name, str(number), hosts, *cells)
                        first += pages
    console = Console(width=120)
    console.print(table, *told, sep="\n")


@contextmanager
def server(folder: Path, address: str | None, rows: int) -> Iterator[tuple[str, int]]:
    """Yield the address of a server, and the number of its first process, 0 where that is not known."""
    if address:
        yield address, 0
        return
    from tests.support.postgres import Server, programs

    found = programs()
    if found is None:
        raise click.UsageError("PostgreSQL is not installed; name an --address")
    path = folder / "server"
    path.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    own = Server(path, found)
    own.start("fsync=on", "shared_buffers=512MB", "max_wal_size=4GB")
    try:
        yield own.address(f"bench{rows}"), int((path / "data/postmaster.pid").read_text().split()[0])
    finally:
        own.stop("fast")


def processor_time(pid: int) -> float:
    """Return the seconds that a process, those it has started and those that have ended have taken."""
    if not pid:
        return 0.0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended since it was named, as those of the server that serve a client do
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_time(int(one)) for one in started)


def scheduled() -> tuple[float, float]:
    """Return the seconds that this thread has run, and that it has waited for a core."""
    ran, waited, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


@contextmanager
def late(place: str, milliseconds: float, folder: Path) -> Iterator[str]:
    """Yield an address in *folder* at which the server answers so much later."""
    if not milliseconds:
        yield place
        return
    before, _, rest = place.partition("?host=")
    host, _, options = rest.partition("&")
    (folder / _SOCKET).unlink(missing_ok=True)
    process = _FORK.Process(
        target=lambda: asyncio.run(hand_on(host, folder, milliseconds / 1000)), daemon=True
    )
    process.start()
    while process.is_alive() and not (folder / _SOCKET).exists():
        time.sleep(0.1)
    yield f"{before}?host={folder}&{options}"
    process.kill()


_SOCKET = ".s.PGSQL.5432"


async def hand_on(host: str, folder: Path, seconds: float) -> None:
    """Hand on what clients and the server at *host* say to each other, what it says so much later."""
    loop = asyncio.get_running_loop()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, after: float) -> None:
        while data := await reader.read(1 << 20):
            loop.call_later(after, writer.write, data)
        loop.call_later(after, writer.close)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_unix_connection(f"{host}/{_SOCKET}")
        await asyncio.gather(copy(reader, questions, 0), copy(answers, writer, seconds))

    async with await asyncio.start_unix_server(connect, folder / _SOCKET) as listening:
        await listening.serve_forever()


def fill(place: str, crawl: Crawl, rows: int) -> int:
    """Fill an empty index with the first *rows* pages of *crawl*; return how many there are."""
    with open_index(place) as index:
        if there := index.store.last():
            return there
        index.prepare()
        run = index.runs.begin("bench")
        found = crawl.rows(crawl.prints(range(rows)), run.id)
        while some := list(islice(found, 1_000)):
            if index.store.is_shared:
                _claim(index, some)
            else:
                with index.batch():
                    for row in some:
                        index.store.add(row)
        index.runs.end(run, "finished")
        return rows


def _claim(index: Index, rows: Sequence[Row]) -> None:
    """Add *rows* as crawls do: an entry of the log for each page, and one where some are confirmed."""
    open_rows = [replace(row, outcome=Outcome.PENDING) if row.listed else row for row in rows]
    added = index.store.claim(open_rows, index.store.position(), [b""] * len(rows))
    kept = [number for number, row in zip(added, rows, strict=True) if row.listed]
    for first in range(0, len(kept), TOGETHER):
        index.ledger.confirm(*kept[first : first + TOGETHER])


def joined(place: str, machines: int, folder: str) -> str:
    """Let machines without a file open the index and judge a page; say when each was ready."""
    barrier = _FORK.Barrier(machines)
    found = sorted(
        at_once(join, [(place, f"{folder}/{machines}-{one}", barrier) for one in range(machines)])
    )
    times = ", ".join(f"{wall:.1f} s ({cpu:.1f} s of processor time)" for wall, cpu in found)
    return f"ready in {times}"


def at_once(target: Callable[..., Any], given: Iterable[Sequence[Any]]) -> list[Any]:
    """Return what *target* gives in processes at once; one that fails says why, and ends them all."""

    def answer(writer: Connection, *given: Any) -> None:
        writer.send(target(*given))

    left: list[Any] = []
    for each in given:
        reader, writer = _FORK.Pipe(duplex=False)
        _FORK.Process(target=answer, args=(writer, *each), daemon=True).start()
        writer.close()
        left.append(reader)
    found = list[Any]()
    ready: Any
    while left:
        for ready in wait(left):
            try:
                found.append(ready.recv())
            except EOFError:
                raise click.ClickException("a process has failed, see above") from None
            left.remove(ready)
    return found


def join(place: str, folder: str, barrier: Any) -> tuple[float, float]:
    """Open the index on a machine of its own, and judge a page; return how long that took."""
    os.environ["XDG_CACHE_HOME"] = folder
    page = Page.from_text("Nobody has ever seen this page before.", url="http://joined.example/")
    barrier.wait()
    start, cpu = time.perf_counter(), time.process_time()
    with open_index(place) as index, Detector(index, CONFIG) as detector:
        assert detector.check(page).kept
        return time.perf_counter() - start, time.process_time() - cpu


def measured(place: str, work: Sequence[Work], batch: int, pid: int) -> dict[str, tuple[str, ...]]:
    """Let each client put its pages; return the cells that tell what each half of them took."""
    barrier = _FORK.Barrier(len(work))
    found = at_once(client, [(place, one, barrier, batch, pid) for one in work])
    halves = zip(*found, strict=True)
    return {name: _cells(half) for name, half in zip(("new", "known"), halves, strict=True)}


def _cells(half: Sequence[Half]) -> tuple[str, ...]:
    starts, ends, times, cpu, queued, server_starts, server_ends, counts, kept = zip(*half, strict=True)
    count, every = sum(counts), np.concatenate(times)
    waited = every.sum() / 1000 - sum(cpu) - sum(queued)
    return (
        *(f"{count / (max(ends) - min(starts)):,.0f}", f"{np.median(every):.2f}"),
        *(
            f"{np.percentile(every, 99):.1f}",
            *(f"{1000 * seconds / count:.2f}" for seconds in (sum(cpu), sum(queued), waited)),
            f"{1000 * (max(server_ends) - min(server_starts)) / count:.2f}",
            f"{sum(kept) / count:.1%}",
        ),
    )


def client(place: str, pages: Work, barrier: Any, batch: int, pid: int) -> list[Half]:
    """Put each half of *pages*; return what that took."""
    with open_index(place) as index:
        run = index.runs.begin("bench")
        asked = [PageToRecord(_sighting(url, page, run)) for url, page in pages]
        gc.freeze()  # as a crawl does
        found: list[Half] = []
        for half in (asked[: len(asked) // 2], asked[len(asked) // 2 :]):
            barrier.wait()
            start, server_start, before = time.time(), processor_time(pid), scheduled()
            times, kept = _put(index, half, batch)
            cpu, queued = np.subtract(scheduled(), before).tolist()
            servers = server_start, processor_time(pid)
            found.append((start, time.time(), times, cpu, queued, *servers, len(half), kept))
        index.runs.end(run, "finished")
        return found


def _put(index: Index, asked: Sequence[PageToRecord], batch: int) -> tuple[list[float], int]:
    """Put pages; return the milliseconds of each batch, and how many were kept."""
    times: list[float] = []
    pending: list[int] = []
    kept = 0
    for first in range(0, len(asked), batch):
        begin = time.perf_counter()
        left = asked[first : first + batch]
        while left:
            found = index.ledger.find_or_add(left, CONFIG)
            pending += [verdict.row for verdict in found if verdict.kept and verdict.row]
            left = left[len(found) :]
        if len(pending) >= TOGETHER or first + batch >= len(asked):
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
