"""Every store holds the same: whatever rows and records are put in, the same come out of each query."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.index import Row, Run, Sighting
from dedup.index import rows as sql
from dedup.index.rows import Note, numbers, of_dry_runs
from dedup.index.store import Store
from dedup.model.address import address_of
from dedup.model.errors import NoSuchRow
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.verdict import UNDONE, Outcome, Reason, Standing, Verdict, Visit
from tests.support import postgres
from tests.support.budget import examples
from tests.support.pages import glance_of

SCOPES, HOSTS, DIGEST = ("", "s"), ("a.example", "b.example"), bytes([1]) * 16
URL = "http://a.example/1"

few, flags, urls = st.integers(0, 3), st.booleans(), st.sampled_from(["", URL, "http://b.example/2?Q"])
kinds, scopes, titles = map(st.sampled_from, (("page", "item"), SCOPES, ("", "Tide", "tÏde")))
digests, outcomes = st.sampled_from([DIGEST, bytes(16)]), st.sampled_from(Outcome)
prints = st.builds(Fingerprint, few, few, st.just(bytes(BINS)), digests, digests, few)
of_page = prints, urls, urls, kinds, scopes, st.integers(1, 3), st.floats(1, 4), titles
keys = st.sampled_from(["", "1", "2"])
standings = st.sampled_from([None, Standing(1, 1), Standing(1, 1, is_elsewhere=True)])
reasons, first = st.just(Reason.UNCHANGED) | st.sampled_from(Reason), st.sampled_from([None, 1, 2, 3])
others = dict.fromkeys(("canonical", "previous", "replaces", "represents"), first)
verdicts = st.builds(Verdict, reasons, flags, standing=standings, **others)
sightings = st.builds(Sighting, *of_page, item_key=keys, is_dry=flags)
rows = st.builds(Row, st.just(0), sightings, verdicts, outcomes, flags)

# Conditions on rows, what they take, and what they mean.
CONDITIONS: list[tuple[str, tuple[Any, ...], Callable[[Row], bool]]] = [
    ("TRUE", (), lambda _: True),
    ("p.run = ?", (2,), lambda row: row.sighting.run == 2),
    (f"p.run IN {numbers((1, 3))}", (), lambda row: row.sighting.run in (1, 3)),
    (f"p.run IN {numbers(())}", (), lambda _: False),
    (f"p.id {sql.AMONG}", ("[1, 4, 99]",), lambda row: row.id in (1, 4)),
    (sql.IN_FORCE, (), lambda row: row.outcome not in UNDONE),
    (sql.IS_WANTED_BACK, (), lambda row: row.outcome is Outcome.RESTORED),
    (sql.MET_AGAIN, (), lambda row: row.is_met_again),
    (sql.OF_URL, (URL,), lambda row: row.sighting.url_key == URL),
    (of_dry_runs(()), (), lambda row: not row.sighting.is_dry),
    (of_dry_runs((2, 3)), (), lambda row: not row.sighting.is_dry or row.sighting.run in (2, 3)),
    ("p.is_elsewhere", (), lambda row: bool(row.verdict.standing and row.verdict.standing.is_elsewhere)),
    ("p.canonical = ? AND p.listed", (1,), lambda row: row.verdict.canonical == 1 and row.listed),
]
ORDERS: dict[str, Callable[[Row], Any]] = {
    "p.id": lambda row: row.id,
    "+p.id": lambda row: row.id,
    "p.id DESC": lambda row: -row.id,
    sql.LAST_RUN: lambda row: (-row.sighting.run, -row.id),
}


def postgres_store(address: str) -> Store:
    pytest.importorskip("psycopg")
    from dedup.index.server import Replica

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


def told(row: Row) -> Row:
    """Return *row* without what its verdict says of other rows."""
    about: dict[str, Any] = {"row": None, "canonical_url": "", "canonical_run": None, "standing": None}
    return replace(row, verdict=replace(row.verdict, **about))


@settings(max_examples=examples(200), deadline=None)
@given(
    made=st.lists(rows, min_size=3, max_size=12),
    settled=st.lists(st.tuples(st.sampled_from(CONDITIONS), outcomes, st.none() | outcomes), max_size=3),
    turned=st.lists(st.integers(0, 11), max_size=3),
)
def test_the_rows_that_are_asked_for(made: list[Row], settled: list[Any], turned: list[int]) -> None:
    store, expected = Store(None), [replace(row, id=number) for number, row in enumerate(made, 1)]
    with store.transaction(writing=True):
        assert [*map(store.add, made)] == expected
        for (where, values, holds), outcome, was in settled:
            found = [row for row in expected if holds(row) and was in (None, row.outcome)]
            assert store.set_outcome(outcome, where, *values, was=was) == len(found)
            expected = [replace(row, outcome=outcome) if row in found else row for row in expected]
        for at in (number % len(made) for number in turned):
            expected[at] = replace(expected[at], listed=not expected[at].listed)
            store.set_listed(store.row(1 + at), listed=expected[at].listed)
    assert [*map(told, store.rows())] == [*map(told, expected)]
    for where, values, holds in CONDITIONS:
        for order, key in ORDERS.items():
            wanted = [row.id for row in sorted(filter(holds, expected), key=key)]
            for limit in (-1, 2):
                asked = store.rows(where, *values, order=order, limit=limit)
                assert [row.id for row in asked] == wanted[: limit if limit > 0 else None]
    glances = [glance_of(row, store.scope(row.sighting.group)) for row in expected[1:]]
    assert [*store.glances(1)] == glances
    assert [row.id for row in store.rows_of([3, 99, 1])] == [1, 3]
    orphans = sum(row.outcome is Outcome.ORPHANED for row in expected)
    assert store.statistics()[:2] == (len(made), orphans)
    for run in (1, 2, 3):
        copies = [row.verdict for row in expected if row.sighting.run == run and not row.verdict.kept]
        clusters = Counter(copy.canonical for copy in copies if copy.canonical)
        largest = [(row.id, number) for row, number in store.clusters(run, 2)]
        assert largest == sorted(clusters.items(), key=lambda one: (-one[1], one[0]))[:2]


def test_a_long_list_of_rows_is_read_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.store._BATCH", 3)
    with store.transaction(writing=True):
        for number in range(10):
            store.add(plain(run=1 + number % 2))
    for order in ("p.id", "+p.id"):
        assert [row.id for row in store.rows(order=order)] == [*range(1, 11)]
        assert [row.id for row in store.rows("p.run = ?", 1, order=order)] == [1, 3, 5, 7, 9]
    assert [row.id for row in store.rows(limit=7)] == [*range(1, 8)]


def plain(run: int = 1) -> Row:
    page = Fingerprint(1, 1, bytes(BINS), DIGEST, DIGEST, 5)
    sighting = Sighting(page, URL, URL, "page", "", run, 1.0)
    return Row(0, sighting, Verdict(Reason.NEW, kept=True), Outcome.CONFIRMED, listed=False)


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
    assert store.select(Visit, host=HOSTS[1], run=2) == [Visit(it, HOSTS[1], 2, 0) for it in SCOPES]
    assert store.select(Note, prefix="a.") == [Note("a.1", "new"), Note("a.2", "text")]
    assert [store.select(Note, name=name) for name in ("a", "nothing")] == [[Note("a", "text")], []]
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
        store.set_outcome(Outcome.FORGOTTEN, "p.id = 1")
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
