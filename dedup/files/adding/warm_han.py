"""What worker processes need besides for Han text, as `warm`: as much again."""

from __future__ import annotations

import gc

from dedup.reading.page import Page
from dedup.recipes.fingerprinter import fingerprint

fingerprint(Page.from_html("<p>海边的灯塔"))
gc.collect()
gc.freeze()
