"""What can happen to a server in a crawl: nothing is lost or kept twice, and one sentence says what to do."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import get_ident
from typing import Any, NamedTuple

import pytest
from scrapy.crawler import Crawler as ScrapyCrawler

from dedup import PostgresIndex
from dedup.index.server import _APPEND, Server
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.verdict import Outcome
from tests.crawls.test_server_away import CONTENTS, UNIQUE, begun, delivered, wait_for_rows
from tests.plugin.crawls import Staged, page, stored
from tests.support import postgres
from tests.support.commands import run
from tests.support.crawling import KNOBS, Crawl, wait_until
from tests.support.disks import fill, mounted

Do = Callable[[postgres.Server], object]
DRAFT = "Pages are judged by what this machine knows until the server is back: .*"
BACK = "The server is back and knows of [0-9]+ pages that were judged without it; 0 "
MAY_NOT = "the role may not do this here; docs/how-to/many-machines.md has the statements that let it$"
READS = "the server only reads; name the one that writes, as by target_session_attrs=read-write$"
QUICK = {KNOBS: {"dedup.plugin.crawl_index.LONGEST_ANSWER": 1.0}}


def sql(*statements: str) -> Do:
    """Return what lets the superuser run *statements*, whatever was done to the role of the crawls."""
    return lambda server: _run(server, statements)


def _run(server: postgres.Server, statements: tuple[str, ...]) -> None:
    with postgres.connected(server.address()) as connection:
        for statement in ("SET default_transaction_read_only = off", *statements):
            connection.execute(statement)


def made(server: postgres.Server) -> postgres.Server:
    with PostgresIndex(server.address()):
        return server


def restart(server: postgres.Server) -> None:
    server.stop("fast")
    time.sleep(1.5)
    server.start()


def nothing(_: postgres.Server) -> None:
    pass


# The first of it cuts its own connection, all of the other are late.
CUT = (
    "CREATE SEQUENCE cuts",
    "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('cuts') = 1 THEN "
    "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); END IF; RETURN NEW; END $$",
    "CREATE TRIGGER cut AFTER INSERT ON dedup.log FOR EACH ROW WHEN (NEW.scope IS NOT NULL) "
    "EXECUTE FUNCTION cut()",
)
LATE = (
    "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(9); RETURN NEW; "
    "END $$",
    "CREATE TRIGGER late BEFORE INSERT ON dedup.log FOR EACH ROW EXECUTE FUNCTION late()",
)


class Fault(NamedTuple):
    """What is done *before* a crawl, *meanwhile* and a moment *later*; what the log *says* once of it."""

    says: str
    before: Do = made
    meanwhile: Do = nothing
    later: Do = nothing


FAULTS = {
    "restart": Fault(DRAFT, meanwhile=restart),
    "down at the start": Fault(
        "The crawl begins without its server: pages are judged by what this machine knows until it is back",
        postgres.Server.stop,
        later=postgres.Server.start,
    ),
    "cut at the first page": Fault("", lambda server: sql(*CUT)(made(server))),
    "too slow": Fault(
        f"{DRAFT}the server has not answered in time; see its load, and its statement_timeout$",
        meanwhile=sql(*LATE),
        later=sql("DROP TRIGGER late ON dedup.log"),
    ),
    "it only reads by now": Fault(
        DRAFT + READS,
        meanwhile=sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"),
        later=sql("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"),
    ),
}


def assert_told(done: Crawl, *said: str) -> None:
    """Assert that the warnings and errors of a crawl are these, by the patterns that they begin with."""
    found = re.findall("(?:WARNING|ERROR|CRITICAL): (.*)", done.log)
    assert "Traceback" not in done.log
    assert len(found) == len(said), found
    assert all(map(re.match, said, found)), found


def assert_whole(done: Crawl, address: str) -> None:
    """Assert that each text was delivered once, and that the server knows it."""
    assert (done.code, delivered(done)) == (0, Counter(CONTENTS[:UNIQUE])), done.log
    with PostgresIndex(address) as index:
        assert index.problems() == []
        kept = [row for row in index.rows() if row.verdict.kept and row.outcome is Outcome.CONFIRMED]
        assert len(kept) == UNIQUE


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_crawl_goes_on_and_the_server_knows_all_in_the_end(
    tmp_path: Path, own_server: postgres.Server, fault: Fault
) -> None:
    fault.before(own_server)
    running = begun(tmp_path, own_server, **QUICK)
    running.wait_for("Crawled (200)", 5)
    fault.meanwhile(own_server)
    running.wait_for("Crawled (200)", 30)
    fault.later(own_server)
    done = running.finish()
    assert_told(done, *([fault.says, BACK] if fault.says else []))
    assert_whole(done, own_server.address())


@pytest.mark.slow
@pytest.mark.parametrize("is_emptied", [True, False])
def test_a_full_disk_of_the_server(tmp_path: Path, *, is_emptied: bool) -> None:
    found = postgres.programs()
    (folder := Path(mkdtemp())).chmod(0o755)  # which the server may enter
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "size=90m", "tmpfs") as disk:
        server = postgres.Server(disk, found)
        server.start("max_wal_size=32MB", "min_wal_size=32MB")
        running = begun(tmp_path, server)
        wait_for_rows(running, server, 5)
        filler = fill(disk)
        running.wait_for("Crawled (200)", 30)
        if is_emptied:
            filler.unlink()
        done = running.finish()
        filler.unlink(missing_ok=True)
        says = f"{DRAFT}the disk of the server is full; make room there$"
        assert_told(done, says, BACK if is_emptied else "The server has not come back: [0-9]+ pages")
        if is_emptied:
            assert_whole(done, server.address())
        assert delivered(done) == Counter(CONTENTS[:UNIQUE])
        server.stop()
    rmtree(folder)


USES = "GRANT USAGE ON SCHEMA dedup TO {}; GRANT %s ON ALL TABLES IN SCHEMA dedup TO {}"
SLEEPS = (
    USES % "SELECT, INSERT, UPDATE, DELETE" + "; ALTER ROLE {} SET default_transaction_read_only = on"
)
REFUSALS = {
    "nobody": ("", MAY_NOT),
    "looks": (USES % "SELECT", MAY_NOT),
    "adds": (USES % "SELECT, INSERT, UPDATE", MAY_NOT),
    "sleeps": (SLEEPS, READS),
}


@pytest.mark.parametrize("role", REFUSALS)
def test_a_role_that_may_not_write_is_refused_before_a_crawl_and_may_look(role: str) -> None:
    address, (rights, says) = postgres.empty(), REFUSALS[role]
    with PostgresIndex(address) as index:
        index.runs.begin("s")
    # The run is dead, and this role cannot end it.
    sql(f"DELETE FROM dedup.leases; CREATE ROLE {role} LOGIN; {rights.format(role, role, role)}")(
        postgres.server()
    )
    address = address.replace("crawler@", f"{role}@")
    with pytest.raises(IndexUnavailable, match=says) as refused:
        PostgresIndex(address)
    assert not isinstance(refused.value, ServerAway)
    report, forget = (run(*command, address) for command in (["report"], ["forget", "--run", "1"]))
    assert (report.exit_code, forget.exit_code) == (role == "nobody", 1), report.output
    assert re.search(says, forget.output.strip())


@pytest.mark.slow
def test_a_standby_is_read_and_refused_for_crawls(tmp_path: Path, own_server: postgres.Server) -> None:
    begun(tmp_path, own_server, DOWNLOAD_DELAY=0).finish()
    folder = own_server.folder / "standby"
    folder.mkdir()
    standby = postgres.Server.__new__(postgres.Server)
    standby.__dict__ |= {**own_server.__dict__, "folder": folder, "port": 5433}
    os.chown(folder, own_server.user or -1, -1)
    how = ("-R", "-h", str(own_server.folder), "-U", "crawler")
    own_server._run("pg_basebackup", *how, data=folder / "data")
    standby.start()
    try:
        done = begun(tmp_path, standby, DOWNLOAD_DELAY=0).finish()
        assert (done.code, done.items) == (1, [])
        assert re.search(READS, done.log.strip())
        told = run("report", standby.address())
        assert (told.exit_code, "25 kept + 25 exact" in told.output) == (0, True), told.output
    finally:
        standby.stop()


@pytest.mark.slow
def test_two_schemas_of_a_server_know_nothing_of_each_other(tmp_path: Path) -> None:
    running = {}
    for schema in ("one_of_two", "other_of_two"):
        (tmp_path / schema).mkdir()
        address = postgres.server().address(schema)
        running[address] = begun(tmp_path / schema, address, DOWNLOAD_DELAY=0.02)
    for address, crawl in running.items():
        assert_told(done := crawl.finish())
        assert_whole(done, address)


class StopsUnderTheLock:
    """An extension that stops its process when it holds the lock, as soon as the file STOP is there."""

    @classmethod
    def from_crawler(cls, crawler: ScrapyCrawler) -> StopsUnderTheLock:
        execute, flag = Server.execute, Path(crawler.settings["STOP"])

        def stop(server: Server, text: str, *values: Any) -> Any:
            if text == _APPEND and flag.exists():
                flag.unlink()
                # To this thread: another one may be slow to take it, and this one would go on.
                signal.pthread_kill(get_ident(), signal.SIGSTOP)
            return execute(server, text, *values)

        Server.execute = stop  # type: ignore[method-assign, assignment]
        return cls()


@pytest.mark.slow
def test_a_worker_that_is_stopped_under_the_lock(
    tmp_path: Path, own_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one goes on with a draft until the server takes the lock from the one that is silent."""
    of_both = {"DEDUP_INDEX": own_server.address(), "DEDUP_CRAWL": "one"}
    stops: dict[str, Any] = {"EXTENSIONS": {"tests.index.test_server_faults.StopsUnderTheLock": 0}}
    stops |= {"STOP": str(flag := tmp_path / "stop")}
    stops[KNOBS] = {"dedup.index.ledger._TRIES": 0, "dedup.index.server.SILENCE": 12.0}
    waits = {
        "dedup.plugin.crawl_index.LONGEST_ANSWER": 1.5,
        "dedup.plugin.server_thread._PAUSE_TIMES": 1,
    }
    (there := tmp_path / "other").mkdir()
    stopped = Staged(tmp_path, flag, of_both | stops)
    other = Staged(there, flag, of_both | {KNOBS: waits}, ends=20_000)
    for own, crawl in ((100, stopped), (200, other)):
        stages = ([own + first, *range(first, first + 4)] for first in (0, 4, 8))
        crawl.start(*([page(n, n) for n in stage] for stage in stages))
        crawl.do(0)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert stopped.running
    assert other.running
    try:
        flag.touch()
        stopped.begin(1)
        wait_until(lambda: not flag.exists())
        other.do(1)
        other.running.wait_for("The server is back")
        other.begin(2)
        done = other.finish()
        held = "another process held the index for too long; end one that is stopped$"
        assert_told(done, f"{DRAFT}{held}", BACK)
        stopped.running.send(signal.SIGCONT)
        stopped.begin(2)
        late = stopped.finish()
    finally:
        for running in (stopped.running, other.running):
            running.send(signal.SIGKILL)
    assert_told(late)  # its connection is made anew, and what was lost with the other is told again
    with PostgresIndex(own_server.address()) as index:
        assert index.problems() == []
    assert stored(done) + stored(late) == Counter([*range(12), 100, 104, 108, 200, 204, 208])
