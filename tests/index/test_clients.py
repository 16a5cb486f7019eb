"""Many processes with a file, many clients of a server: none keeps a text twice or leans on what was lost."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import DedupConfig, MemoryIndex, Page, PostgresIndex, SQLiteIndex, Verdict, fingerprint
from dedup.index import Index, Row, ledger
from dedup.index.index import open_index
from dedup.model.fingerprint import Fingerprint, PageToRecord
from dedup.model.marks import SAYINGS, Exceptions, Said
from dedup.model.verdict import Outcome
from dedup.rule.match import match
from tests.support import postgres
from tests.support.forking import HAS_SERVER, all_at_once
from tests.support.pages import edited, find_or_add, page, sighting, text

CLIENTS, TEXTS = 8, 40
# The site is asked nothing: what clients know of it may be some seconds old.
CONFIG = DedupConfig(scope="global")

pytestmark = pytest.mark.skipif(not HAS_SERVER, reason="no fork server here")


def variant(text: int, client: int) -> Fingerprint:
    """Return a page of that text, which has other words for each client."""
    return fingerprint(page(edited(text, 1) + f" {client}", template=client))


def crawl(client: int, together: Barrier, place: str, lost: float, fault: bool) -> None:
    """Add a variant of each text, all clients the same text at the same time; lose a share of them."""
    pages, rng = [variant(number, client) for number in range(TEXTS)], Random(client)
    if client % 2:  # on a machine of its own; the others are on one
        os.environ["XDG_CACHE_HOME"] += f"/{client}"
    with open_index(place) as index:
        index.prepare()
        if fault:
            never_ask_again(index, together.wait)
        run = index.runs.begin(f"client {client}")
        together.wait()
        pending: list[int] = []
        left = [
            PageToRecord(sighting(found, f"http://c{client}.example/{number}", run=run, config=CONFIG))
            for number, found in enumerate(pages)
        ]
        while left:
            verdicts = index.ledger.find_or_add(left[: rng.randint(1, 16)], CONFIG, confirmed=not lost)
            if len(left) == TEXTS:
                together.wait()  # what is lost of these has copies that were dropped
            left = left[len(verdicts) :]
            if lost:
                pending += [verdict.row for verdict in verdicts if verdict.kept and verdict.row]
            while len(pending) > rng.randrange(6):
                (index.ledger.release if rng.random() < lost else index.ledger.confirm)(pending.pop(0))
        for row in pending:
            index.ledger.confirm(row)
        index.runs.end(run, "finished")


def never_ask_again(index: Index, all_looked: Callable[[], object]) -> None:
    """What was added or taken out since a client looked is not looked at; its first page waits for all."""
    store: Any = index.store
    checked, waits = store.claim, [all_looked]

    def claim(rows: Sequence[Row], _: Any, pages: Sequence[bytes]) -> list[int]:
        if waits:
            waits.pop()()
        added: list[int] = []
        while len(added) < len(rows):
            store._read()
            added += checked(rows[len(added) :], store.position(), pages[len(added) :])
        return added

    store.claim = claim


def crawled(folder: Path | None, lost: float = 0.0, fault: bool = False) -> list[Row]:
    """Let all clients crawl at once, of a file in *folder* or of a server; return the rows."""
    place = str(folder / "pages.db") if folder else postgres.empty()
    with open_index(place) as index:
        index.prepare()
    all_at_once(CLIENTS, crawl, place, lost, fault)
    with open_index(place) as index:
        assert (index.problems(), {run.ending for run in index.runs.all()}) == ([], {"finished"})
        rows = list(index.rows())
    assert folder is None or os.listdir(folder) == ["pages.db"]
    return rows


def pairs_kept_twice(rows: list[Row]) -> int:
    """Count the pairs of pages that were kept and are copies of each other by the rule for two pages."""
    kept: defaultdict[str, list[Fingerprint]] = defaultdict(list)
    for row in rows:
        if row.verdict.kept and row.outcome is Outcome.CONFIRMED:
            kept[row.sighting.url.rpartition("/")[2]].append(row.sighting.fingerprint)
    return sum(
        match(one, other, CONFIG).is_duplicate
        for pages in kept.values()
        for one, other in combinations(pages, 2)
    )


def lost_unnoticed(rows: list[Row]) -> int:
    """Count the copies that count as dropped rightly, and whose canonical nobody has."""
    outcome = {row.id: row.outcome for row in rows}
    return sum(
        row.outcome is Outcome.CONFIRMED and outcome[row.verdict.canonical or 0] is not Outcome.CONFIRMED
        for row in rows
        if not row.verdict.kept
    )


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path if request.param == "sqlite" else None


@pytest.mark.slow
def test_no_two_clients_keep_the_same(folder: Path | None) -> None:
    rows = crawled(folder)
    assert Counter(row.sighting.run for row in rows) == dict.fromkeys(range(1, CLIENTS + 1), TEXTS)
    assert (pairs_kept_twice(rows), lost_unnoticed(rows)) == (0, 0)
    assert Counter(row.verdict.kept for row in rows)[True] == TEXTS


@pytest.mark.slow
def test_nothing_leans_on_what_was_lost(folder: Path | None) -> None:
    # How many pages are lost after a copy of them was dropped is chance: some nearly always.
    crawls = (crawled(folder and folder / str(number), lost=0.3) for number in range(5))
    rows = next(rows for rows in crawls if Outcome.ORPHANED in {row.outcome for row in rows})
    assert Outcome.RELEASED in {row.outcome for row in rows}
    assert (lost_unnoticed(rows), pairs_kept_twice(rows)) == (0, 0)


def open_new_files(number: int, together: Barrier, folder: Path, files: int) -> None:
    for file in range(files):
        together.wait()
        with SQLiteIndex(folder / f"{file}.db") as index:
            index.runs.begin(f"process {number}")


def test_a_new_file_can_be_opened_by_several_processes_at_once(tmp_path: Path) -> None:
    files = 10
    all_at_once(CLIENTS, open_new_files, tmp_path, files)
    for file in range(files):
        with SQLiteIndex(tmp_path / f"{file}.db", create=False) as index:
            assert index.problems() == []
            assert sorted(one.spider for one in index.runs.all()) == [f"process {n}" for n in range(8)]
            assert {run.ending for run in index.runs.all()} == {"died"}
    assert sorted(os.listdir(tmp_path)) == sorted(f"{file}.db" for file in range(files))


@pytest.mark.slow
def test_the_proof_would_find_clients_that_do_not_ask_again() -> None:
    assert pairs_kept_twice(crawled(None, fault=True)) > 0


@pytest.mark.parametrize("fault", [False, True])
def test_what_is_lost_between_looking_and_adding_is_no_reason_to_drop(fault: bool) -> None:
    address = postgres.empty()
    first, second = variant(0, 0), variant(0, 1)
    with PostgresIndex(address) as one, PostgresIndex(address) as other:
        for index in (one, other):
            index.prepare()
        runs = one.runs.begin("one"), other.runs.begin("other")
        lost = find_or_add(one, first, "http://a.example/0", run=runs[0], config=CONFIG, confirmed=False)
        assert lost.row is not None
        row = lost.row
        if fault:
            never_ask_again(other, bool)
        store: Any = other.store
        claim = store.claim

        def claim_late(*args: Any) -> Any:
            one.ledger.release(row)
            return claim(*args)

        store.claim = claim_late
        find_or_add(other, second, "http://b.example/0", run=runs[1], config=CONFIG)
        rows = list(other.rows())
    assert lost_unnoticed(rows) == fault


def told(verdict: Verdict) -> tuple[object, ...]:
    match = verdict.similarity, verdict.lost, verdict.missing, verdict.finding
    return verdict.reason, verdict.kept, verdict.row, verdict.canonical, verdict.replaces, match


def seen_by_all(rng: Random) -> Iterator[Page]:
    """Yield pages of two hosts: texts, edits, records under few titles, and addresses that come again."""
    for number in range(120):
        host, at = rng.choice("ab"), rng.choice((number, number, rng.randrange(40)))
        said = rng.choice((text(rng.randrange(12), 150), edited(rng.randrange(12), rng.randrange(4))))
        if rng.random() < 0.4:
            said = f"{text(rng.choice((1, 2)), 15)} {text(rng.randrange(900, 920), 3)}"
        title = f"<title>{rng.choice(('Sea', 'Tide', f'Page {number}'))}</title>"
        yield Page.from_html(f"{title}<p>{said}", url=f"http://{host}.example/{at}")


@pytest.mark.parametrize(
    ("is_apart", "seeds"),
    [
        (True, range(4)),
        pytest.param(True, range(4, 40), marks=[pytest.mark.slow, pytest.mark.nightly]),
        (False, range(2)),
    ],
)
def test_claims_as_one_by_one(monkeypatch: pytest.MonkeyPatch, seeds: range, *, is_apart: bool) -> None:
    """Which the law would find if a page did not wait for others that it may repeat."""
    different = 0
    hosts = "http://a.example", "http://b.example"
    said = [Said(f"{hosts[0]}/{n + 1}", f"{hosts[1]}/{n}", SAYINGS[n % 2]) for n in range(99)]
    for seed in seeds:
        rng = Random(seed)
        unchanged = rng.choice(("keep", "drop"))
        config = DedupConfig(unchanged=unchanged, scope="global", exceptions=Exceptions.of(said))
        with MemoryIndex() as file, PostgresIndex(postgres.empty()) as server:
            indexes: tuple[Index, ...] = (file, server)
            for index in indexes:
                index.prepare()
            if not is_apart:
                monkeypatch.setattr(ledger, "apart", len)
            runs = [index.runs.begin("s") for index in indexes]
            pages = [(fingerprint(page), page.url) for page in seen_by_all(rng)]
            while pages:
                some, pages = pages[:16], pages[16:]
                at = rng.random()
                asked = [
                    PageToRecord(replace(sighting(one, url, run=runs[1], config=config), time=at))
                    for one, url in some
                ]
                alone = [file.ledger.find_or_add([it], config)[0] for it in asked]
                together: list[Verdict] = []
                while left := asked[len(together) :]:
                    together += server.ledger.find_or_add(left, config)
                different += list(map(told, alone)) != list(map(told, together))
                for verdict in alone:
                    if verdict.kept and verdict.row:
                        for index in indexes:
                            index.ledger.confirm(verdict.row)
    assert bool(different) is not is_apart
