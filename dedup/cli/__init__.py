"""The command ``dedup``."""

from __future__ import annotations

import dedup

# A package of strangers has the same name: installed later, it replaces files of this one.
if "Detector" not in getattr(dedup, "__all__", ()):
    raise SystemExit(
        f"Error: {dedup.__file__} is of another package named dedup: pip uninstall dedup, "
        "then pip install --force-reinstall --no-deps scrapy-dedup"
    )

from dedup.cli.group import main

__all__ = ["main"]
