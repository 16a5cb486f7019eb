"""Moments as text."""

from __future__ import annotations

from datetime import datetime


def moment(seconds: float) -> str:
    """Return a time (seconds since 1970) for a person to read, in the local time zone."""
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")
