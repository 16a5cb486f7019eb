"""An index on a server behind a pool, where a client has no session of its own."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, Detector, PostgresIndex
from dedup.index import Index
from dedup.model.errors import ServerAway
from dedup.model.verdict import Reason
from tests.support import postgres
from tests.support.crawling import wait_until
from tests.support.pages import edited, page, submit, text

CONFIG = DedupConfig()
SCHEMAS = "dedup", "other"
PORT = 6432


@pytest.fixture(params=["session", "transaction"])
def pool(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run pgbouncer, with six sessions, before the server of the tests; gives its folder."""
    for schema in SCHEMAS:
        postgres.empty(schema)
    server = postgres.server()
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    folder = Path(tempfile.mkdtemp(prefix="dedup-pool-"))
    if server.user:  # it refuses to run as root
        shutil.chown(folder, server.user)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        "[databases]\n"
        f"postgres = host={server.folder} port={server.port} user=crawler\n"
        "[pgbouncer]\n"
        f"unix_socket_dir = {folder}\nlisten_addr =\nlisten_port = {PORT}\n"
        f"auth_type = any\npool_mode = {request.param}\ndefault_pool_size = 6\n"
        f"logfile = {folder}/log\npidfile = {folder}/pid\n",
        "utf-8",
    )
    process = subprocess.Popen([program, "-q", settings], user=server.user, cwd="/")
    try:
        wait_until((folder / f".s.PGSQL.{PORT}").exists)
        yield str(folder)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def address(folder: str, schema: str = "dedup") -> str:
    """Return the address of an index on the server of the tests, through the pool in *folder*."""
    return f"postgresql://crawler@/postgres?host={folder}&port={PORT}&schema={schema}"


def steps(index: Index, name: str) -> Iterator[Reason]:
    """Crawl pages and copies of them; yield what is said of each."""
    with Detector(index, CONFIG, name) as detector:
        for number in range(8):
            for shown in (text(number), edited(number)):
                url = f"http://{name}/{number}/{shown == text(number)}"
                verdict = submit(detector, detector.sighting(page(shown, url)))
                yield verdict.reason
                if verdict.kept and verdict.row:
                    index.ledger.confirm(verdict.row)


def test_clients_of_two_indexes_write_each_into_its_own(pool: str) -> None:
    """Behind a pool of transactions each statement may be run in the session of another client."""
    with ExitStack() as stack:
        indexes = [stack.enter_context(PostgresIndex(address(pool, schema))) for schema in SCHEMAS]
        found = zip(*map(steps, indexes, SCHEMAS), strict=True)
        assert list(found) == [(Reason.NEW,) * 2, (Reason.NEAR_DUPLICATE,) * 2] * 8
        for schema, index in zip(SCHEMAS, indexes, strict=True):
            assert len(list(index.rows())) == 16
            assert {row.sighting.host for row in index.rows()} == {schema}
            assert index.problems() == []


def test_nothing_is_prepared_or_set_in_a_session_of_a_pool(pool: str) -> None:
    direct = postgres.server().address()
    with PostgresIndex(address(pool)) as index:
        index.store.wait_at_most(5.0)
        list(steps(index, "s"))
        store: Any = index.store
        asked = store._server.execute(
            "SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('search_path'), "
            "current_setting('statement_timeout'), current_setting('enable_seqscan')"
        ).fetchone()
        assert asked == (0, '"$user", public', "0", "on")
    with PostgresIndex(direct) as index:
        assert not index.store._server._is_pooled  # type: ignore[attr-defined]


def test_a_question_that_waits_is_given_up_in_a_pool(pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.index.server._MARGIN", 0.5)
    with PostgresIndex(address(pool)) as index, PostgresIndex(postgres.server().address()) as other:
        index.store.wait_at_most(0.5)
        run = index.runs.begin("s")
        with other.batch(), pytest.raises(ServerAway):
            index.runs.end(run, "finished")
        index.runs.end(run, "finished")
        store: Any = other.store
        store._read()
        assert [one.ending for one in other.runs.all()] == ["finished"]
