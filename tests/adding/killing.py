"""Terms whose process is killed as the kernel kills one for its memory, while a file says so."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def terms(text: str) -> list[str]:
    flag = os.environ.get("KILL_WHILE_THIS_EXISTS")
    if flag and "word13" in text and Path(flag).exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in text:
        raise RuntimeError("on purpose")
    return text.split()
