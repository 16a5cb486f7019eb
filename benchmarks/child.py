"""One measurement in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def child(module: str, *arguments: str) -> Any:
    """Run a module of this repository; return what it prints in its last line, JSON."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def anonymous_mb() -> float:
    """Return the anonymous memory of this process in megabytes (10**6 bytes)."""
    return _status("RssAnon")


def resident_mb() -> float:
    """Return all memory of this process, in megabytes."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Return the most memory that this process has had, in megabytes."""
    return _status("VmHWM")


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:"))
