"""A pool before the server of the tests: pgbouncer, in a mode of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import postgres

_PORT = 6432
_LONGEST_START = 10.0


@contextmanager
def pool(mode: str, *, sessions: int = 2) -> Iterator[str]:
    """Run pgbouncer in "session" or "transaction" *mode* with so many *sessions*; yield its folder."""
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
        f"unix_socket_dir = {folder}\nlisten_addr =\nlisten_port = {_PORT}\n"
        f"auth_type = any\npool_mode = {mode}\ndefault_pool_size = {sessions}\n"
        f"logfile = {folder}/log\npidfile = {folder}/pid\n",
        "utf-8",
    )
    process = subprocess.Popen([program, "-q", settings], user=server.user, cwd="/")
    try:
        _wait_for(folder / f".s.PGSQL.{_PORT}")
        yield str(folder)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def address(folder: str, schema: str = "dedup") -> str:
    """Return the address of an index on the server of the tests, through the pool in *folder*."""
    return f"postgresql://crawler@/postgres?host={folder}&port={_PORT}&schema={schema}"


def _wait_for(path: Path) -> None:
    end = time.monotonic() + _LONGEST_START
    while not path.exists():
        assert time.monotonic() < end, "pgbouncer has not started"
        time.sleep(0.05)
