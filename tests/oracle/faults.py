"""Faults to be planted in the plugin, so that it is seen that the law can find them."""

from __future__ import annotations

from collections.abc import Callable

FAULTS: dict[str, Callable[[], None]] = {}
