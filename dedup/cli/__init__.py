"""The command ``dedup``."""

from __future__ import annotations

from dedup.cli.group import main

__all__ = ["main"]
