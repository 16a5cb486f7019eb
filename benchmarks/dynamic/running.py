"""Web programs that are run for a while: ports, processes, PHP."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PHP = ("php", "-d", "error_reporting=0", "-d", "display_errors=0")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[None]:
    with (folder / "server.log").open("wb") as log:
        variables = {**os.environ, **environment}
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=variables)
        try:
            _wait_for(port)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}")
