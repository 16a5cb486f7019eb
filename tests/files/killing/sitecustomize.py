"""Fingerprints whose process is killed as the kernel kills one for its memory, while a file says so.

The process of the command is spared: it only waits, so that others become ready before it is done.
Python imports this where its folder is on the path.
"""

import multiprocessing
import os
import signal
import time
from pathlib import Path

from dedup import DedupConfig, Fingerprint, Page
from dedup.prints import fingerprinter

_DEFAULT = DedupConfig()
_fingerprint = fingerprinter.fingerprint


def killing(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    flag = os.environ.get("KILL_WHILE_THIS_EXISTS")
    if flag and "word13" in page.text and Path(flag).exists():
        if multiprocessing.parent_process():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
    return _fingerprint(page, config)


fingerprinter.fingerprint = killing
