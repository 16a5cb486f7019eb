"""Every store holds the same: whatever rows and records are put in, the same come out of each query."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dedup.index import Row, Run, Sighting
from dedup.index.address import address_of
from dedup.index.rows import Note
from dedup.index.store import Store
from dedup.model.errors import NoSuchRow
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.verdict import Outcome, Reason, Verdict, Visit
from tests.support import postgres

SCOPES, HOSTS, DIGEST = ("", "s"), ("a.example", "b.example"), bytes([1]) * 16


def postgres_store(address: str) -> Store:
    pytest.importorskip("psycopg")
    from dedup.index.replica import Replica

    return Replica(address_of(address))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":
        made = postgres_store(postgres.empty())
    else:
        made = Store(None if request.param == "memory" else tmp_path / "pages.db")
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def opened_twice(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two stores in one place, as two processes open it."""
    if request.param == "postgres":
        address = postgres.empty()
        one, other = (postgres_store(address) for _ in range(2))
    else:
        one, other = (Store(tmp_path / "pages.db") for _ in range(2))
    yield one, other
    one.close()
    other.close()


def test_a_long_list_of_rows_is_read_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.store._BATCH", 3)
    with store.transaction(writing=True):
        for number in range(10):
            store.add(plain(run=1 + number % 2))
    for order in ("p.id", "+p.id"):
        assert [row.id for row in store.rows(order=order)] == [*range(1, 11)]
        assert [row.id for row in store.rows("p.run = ?", 1, order=order)] == [1, 3, 5, 7, 9]
    assert [row.id for row in store.rows(limit=7)] == [*range(1, 8)]


def plain(run: int = 1, url: str = "http://a.example/1", *, listed: bool = False) -> Row:
    page = Fingerprint(1, 1, bytes(BINS), DIGEST, DIGEST, 5)
    sighting = Sighting(page, url, url, "page", "", run, 1.0)
    return Row(0, sighting, Verdict(Reason.NEW, kept=True), Outcome.CONFIRMED, listed=listed)


def test_a_row_that_is_not_there(store: Store) -> None:
    with pytest.raises(NoSuchRow, match=r"^there is no row 7 in "):
        store.row(7)


def test_records_are_read_in_their_order_and_renewed_only_if_that_is_wanted(store: Store) -> None:
    visits = [Visit(scope, host, run, 0) for scope in SCOPES for host in HOSTS for run in (1, 2)]
    with store.transaction(writing=True):
        for number in (1, 2):
            run = store.add_run(Run(0, "s", "", 1.0, is_imported=number == 1))
            store.put(replace(run, ended=2.0, began=number))
        store.put(*visits, *(Note(name, "text") for name in ("b.1", "a.2", "a", "a.1")))
        for number, stored in ((1, b"old"), (2, b"page"), (1, b"other")):
            store.keep_page(number, stored)
        store.put(Visit("", HOSTS[0], 1, 7), Note("a", "other"), renew=False)
        store.put(Visit("", HOSTS[0], 2, 9), Note("a.1", "new"))
    first, *others, last = store.select(Visit)
    assert (first, last, len(others)) == (Visit("", HOSTS[0], 1, 0), Visit("", HOSTS[0], 2, 9), 6)
    assert store.select(Visit, host=HOSTS[1], run=2) == [
        Visit(scope, HOSTS[1], 2, 0) for scope in SCOPES
    ]
    assert store.select(Note, prefix="a.") == [Note("a.1", "new"), Note("a.2", "text")]
    assert (store.note("a"), store.note("nothing")) == ("text", "")
    assert store.pages([1, 7]) == {1: b"other"}
    runs = [(run.id, run.ended, run.began, run.is_imported) for run in store.select(Run)]
    assert runs == [(1, 2.0, 1, True), (2, 2.0, 2, False)]
    with store.transaction(writing=True):
        store.delete(Note, prefix="a.")
        store.remove_pages([2])
        store.delete(Visit, run=2)
    assert store.select(Note, prefix="a") == [Note("a", "text")]
    assert [*store.all_pages()] == [b"other"]
    assert {one.run for one in store.select(Visit)} == {1}


def test_what_fails_is_undone_as_a_whole(store: Store) -> None:
    with store.transaction(writing=True):
        store.add(plain(), b"page")
    with suppress(KeyError), store.transaction(writing=True):
        store.add(plain(2), b"page")
        store.settle(Outcome.FORGOTTEN, "p.id = 1")
        store.set_listed(store.row(1), listed=True)
        with store.transaction(writing=True), store.transaction(writing=False):
            store.put(Note("name", "text"), Visit("", "a", 1, 0))
            store.leases.take(store.add_run(Run(0, "s", "", 1.0)).id)
        raise KeyError
    (row,) = store.rows()
    assert (row.outcome, row.listed) == (Outcome.CONFIRMED, False)
    assert (store.select(Run), store.select(Visit)) == ([], [])
    assert store.select(Note, name="name") == []
    assert [*store.all_pages()] == [b"page"]
    assert store.undone == 1


def test_runs_are_held_while_their_process_lives(opened_twice: tuple[Store, Store]) -> None:
    one, other = opened_twice
    with one.transaction(writing=True):
        run = one.add_run(Run(0, "s", "", 1.0)).id
        one.leases.take(run)
    assert one.leases.is_held(run)
    assert other.leases.is_held(run)
    assert not other.leases.is_held(run + 1)
    one.leases.release(run)
    assert not one.leases.is_held(run)
    assert not other.leases.is_held(run)
