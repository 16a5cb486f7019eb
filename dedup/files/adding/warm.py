"""What every worker process needs, loaded once and shared; imported by the fork server only.

A fork server imports modules and runs nothing else, so the work is done at import.
"""

from __future__ import annotations

import gc

import dedup.files.adding.work  # noqa: F401
from dedup.reading.page import Page
from dedup.recipes.fingerprinter import fingerprint

fingerprint(Page.from_html("<p>the lighthouse by the sea"))  # loads the parser and the tables
gc.collect()
gc.freeze()  # else the first collection in each process would copy the shared memory
