"""What only an index on a server has: an address with a password, leases, clients of other releases."""

import logging
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dedup import DedupConfig, Detector, PostgresIndex, fingerprint
from dedup.index import ledger
from dedup.index.index import open_index
from dedup.index.server import SCHEMA_VERSION
from dedup.model.errors import IndexUnavailable, RunEnded, ServerAway
from dedup.model.verdict import Outcome, Reason
from dedup.settings import DedupSettings
from tests.support import postgres
from tests.support.commands import NAMES, run, with_index
from tests.support.pages import claim, edited, find_or_add, page, sighting, submit, text
from tests.support.postgres import connected

CONFIG = DedupConfig()
PRINT = fingerprint(page(text(1)))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.server.LEASE", 1.0)


PASSWORD = "t1de!water"


def test_a_password_is_in_no_message_or_row(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = address.replace("crawler@", f"crawler:{PASSWORD}@")
    settings = DedupSettings(index=secret)
    assert PASSWORD not in repr(settings)
    with open_index(secret) as index:
        index.runs.end(index.runs.begin("s", job=repr(settings)), "finished")
        told = repr([index.name, index.runs.all(), index.problems(), index.store.statistics()])
    with pytest.raises(IndexUnavailable) as away:
        open_index(f"postgresql://crawler:{PASSWORD}@127.0.0.1:1/db")
    for said in (told, str(away.value), caplog.text):
        assert PASSWORD not in said
    assert away.value.__cause__ is None


ADDRESSES = (
    f"postgresql://u:{PASSWORD}@127.0.0.1:1/db",
    f"postgres://u:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://127.0.0.1:1/db?user=u&password={PASSWORD}",
    f"postgresql://u:a@{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://u:{PASSWORD}/db",
    f"postgresql://u:a {PASSWORD}@127.0.0.1:1/db",
    f"POSTGRESQL://u:{PASSWORD}@127.0.0.1:1/db",
)
PLACES = ((), ("--index",), ("--output",), ("--since",), ("-s",))


@pytest.mark.parametrize("command", [*NAMES, ""])
def test_none_shows_a_password(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = [command] if command else []
    places = PLACES[:2] if command == "try" else PLACES  # what crawls only sees it in one place
    for address in ADDRESSES:
        for before in places:
            for after in ((), (address,)):
                given = [*named, *before, address, *after]
                done = run(*given)
                assert PASSWORD not in done.output, given
                assert PASSWORD not in repr(done.exception), given


def test_a_missing_index_is_made_only_where_that_is_wanted() -> None:
    address = postgres.server().address("nothing_here")
    for choices in ({"create": False}, {"read_only": True}):
        with pytest.raises(IndexUnavailable, match="there is no index here yet"):
            open_index(address, **choices)


def test_a_schema_that_others_have_made_and_use_is_used_too() -> None:
    address = postgres.empty("shared").replace("crawler@", "guest@")
    with connected(address.replace("guest@", "crawler@")) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("CREATE SCHEMA shared")
        connection.execute("GRANT USAGE, CREATE ON SCHEMA shared TO guest")
        connection.execute("CREATE TABLE shared.others ()")
    for number in (1, 2):
        with PostgresIndex(address) as index:
            assert index.runs.begin("s").id == number


def test_a_newer_index_is_refused(address: str) -> None:
    update = "UPDATE @.meta SET value = %s WHERE name = 'version'"
    with PostgresIndex(address) as index:
        store: Any = index.store
        store._server.execute(update, ("999",))
        try:
            with pytest.raises(IndexUnavailable, match="schema version 999"):
                PostgresIndex(address)
        finally:
            store._server.execute(update, (str(SCHEMA_VERSION),))


def test_who_only_reads_changes_nothing_and_needs_few_rights(address: str) -> None:
    with PostgresIndex(address) as index, Detector(index, CONFIG) as detector:
        detector.check(page(text(1), "http://a/1"))
    reader = address.replace("crawler@", "reader@")
    with connected(address) as connection:
        connection.execute("DROP OWNED BY reader") if connection.execute(
            "SELECT FROM pg_roles WHERE rolname = 'reader'"
        ).fetchone() else connection.execute("CREATE ROLE reader LOGIN")
        for statement in documented_rights("reader"):
            connection.execute(statement)
    with PostgresIndex(reader, read_only=True) as index:
        assert [row.sighting.url for row in index.rows()] == ["http://a/1"]
        with pytest.raises(IndexUnavailable):
            index.ledger.forget(url="http://a/1")
    with pytest.raises(IndexUnavailable, match="may not do this"):
        PostgresIndex(reader).runs.begin("s")
    for command in (["check"], ["restore", "--list", "dropped"], ["report"], ["rules"]):
        done = run(*with_index(command, reader))
        assert (done.exit_code, "may not" in done.output) == (0, False), (command, done.output)


def documented_rights(role: str) -> list[str]:
    """Return the statements of the documentation that make a role which only reads."""
    text = Path(__file__).parents[2].joinpath("docs/how-to/many-machines.md").read_text("utf-8")
    block = text.partition("-- A role that only reads")[2].partition("```")[0]
    lines = [line for line in block.splitlines()[1:] if line and not line.startswith("--")]
    return [line.replace("looker", role).rstrip(";") for line in lines if "CREATE ROLE" not in line]


@pytest.mark.usefixtures("quick")
def test_a_run_that_is_renewed_stays_and_one_that_is_not_is_buried(address: str) -> None:
    with PostgresIndex(address) as index, Detector(index, CONFIG, "s") as detector:
        pending = submit(detector, detector.sighting(page(text(1), "http://a/1")))
        copy = submit(detector, detector.sighting(page(edited(1), "http://a/2")))
        time.sleep(1.5)
        with PostgresIndex(address) as other:
            assert [run.ended for run in other.runs.all()] == [None]
        index.store.leases._closed.set()  # type: ignore[attr-defined]
        time.sleep(1.5)
        with PostgresIndex(address) as other:
            assert [run.ending for run in other.runs.all()] == ["died"]
            outcomes = [row.outcome for row in other.rows()]
        assert outcomes == [Outcome.RELEASED, Outcome.ORPHANED]
        assert (pending.kept, copy.kept) == (True, False)
        # The process comes back: a new run, in which the page that was lost is kept.
        again = submit(detector, detector.sighting(page(text(1), "http://a/1")))
        assert (again.reason, detector.run.id) == (Reason.NEW, 2)
    with PostgresIndex(address) as index:
        assert [run.ending for run in index.runs.all()] == ["died", "finished"]
        assert index.problems() == []


def test_nothing_is_added_to_a_run_that_others_have_ended(address: str) -> None:
    with PostgresIndex(address) as index, PostgresIndex(address) as other:
        index.prepare()
        run, asked = index.runs.begin("s"), index.ledger._verdict
        store: Any = other.store
        store._server.execute("UPDATE @.leases SET until = now() - interval '1 hour'")
        other.runs.end_dead_runs()

        def ask(*given: Any, **how: Any) -> Any:
            found = asked(*given, **how)
            other.runs.let_go(run)  # as often as it asks, so that it ends by adding without a claim
            return found

        index.ledger._verdict = ask  # type: ignore[method-assign]
        with pytest.raises(RunEnded):
            find_or_add(index, PRINT, "http://a/1", run=run, config=CONFIG, confirmed=False)
        assert list(other.rows()) == []
        index.runs.end(run, "finished")
        assert [one.ending for one in other.runs.all()] == ["died"]


def test_who_waited_for_a_lock_sees_what_was_changed_meanwhile(address: str) -> None:
    with connected(address) as connection:
        connection.execute("ALTER ROLE crawler SET default_transaction_isolation = 'repeatable read'")
    try:
        with PostgresIndex(address) as index, PostgresIndex(address) as other:
            index.prepare()
            runs = index.runs.begin("s"), other.runs.begin("s")
            kept = find_or_add(index, PRINT, "http://a/1", run=runs[0], config=CONFIG, confirmed=False)
            seen = sighting(PRINT, "http://b/1", run=runs[1], config=CONFIG)
            verdict, at = other.ledger.judge(seen, CONFIG), other.store.position()
            assert verdict.canonical == kept.row
            claims: list[Any] = []
            late = Thread(target=lambda: claims.append(claim(other, seen, verdict, at)))
            with index.batch():
                assert kept.row
                index.ledger.release(kept.row)
                late.start()
                time.sleep(0.5)
            late.join()
            assert claims == [None]
    finally:
        with connected(address) as connection:
            connection.execute("ALTER ROLE crawler RESET default_transaction_isolation")


def test_an_unanswered_page_is_no_copy_of_itself(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresIndex(address) as index, Detector(index, CONFIG) as detector:
        store: Any = index.store
        assert detector.run
        add = store.claim

        def cut(*given: Any) -> None:
            monkeypatch.undo()
            assert add(*given)
            raise ServerAway("the connection was cut behind the commit")

        for is_confirmed in (True, False):
            seen = detector.sighting(page(text(is_confirmed), f"http://a/{is_confirmed}"))
            monkeypatch.setattr(store, "claim", cut)
            with pytest.raises(ServerAway):
                submit(detector, seen, confirmed=is_confirmed)
            again = submit(detector, seen, confirmed=is_confirmed)
            assert (again.kept, again.reason) == (True, Reason.NEW)


def test_nor_is_one_claimed_while_another_process_held_the_file_of_this_machine(address: str) -> None:
    """It is in the log by then: the server counts as away, and the page is asked about again."""
    with PostgresIndex(address) as index, Detector(index, CONFIG) as detector:
        first, seen = (detector.sighting(page(text(n), f"http://a/{n}")) for n in range(2))
        submit(detector, first, confirmed=True)
        index.store.wait_at_most(0.2)
        with closing(sqlite3.connect(index.store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ServerAway, match="another process held the index for too long"):
                submit(detector, seen, confirmed=True)
        again = submit(detector, seen, confirmed=True)
        assert (again.kept, again.reason) == (True, Reason.NEW)
        outcomes = [row.outcome for row in index.store.rows()]
        assert outcomes == [Outcome.CONFIRMED, Outcome.RELEASED, Outcome.CONFIRMED]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_nor_is_one_whose_commit_was_not_answered(
    address: str, monkeypatch: pytest.MonkeyPatch, is_confirmed: bool
) -> None:
    """After vain tries a client asks and adds alone: that commit can be cut as well."""
    monkeypatch.setattr(ledger, "_TRIES", 0)
    with PostgresIndex(address) as index, Detector(index, CONFIG) as detector:
        store: Any = index.store
        transaction = store.transaction

        @contextmanager
        def cut(**given: Any) -> Iterator[None]:
            rows = store.last()
            with transaction(**given):
                yield
            if store.last() == rows:
                return
            monkeypatch.setattr(store, "transaction", transaction)
            raise ServerAway("the connection was cut behind the commit")

        seen = detector.sighting(page(text(1), "http://a/1"))
        monkeypatch.setattr(store, "transaction", cut)
        with pytest.raises(ServerAway):
            submit(detector, seen, confirmed=is_confirmed)
        again = submit(detector, seen, confirmed=is_confirmed)
        assert (again.kept, again.reason) == (True, Reason.NEW)
        other = submit(detector, detector.sighting(page(text(1), "http://a/2")), confirmed=is_confirmed)
        assert other.canonical == again.row


def test_texts_come_back_whatever_the_client_is_told_to_speak(address: str) -> None:
    odd = "雪a\0b\ue000c\ue0000"
    with PostgresIndex(address + "&client_encoding=LATIN1") as index:
        index.runs.begin(odd, job=odd)
    with PostgresIndex(address) as index:
        assert [(run.spider, run.job) for run in index.runs.all()] == [(odd, odd)]


def test_a_question_that_takes_too_long_is_given_up(address: str) -> None:
    with PostgresIndex(address) as index, PostgresIndex(address) as other:
        index.store.wait_at_most(0.3)
        run = index.runs.begin("s")
        with other.batch(), pytest.raises(ServerAway, match="another process held the index for too"):
            index.runs.end(run, "finished")
        index.runs.end(run, "finished")


def test_a_server_that_falls_silent_is_waited_for_no_longer_than_was_said(
    own_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.index.server._MARGIN", 0.5)
    with PostgresIndex(own_server.address()) as index:
        index.store.wait_at_most(1.0)
        index.runs.all()
        store: Any = index.store
        backend = store._server._connected().info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(ServerAway):
            index.runs.begin("s")
        assert time.monotonic() - begin < 5
        os.kill(backend, signal.SIGCONT)
        assert index.runs.all() == []
        assert index.runs.begin("s").id == 1


@pytest.mark.parametrize(("name", "other"), [("crawler@", "stranger@"), ("/postgres?", "/nothing?")])
def test_a_wrong_name_is_refused_and_no_server_that_is_away(address: str, name: str, other: str) -> None:
    with pytest.raises(IndexUnavailable) as refused:
        PostgresIndex(address.replace(name, other))
    assert not isinstance(refused.value, ServerAway)


def test_who_does_not_listen_is_away() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(ServerAway):
        PostgresIndex("postgresql://crawler@127.0.0.1:1/postgres")


@pytest.mark.parametrize("says", ["starting up", "shutting down", "in recovery mode"])
def test_so_is_who_is_not_ready(says: str) -> None:
    error = pytest.importorskip("psycopg").OperationalError(f"FATAL:  the database system is {says}")
    assert import_module("dedup.index.server")._kind_of(error) is ServerAway


def test_a_run_is_held_by_the_clock_of_the_server_whatever_those_of_its_clients_say(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose clock is an hour late, or early, begins no run that looks dead or endless."""
    now = time.time
    with PostgresIndex(address) as index, Detector(index, CONFIG, "s") as detector:
        kept = detector.check(page(text(1), "http://a/1"))
        for hours in (-1, 1):
            monkeypatch.setattr(time, "time", lambda hours=hours: now() + 3600 * hours)
            with PostgresIndex(address) as other, Detector(other, CONFIG, "s") as late:
                assert late.check(page(edited(1), f"http://b/{hours}")).canonical == kept.row
                assert late.check(page(text(10 + hours), f"http://c/{hours}")).reason is Reason.NEW
                assert index.runs.all()[0].ended is None
            monkeypatch.undo()
        assert [run.ending for run in index.runs.all()] == ["", "finished", "finished"]
        assert index.problems() == []
    with PostgresIndex(address) as index:
        assert [run.ending for run in index.runs.all()] == ["finished"] * 3


def test_a_claim_never_reads_the_whole_log(address: str) -> None:
    with PostgresIndex(address) as index, connected(address) as connection:
        run = index.runs.begin("s")

        def scans(first: int) -> int:
            for number in range(first, first + 10):  # from the sixth on by a plan for any values
                url = f"http://a.example/{number}"
                found = find_or_add(index, fingerprint(page(text(number))), url, run=run, config=CONFIG)
                assert found.kept
            time.sleep(1.1)  # so often the server counts
            counted = "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'dedup.log'::regclass"
            ((scanned,),) = connection.execute(counted).fetchall()
            return int(scanned)

        scans(0)
        connection.execute(
            "INSERT INTO dedup.log SELECT position + n, n, rows, false, '\\x90' "
            "FROM dedup.state, generate_series(1, 3000) n"
        )
        connection.execute("UPDATE dedup.state SET position = position + 3000")
        scans(10)
        assert scans(20) == scans(30)
