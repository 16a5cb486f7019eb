"""Every store holds the same: whatever rows and records are put in, the same come out of each query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.algorithms.sketch import BINS
from dedup.index import Row, Sighting
from dedup.index.address import address_of
from dedup.index.rows import NOT_UNDONE, Note, Order, Prefix, Query, Store, StoredPage, the_row
from dedup.index.store import SQLiteStore
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import NoSuchRow, Run, Visit, Withheld, glance_of
from dedup.values.verdict import Outcome, Reason, Standing, Verdict
from tests import postgres
from tests.budget import examples
from tests.dedup.index.scan_store import ScanStore

KINDS, SCOPES, HOSTS = ("page", "item"), ("", "s"), ("a.example", "b.example")
KEYS, URLS = ("", "1", "2"), ("", "http://a.example/1", "http://b.example/2?Q")
DIGESTS = tuple(bytes([number]) * 16 for number in range(3))
RUNS = (1, 2, 3, 4)
ROWS = 12

runs = st.frozensets(st.sampled_from(RUNS), max_size=3)
numbers = st.integers(1, ROWS)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    url, canonical = draw(st.sampled_from(URLS)), draw(st.none() | st.integers(1, 3))
    page = Fingerprint(
        draw(st.integers(0, 3)),
        draw(st.integers(0, 3)),
        bytes(BINS),
        draw(st.sampled_from(DIGESTS)),
        draw(st.sampled_from(DIGESTS)),
        draw(st.integers(0, 1)),
    )
    sighting = Sighting(
        page,
        url=url,
        url_key=url,
        kind=draw(st.sampled_from(KINDS)),
        scope=draw(st.sampled_from(SCOPES)),
        run=draw(st.sampled_from(RUNS)),
        time=float(draw(st.integers(1, 4))),
        title=draw(st.sampled_from(["", "Tide", "tÏde", "q"])),
        item_key=draw(st.sampled_from(KEYS)),
        is_dry=draw(st.booleans()),
    )
    verdict = Verdict(
        draw(st.sampled_from(Reason)),
        draw(st.booleans()),
        similarity=draw(st.sampled_from([None, 0.5, 1.0])),
        canonical=canonical,
        standing=draw(st.sampled_from([None, Standing(1, 1), Standing(1, 1, is_elsewhere=True)])),
        previous=draw(st.sampled_from([None, 1, canonical])),
        replaces=draw(st.none() | st.integers(1, 3)),
        represents=draw(st.none() | st.integers(1, 3)),
    )
    return Row(0, sighting, verdict, draw(st.sampled_from(Outcome)), draw(st.booleans()))


queries = st.builds(
    Query,
    ids=st.none() | st.lists(numbers, max_size=3),
    after=st.none() | st.integers(0, ROWS),
    group=st.none() | st.tuples(st.sampled_from([*KINDS, "?"]), st.sampled_from(SCOPES)),
    url_key=st.none() | st.sampled_from(URLS),
    item_key=st.none() | st.sampled_from(KEYS),
    body_digest=st.none() | st.sampled_from(DIGESTS),
    token_digest=st.none() | st.sampled_from(DIGESTS),
    canonical=st.none() | st.integers(1, 3),
    previous=st.none() | st.integers(1, 3),
    cluster=st.none() | st.integers(1, 3),
    before_run=st.none() | st.sampled_from(RUNS),
    unseen_since=st.none() | st.floats(0, 5),
    limit=st.none() | st.integers(0, 4),
    runs=st.none() | runs,
    not_runs=st.none() | runs,
    dry_runs=st.none() | runs,
    outcomes=st.none() | st.lists(st.sampled_from(Outcome), unique=True).map(tuple),
    kept=st.none() | st.booleans(),
    listed=st.none() | st.booleans(),
    replaces=st.none() | st.booleans(),
    represents=st.none() | st.booleans(),
    elsewhere=st.none() | st.booleans(),
    met_again=st.none() | st.booleans(),
    order=st.sampled_from(Order),
)


def few(query: Query, kept: list[bool]) -> Query:
    """Leave most conditions out, else nothing would ever meet them."""
    left = [name for name, is_kept in zip(Query._fields, kept, strict=True) if not is_kept]
    return query._replace(**{name: Query._field_defaults[name] for name in left})


some_queries = st.builds(
    few,
    queries,
    st.lists(
        st.sampled_from([True, False, False, False]),
        min_size=len(Query._fields),
        max_size=len(Query._fields),
    ),
)


Open = Callable[[], Store]


@pytest.fixture(scope="module", params=["sqlite", "memory", "postgres"])
def fast_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """What makes an empty store that is not the linear scan."""
    if request.param == "postgres":
        return lambda: postgres_store(postgres.empty())
    if request.param == "memory":
        return lambda: SQLiteStore(None)
    folder = tmp_path_factory.mktemp("stores")

    def sqlite_store() -> Store:
        for old in folder.iterdir():
            old.unlink()
        return SQLiteStore(folder / "pages.db")

    return sqlite_store


def postgres_store(address: str) -> Store:
    pytest.importorskip("psycopg")
    from dedup.index.replica import PostgresStore

    return PostgresStore(address_of(address))


@pytest.fixture(params=["scan", "memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":
        made = postgres_store(postgres.empty())
    elif request.param == "scan":
        made = ScanStore()
    else:
        made = SQLiteStore(None if request.param == "memory" else tmp_path / "pages.db")
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def opened_twice(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two stores in one place, as two processes open it."""
    if request.param == "postgres":
        address = postgres.empty()
        one, other = (postgres_store(address) for _ in range(2))
    else:
        one, other = (SQLiteStore(tmp_path / "pages.db") for _ in range(2))
    yield one, other
    one.close()
    other.close()


def facts(row: Row) -> tuple[Any, ...]:
    """What a row is, but for what its verdict says of other rows."""
    found = row.verdict
    told = (found.reason, found.kept, found.canonical, found.previous, found.replaces, found.represents)
    return (row.id, row.sighting, told, row.outcome, row.listed)


@settings(max_examples=examples(100), deadline=None)
@given(
    made=st.lists(rows(), min_size=3, max_size=ROWS),
    asked=st.lists(some_queries, min_size=10, max_size=40),
    changed=st.lists(
        st.tuples(some_queries, st.none() | st.sampled_from(Outcome), st.none() | st.booleans()),
        max_size=3,
    ),
)
def test_every_store_gives_the_same_rows(
    fast_store: Open, made: list[Row], asked: list[Query], changed: list[Any]
) -> None:
    slow, fast = stores = ScanStore(), fast_store()
    for one in stores:
        with one.transaction(writing=True):
            assert [one.add(row).id for row in made] == list(range(1, len(made) + 1))
            for which, outcome, listed in changed:
                one.change(
                    which._replace(order=Order.OLDEST, limit=None), outcome=outcome, listed=listed
                )
    for query in asked:
        assert [*map(facts, fast.rows(query))] == [*map(facts, slow.rows(query))], query
    assert (
        list(fast.glances(1, None))
        == list(slow.glances(1, None))
        == [glance_of(row) for row in slow.rows(Query(after=1))]
    )
    assert replace(fast.statistics(), bytes=0) == slow.statistics()
    assert fast.last() == slow.last() == len(made)
    for run in (None, 1):
        choices: dict[str, Any] = {"run": run, "forgotten": bool(run), "min_copies": 2, "limit": 2}
        assert fast.clusters(**choices) == slow.clusters(**choices)
    for query in asked[:5]:
        count = {one.change(query._replace(limit=None), outcome=Outcome.PENDING) for one in stores}
        assert len(count) == 1
    assert [*map(facts, fast.rows(Query()))] == [*map(facts, slow.rows(Query()))]
    fast.close()


def test_a_long_list_of_rows_is_read_in_batches(
    fast_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.index.store._BATCH", 3)
    slow, fast = stores = ScanStore(), fast_store()
    for one in stores:
        with one.transaction(writing=True):
            for number in range(10):
                one.add(plain(run=1 + number % 2))
    for query in (Query(), Query(runs=frozenset([1])), Query(after=4), Query(limit=7)):
        assert [found.id for found in fast.rows(query)] == [found.id for found in slow.rows(query)]
    fast.close()


def plain(run: int = 1, url: str = "http://a.example/1", *, listed: bool = False) -> Row:
    page = Fingerprint(1, 1, bytes(BINS), DIGESTS[1], DIGESTS[1], 5)
    sighting = Sighting(page, url, url, "page", "", run, 1.0)
    return Row(0, sighting, Verdict(Reason.NEW, kept=True), Outcome.CONFIRMED, listed=listed)


def test_a_row_that_is_not_there(store: Store) -> None:
    with pytest.raises(NoSuchRow, match=r"^there is no row 7 in "):
        the_row(store, 7)


def test_the_outcomes_of_rows_that_were_not_taken_back() -> None:
    assert {outcome for outcome in Outcome if outcome not in NOT_UNDONE} == {"released", "forgotten"}


# Records

RECORDS = [
    *(Visit(scope, host, run, 0) for scope in SCOPES for host in HOSTS for run in (1, 2)),
    *(Note(name, "text") for name in ("a.1", "a.2", "a", "b.1")),
    *(StoredPage(row, b"page") for row in (1, 2)),
    *(
        Withheld(1, url, what, "", run)
        for url in ("http://a/", "http://a/#top", "http://b/")
        for what in ("link", "rule")
        for run in (1, 2)
    ),
]
CONDITIONS: list[tuple[type, dict[str, Any]]] = [
    (Visit, {}),
    (Visit, {"run": (1, 3)}),
    (Visit, {"scope": ("", "s"), "host": HOSTS[0], "run": frozenset([2])}),
    (Visit, {"run": 1, "limit": 1}),
    (Note, {"name": Prefix("a.")}),
    (Note, {"name": "a"}),
    (StoredPage, {"row": 2}),
    (StoredPage, {"row": [1, 7]}),
    (Withheld, {}),
    (Withheld, {"run": 2}),
    (Run, {}),
    (Run, {"id": 2}),
]


@settings(max_examples=examples(100), deadline=None)
@given(
    put=st.lists(st.tuples(st.sampled_from(RECORDS), st.booleans()), max_size=30),
    gone=st.lists(
        st.sampled_from([found for found in CONDITIONS if "limit" not in found[1]]), max_size=1
    ),
    after=st.integers(0, 3),
)
def test_every_store_gives_the_same_records(
    fast_store: Open, put: list[Any], gone: list[Any], after: int
) -> None:
    slow, fast = stores = ScanStore(), fast_store()
    for one in stores:
        with one.transaction(writing=True):
            for number in (1, 2):
                run = one.add_run(Run(0, "s", "", "", 1.0, is_imported=number == 1))
                one.put(replace(run, ended=2.0, began=number))
            for number, (record, renew) in enumerate(put):
                changed = record._replace(after=number) if isinstance(record, Visit) else record
                one.put(changed, renew=renew)
            one.put(Note("new", "1"), Note("new", "2"), renew=bool(after))
    for _ in range(2):
        for kind, fields in CONDITIONS:
            found = [one.select(kind, **fields) for one in stores]
            assert found[0] == found[1], (kind, fields)
        assert [run.is_imported for run in fast.select(Run)] == [
            run.is_imported for run in slow.select(Run)
        ]
        for kind, fields in gone:
            for one in stores:
                if kind is not Run:
                    with one.transaction(writing=True):
                        one.delete(kind, **fields)
    fast.close()


# Transactions


def test_what_fails_is_undone_as_a_whole(store: Store) -> None:
    with store.transaction(writing=True):
        store.add(plain(), b"page")
    state = store.state()
    with suppress(KeyError), store.transaction(writing=True):
        store.add(plain(2), b"page")
        store.change(Query(ids=(1,)), outcome=Outcome.FORGOTTEN, listed=True)
        with store.transaction(writing=True), store.transaction(writing=False):
            store.put(Note("name", "text"), Visit("", "a", 1, 0))
            store.lease(store.add_run(Run(0, "s", "", "", 1.0)).id)
        raise KeyError
    (row,) = store.rows(Query())
    assert (row.outcome, row.listed) == (Outcome.CONFIRMED, False)
    assert (store.select(Run), store.select(Visit)) == ([], [])
    assert store.select(Note, name="name") == []
    assert store.select(StoredPage) == [StoredPage(1, b"page")]
    assert store.state() != state


def test_a_token_lasts_until_its_group_changes(store: Store) -> None:
    group = ("page", "")
    steps: list[Callable[[], object]] = [
        lambda: store.add(plain()),
        lambda: store.add(plain(2)),
        lambda: store.change(Query(ids=(1,)), listed=True),
        lambda: store.change(Query(ids=(1,)), outcome=Outcome.RELEASED),
    ]
    tokens = []
    for step in steps:
        with store.transaction(writing=True):
            step()
        with store.transaction(writing=True):
            tokens.append(store.token(group))
            store.put(Note("name", "text"))
            assert store.token(group) == tokens[-1]
    assert len(set(tokens)) == len(tokens)


def test_another_connection_changes_state_and_token(opened_twice: tuple[Store, Store]) -> None:
    one, other = opened_twice
    told = []
    for run in (1, 2):
        with one.transaction(writing=False):
            told.append((one.state(), one.token(("page", ""))))
        with other.transaction(writing=True):
            other.add(plain(run))
            other.announce()
    with one.transaction(writing=False):
        told.append((one.state(), one.token(("page", ""))))
    assert len({state for state, _ in told}) == len({token for _, token in told}) == 3


def test_runs_are_held_while_their_process_lives(opened_twice: tuple[Store, Store]) -> None:
    one, other = opened_twice
    with one.transaction(writing=True):
        run = one.add_run(Run(0, "s", "", "", 1.0)).id
        one.lease(run)
    assert one.is_leased(run)
    assert other.is_leased(run)
    assert not other.is_leased(run + 1)
    one.release(run)
    assert not one.is_leased(run)
    assert not other.is_leased(run)


def test_a_file_of_sqlite_has_nothing_beside_it_when_it_is_closed(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "pages.db")
    with store.transaction(writing=True):
        store.lease(store.add_run(Run(0, "s", "", "", 1.0)).id)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["pages.db"]
