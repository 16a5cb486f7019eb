"""``dedup serve`` as its user starts it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


@contextmanager
def served(path: Path) -> Iterator[httpx.Client]:
    """Run ``dedup serve`` and give a client of it."""
    command = "from dedup.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", command, "serve", str(path), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert address
            with httpx.Client(base_url=address[0], timeout=60, trust_env=False) as client:
                yield client
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
