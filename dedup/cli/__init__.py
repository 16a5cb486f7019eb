"""The command ``dedup``."""

from __future__ import annotations

import os

import dedup

# Nothing here is linear algebra, for which numpy would start threads: a tenth of a short command.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A package of strangers has the same name: installed later, it replaces files of this one.
if "Detector" not in getattr(dedup, "__all__", ()):
    raise SystemExit(
        f"Error: {dedup.__file__} is of another package named dedup: pip uninstall dedup, "
        "then pip install --force-reinstall --no-deps scrapy-dedup"
    )

from dedup.cli.group import main

__all__ = ["main"]
