"""What a caller or an operator can do wrong; each message says what, why and the way out."""

from __future__ import annotations

_LONGEST = 500


class DedupError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(DedupError, ValueError):
    """A setting or argument has a value outside its rule."""


class IndexUnavailable(DedupError):  # noqa: N818 - it says what is the matter
    """The index file cannot be opened, read or written; nothing was changed in it."""


class ServerAway(IndexUnavailable):
    """The server that has the index does not answer, or not in time; it may do so later."""


class ServerLost(ServerAway):
    """The server was stopped, and has lost what it was told last."""


class RunEnded(IndexUnavailable):
    """A run was ended by others, who had not heard of its process; nothing can be added to it."""


class IndexMismatch(IndexUnavailable):
    """The index was built with another recipe, so its simhashes mean something else."""


class NoSuchRow(DedupError):  # noqa: N818
    """There is no row of that number."""


def shown(value: object) -> str:
    """Return *value* as messages about it show it: its repr, cut if it is long, whatever it is.

    >>> shown("sea"), shown(10**5000)
    ("'sea'", 'a value of type int')
    """
    try:
        text = repr(value)
    except Exception:  # numbers of too many digits, and what users make
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def require_text(name: str, value: str) -> str:
    """Return *value*; raise `ConfigError` where it holds lone surrogates: bytes that are no UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name} ({shown(value)}) must be text: it is no valid Unicode") from None
    return value
