"""Terms whose process is killed as the kernel kills one for its memory, while a file says so.

The process of the command is spared: it only waits, so that others become ready before it is done.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path


def terms(text: str) -> list[str]:
    flag = os.environ.get("KILL_WHILE_THIS_EXISTS")
    if flag and "word13" in text and Path(flag).exists():
        if multiprocessing.parent_process():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
    if "raise" in text:
        raise RuntimeError("on purpose")
    return text.split()
