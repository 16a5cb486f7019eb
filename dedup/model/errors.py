"""What is said to people: errors, each with the way out, and text of strangers, made safe to show."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

_LONGEST = 500


class DedupError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(DedupError, ValueError):
    """A setting or argument has a value outside its rule."""


class IndexUnavailable(DedupError):  # noqa: N818 - it says what is the matter
    """The index file cannot be opened, read or written; nothing was changed in it."""


class ServerAway(IndexUnavailable):
    """The server that has the index does not answer, or not in time; it may do so later."""


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


# Controls, formats (bidi overrides), surrogates, private use, unassigned, line separators.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
LIMIT = 200


def printable(text: str, limit: int = LIMIT) -> str:
    r"""Return *text* on one line, cut at *limit*, with controls and other unsafe characters escaped.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    cut = text[:limit] + ("…" if len(text) > limit else "")
    return cut if cut.isascii() and cut.isprintable() else "".join(map(_shown, cut))


def printable_url(url: str, limit: int = LIMIT) -> str:
    """Return *url* as `printable` has it, ``(no URL)`` for none."""
    return printable(url, limit) or "(no URL)"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* and *noun*, whose plural ends in s unless it is another one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def moment(seconds: float) -> str:
    """Return a time (seconds since 1970) in UTC.

    >>> moment(0)
    '1970-01-01 00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(" ", "minutes")


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE:
        return character.encode("unicode_escape", "replace").decode("ascii")
    return character
