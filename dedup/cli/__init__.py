"""The command ``dedup``."""

from __future__ import annotations

from dedup.cli.commands import main

__all__ = ["main"]
