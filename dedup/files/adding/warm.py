"""What all processes that make fingerprints need, loaded once and shared: for the fork server only.

A fork server can be told what to import and nothing else, hence the work at import.
"""

from __future__ import annotations

import gc

import dedup.files.adding.work
import dedup.files.feeds  # noqa: F401
from dedup.reading.page import Page
from dedup.recipes.fingerprinter import fingerprint

# Tables of words in both scripts, and the parser.
fingerprint(Page.from_html("<p>the lighthouse by the sea 海边的灯塔"))
gc.collect()
gc.freeze()  # else the first collection in each process would copy what they share
