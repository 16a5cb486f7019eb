"""Text of strangers, made safe to show on a terminal or in a log."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

# Controls, formats (bidi overrides), surrogates, private use, unassigned, line separators.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
LIMIT = 200
NO_URL = "(no URL)"


def printable(text: str, limit: int = LIMIT) -> str:
    r"""Return *text* on one line, cut at *limit*, with controls and other unsafe characters escaped.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    cut = text[:limit] + ("…" if len(text) > limit else "")
    return cut if cut.isascii() and cut.isprintable() else "".join(map(_shown, cut))


def printable_url(url: str, limit: int = LIMIT) -> str:
    """Return *url* as `printable` has it, `NO_URL` for none."""
    return printable(url, limit) or NO_URL


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
