"""A PostgreSQL server for the tests: started once in each process that needs one, and empty for each."""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_EMPTIED = count()
_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")


def programs() -> Path:
    """Return the folder of the newest PostgreSQL programs; where there are none the test is skipped."""
    pytest.importorskip("psycopg")
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = [at.parent for place in _PLACES for at in Path("/").glob(f"{place[1:]}/initdb")]
    return max(folders) if folders else pytest.skip("PostgreSQL is not installed")


class Server:
    """A server with its files in *folder*, reached by a socket there."""

    def __init__(self, folder: Path, bin_folder: Path, port: int = 5432) -> None:
        self.folder = folder
        self.port = port
        self._bin = bin_folder
        # It refuses to run as root.
        self.user = _other_user() if os.geteuid() == 0 else None
        if self.user:
            os.chown(folder, self.user, -1)
        folder.chmod(0o755)
        if not (folder / "data").exists():
            self._run("initdb", "-U", "crawler", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def _run(self, program: str, *arguments: str, data: Path | None = None) -> None:
        command = [str(self._bin / program), "-D", str(data or self.folder / "data"), *arguments]
        how: Any = {"user": self.user, "cwd": "/", "capture_output": True, "text": True}
        done = subprocess.run(command, timeout=120, check=False, **how)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, *options: str) -> None:
        given = [
            *("fsync=off", f"unix_socket_directories={self.folder}", "max_connections=60"),
            *("listen_addresses=", "log_min_messages=fatal"),
            # In the folder: a server that is killed leaves none behind.
            *("dynamic_shared_memory_type=mmap", *options),
        ]
        text = " ".join(f"-c {option}" for option in given)
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-o", f"-p {self.port} {text}", "-l", log, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def address(self, schema: str = "dedup") -> str:
        return f"postgresql://crawler@/postgres?host={self.folder}&port={self.port}&schema={schema}"


def _other_user() -> int:
    import pwd  # which Windows has not

    users = {user.pw_name: user.pw_uid for user in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]


@contextmanager
def own() -> Iterator[Server]:
    server = _made(programs())
    try:
        yield server
    finally:
        _remove(server)


def _made(bin_folder: Path) -> Server:
    # Where files are in memory, tables are emptied in a third of the time.
    memory = Path("/dev/shm")
    has_room = memory.exists() and shutil.disk_usage(memory).free > 2**30
    folder = tempfile.mkdtemp(prefix="dedup-pg-", dir=memory if has_room else None)
    server = Server(Path(folder), bin_folder)
    server.start()
    return server


@cache
def server() -> Server:
    """Return the server of this process; without PostgreSQL the test is skipped."""
    server = _made(programs())
    atexit.register(_remove, server)
    return server


def _remove(server: Server) -> None:
    subprocess.run(["pkill", "-9", "-f", str(server.folder / "data")], check=False)
    shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(address.partition("&schema")[0], autocommit=True) as connection:
        yield connection


def empty(schema: str = "dedup") -> str:
    """Return the address of an index in which there is nothing."""
    address = server().address(schema)
    with connected(address) as connection:
        asked = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'log'"
        there = connection.execute(asked, (schema,))
        if there.fetchone() is None:
            return address
        # Tables are emptied, not made anew: that takes a tenth of the time.
        connection.execute(f"SET search_path = {schema}")
        connection.execute("TRUNCATE log, texts, leases")
        connection.execute("UPDATE state SET position = 0, rows = 0")
        own = f"{os.getpid():08x}{next(_EMPTIED):024x}"
        connection.execute("UPDATE meta SET value = %s WHERE name = 'id'", (own,))
    return address
