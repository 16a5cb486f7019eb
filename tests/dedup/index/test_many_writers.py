"""Sixteen writers of two projects in one database, for a while, whose server is restarted meanwhile."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dedup import DedupConfig, PostgresIndex, fingerprint
from dedup.values.errors import ServerAway
from dedup.values.verdict import Outcome
from tests import postgres
from tests.forking import HAS_SERVER, forking
from tests.pages import edited, page
from tests.sightings import find_or_add

WRITERS, PROJECTS = 16, ("news", "shops")
LONGEST = 300.0
# The site is asked nothing: what clients know of it may be some seconds old.
CONFIG = DedupConfig(
    scope="global", candidates="minhash", max_structure_candidates=0, verifier="similarity"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_SERVER, reason="no fork server here"),
]

_T = TypeVar("_T")


def write(
    writer: int, address: str, seconds: float, together: Barrier, told: Path, fault: str = ""
) -> None:
    """Put a variant of each text, from the first one on; write down which texts were delivered."""
    delivered: list[int] = []
    number = 0
    with PostgresIndex(address) as index:
        if fault == "adds at once":
            store: Any = index.store
            store.guess = lambda *_: None
            added = store._add

            def add_late(row: Any, *_: Any) -> Any:
                time.sleep(0.05)  # or it would be chance whether another one adds meanwhile
                return added(row, None, None)

            store._add = add_late
        run = index.begin_run(f"writer {writer}")
        together.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            printed = fingerprint(page(edited(number, 1) + f" {writer}", template=writer))
            url = f"http://w{writer}.example/{number}"
            verdict = answered(
                partial(find_or_add, index, printed, url, run=run, config=CONFIG, confirmed=False)
            )
            if verdict.kept and verdict.row:
                answered(partial(index.ledger.confirm, verdict.row))
                delivered.append(number)
            number += 1
        answered(partial(index.end_run, run, "finished"))
    told.write_text(json.dumps([number, delivered]))


def answered(ask: Callable[[], _T]) -> _T:
    """Ask until the server answers."""
    while True:
        try:
            return ask()
        except ServerAway:
            time.sleep(0.1)


def written(
    server: postgres.Server, folder: Path, seconds: float, fault: str = "", *, restarts: bool = True
) -> list[tuple[int, Counter[int]]]:
    """Let all writers write; return for each project how many texts were put, and who was delivered."""
    context = forking()
    together = context.Barrier(WRITERS + 1, timeout=LONGEST)
    for project in PROJECTS:
        with PostgresIndex(server.address(project)) as index:
            index.prepare(CONFIG)
    started = [
        context.Process(
            target=write,
            args=(
                *(writer, server.address(PROJECTS[writer % 2]), seconds, together),
                *(folder / str(writer), fault),
            ),
            daemon=True,
        )
        for writer in range(WRITERS)
    ]
    for process in started:
        process.start()
    together.wait()
    for mode in ("immediate", "fast") if restarts else ():
        time.sleep(seconds / 3)
        server.stop(mode)
        server.start()
    for process in started:
        process.join(seconds + LONGEST)
    assert [process.exitcode for process in started] == [0] * WRITERS
    found = []
    for which in range(len(PROJECTS)):
        told = [json.loads((folder / str(writer)).read_text()) for writer in range(which, WRITERS, 2)]
        found.append((max(put for put, _ in told), Counter(n for _, texts in told for n in texts)))
    return found


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    pytest.importorskip("psycopg")
    programs = postgres.programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.own(programs) as own:
        yield own


@pytest.mark.parametrize("seconds", [15.0, pytest.param(600.0, marks=pytest.mark.nightly)])
def test_each_text_is_delivered_once_by_each_project(
    server: postgres.Server, tmp_path: Path, seconds: float
) -> None:
    for project, (put, delivered) in zip(PROJECTS, written(server, tmp_path, seconds), strict=True):
        assert put > 20
        assert delivered == Counter(range(put))  # none lost, none kept twice
        with PostgresIndex(server.address(project)) as index:
            assert index.problems() == []
            assert {run.ending for run in index.runs()} == {"finished"}
            kept = [row for row in index.rows() if row.verdict.kept and row.outcome.stands]
            assert len(kept) == put
            assert {row.outcome for row in kept} == {Outcome.CONFIRMED}


def test_the_proof_would_find_writers_that_do_not_look_again(
    server: postgres.Server, tmp_path: Path
) -> None:
    found = written(server, tmp_path, 8.0, "adds at once", restarts=False)
    assert any(times > 1 for _, delivered in found for times in delivered.values())
