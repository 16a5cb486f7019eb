"""What a caller or an operator can do wrong; each message says what, why and the way out."""

from __future__ import annotations


class DedupError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(DedupError, ValueError):
    """A setting or argument has a value outside its rule."""


class IndexUnavailable(DedupError):  # noqa: N818 - it says what is the matter
    """The index file cannot be opened, read or written; nothing was changed in it."""


class IndexMismatch(IndexUnavailable):
    """The index was built with another recipe, so its words mean something else."""
