"""The parts of a URL that rules tell apart, and the pattern of its path."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# Scheme, host with port, path, query; with a fragment a browser may show another page.
_URL = re.compile(r"(https?)://([^/?#\\]*)([^?#\\]*)(?:\?([^#]*))?#?\Z", re.IGNORECASE | re.DOTALL)
# What tells the pages of one kind apart: numbers, and the hexadecimal digests of files and commits.
_VARIABLE = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{7,64}(?![0-9A-Za-z])|[0-9]+")
# Names by which programs choose what they show, and values that name a kind of page.
_ROUTING = re.compile(r"a|act|action|cmd|do|m|mod|mode|module|op|option|route|sub|task|title|view")
_KIND = re.compile(r"[A-Za-z][A-Za-z_.-]{0,29}\Z")
_SPECIAL = re.compile(r"Special(?::|%3A)[A-Za-z]{1,40}", re.IGNORECASE)
_MOST_PAIRS = 30
_MOST_SEGMENTS = 3
_LONGEST = 2000

ANY_PATH = "*"
"""The pattern of every path."""


class Parts(NamedTuple):
    """A URL in parts: *host* with its port, *path* from its first slash on, *query* sorted.

    The pieces of a query stay as they are written; only their order is lost, as in every canonical form.
    *separator* stands between them: ``;`` in a query that has no ``&``, as gitweb writes them.
    """

    scheme: str
    host: str
    path: str
    query: tuple[str, ...]
    separator: str = "&"

    @property
    def text(self) -> str:
        """The URL again."""
        query = f"?{self.separator.join(self.query)}" if self.query else ""
        return f"{self.scheme}://{self.host}{self.path}{query}"


def parts_of(url: str) -> Parts | None:
    """Return the parts of *url*, None for one that no rule is for.

    Such are not of the web, too long, or have a fragment or a user name.

    >>> parts_of("http://A.example/x?b=2&a=1")
    Parts(scheme='http', host='a.example', path='/x', query=('a=1', 'b=2'), separator='&')
    """
    if len(url) > _LONGEST or (found := _URL.match(url)) is None:
        return None
    scheme, host, path, query = found.groups()
    if not host or "@" in host:
        return None
    pieces, sign = list(filter(None, query.split("&"))) if query else [], "&"
    if len(pieces) == 1 and ";" in pieces[0]:
        pieces, sign = list(filter(None, pieces[0].split(";"))), ";"
    if len(pieces) > _MOST_PAIRS:
        return None
    sign = sign if len(pieces) > 1 else "&"  # between the pieces of none and of one stands nothing
    return Parts(scheme.lower(), host.lower(), path or "/", tuple(sorted(pieces)), sign)


def without_anchor(url: str) -> str:
    """Return *url* without a fragment that is a place on its page; that of an application stays.

    >>> without_anchor("http://a.example/x#line-7"), without_anchor("http://a.example/#/x")
    ('http://a.example/x', 'http://a.example/#/x')
    """
    page, _, fragment = url.partition("#")
    return url if "/" in fragment or "!" in fragment else page


def name_of(piece: str) -> str:
    """Return the name in a *piece* of a query, ``a`` of ``a=1``."""
    return piece.partition("=")[0]


@lru_cache(maxsize=4096)
def patterns_of(path: str) -> tuple[str, ...]:
    """Return the patterns that *path* has, the widest first, each once.

    These are the one of all paths, those of its first one, two and three segments, and its own; numbers
    and digests in them are ``#``.

    >>> patterns_of("/wiki/page/12")
    ('*', '/wiki/*', '/wiki/page/*', '/wiki/page/#')
    """
    plain = _VARIABLE.sub("#", path.replace("*", "%2A"))
    patterns = [ANY_PATH]
    end = 0
    for _ in range(_MOST_SEGMENTS):
        end = plain.find("/", end + 1)
        if end < 0:
            break
        patterns.append(f"{plain[: end + 1]}*")
    patterns.append(plain)
    return tuple(patterns)


def patterns_for(parts: Parts) -> tuple[str, ...]:
    """Return the patterns of a path, and one more if its query names a kind of page.

    >>> patterns_for(parts_of("http://a.example/doku.php?do=index&id=wiki"))
    ('*', '/doku.php', '/doku.php?do=index')
    """
    patterns = patterns_of(parts.path)
    kinds = [kind for piece in parts.query if (kind := _kind_of(piece))]
    return (*patterns, f"{patterns[-1]}?{'&'.join(kinds)}") if kinds else patterns


def _kind_of(piece: str) -> str:
    """Return *piece* if it chooses a kind of page, as far as it does, else nothing."""
    name, _, value = piece.partition("=")
    if not _ROUTING.fullmatch(name):
        return ""
    if name == "title":
        found = _SPECIAL.match(value)
        return f"title={found[0]}" if found else ""
    return piece if _KIND.match(value) else ""


def places_of(parts: Parts) -> tuple[str, str]:
    """Return where a URL stands: its folder, and its place there, both with the names in its query.

    >>> places_of(Parts("http", "a.example", "/shop/item", ("id=1",)))
    ('/shop/*?id', '/shop/item?id')
    """
    own = patterns_of(parts.path)[-1]
    names = "&".join(dict.fromkeys(_kind_of(piece) or name_of(piece) for piece in parts.query))
    return f"{own[: own.rfind('/') + 1]}*?{names}", f"{own}?{names}"


def width_of(pattern: str) -> int:
    """Return how narrow a *pattern* is: 0 for that of all paths.

    >>> [width_of(pattern) for pattern in (*patterns_of("/wiki/page/12"), "/doku.php?do=index")]
    [0, 2, 3, 1003, 2001]
    """
    if pattern == ANY_PATH:
        return 0
    path, has_kind, _ = pattern.partition("?")
    return path.count("/") + 1000 * (not path.endswith("*")) + 1000 * bool(has_kind)
