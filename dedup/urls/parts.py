"""The parts of a URL that rules tell apart, and the pattern of its path."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# Scheme, host with port, path, query; with a fragment a browser may show another page.
_URL = re.compile(r"(https?)://([^/?#\\]*)([^?#\\]*)(?:\?([^#]*))?#?\Z", re.IGNORECASE | re.DOTALL)
# What tells the pages of one kind apart: numbers, and the hexadecimal digests of files and commits.
_VARIABLE = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{7,64}(?![0-9A-Za-z])|[0-9]+")
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
def shape_of(path: str) -> str:
    """Return *path* without what tells pages of one kind apart.

    >>> shape_of("/wiki/page-12/3f2a91b")
    '/wiki/page-#/#'
    """
    return _VARIABLE.sub("#", path.replace("*", "%2A"))


def place_of(parts: Parts) -> str:
    """Return the narrowest pattern of a URL: the shape of its path, and the names in its query.

    >>> place_of(Parts("http", "a.example", "/shop/item7", ("id=1",)))
    '/shop/item#?id'
    """
    names = "&".join(dict.fromkeys(map(name_of, parts.query)))
    return shape_of(parts.path) + (f"?{names}" if names else "")


def patterns_of(parts: Parts) -> tuple[str, ...]:
    """Return the patterns of a URL, the widest first: of all paths, its first three folders, its place.

    >>> patterns_of(Parts("http", "a.example", "/wiki/page/12", ()))
    ('*', '/wiki/*', '/wiki/page/*', '/wiki/page/#')
    """
    place, found, end = place_of(parts), [ANY_PATH], 0
    path = shape_of(parts.path)
    for _ in range(_MOST_SEGMENTS):
        end = path.find("/", end + 1)
        if end < 0:
            break
        found.append(f"{path[: end + 1]}*")
    return (*found, place)


def covers(pattern: str, place: str) -> bool:
    """Return whether URLs of a *place*, or all of a narrower pattern, have the *pattern*.

    >>> covers("/wiki/*", "/wiki/page/#"), covers("/wiki/*", "/wikis"), covers("/x?id", "/x?id")
    (True, False, True)
    """
    if pattern == ANY_PATH:
        return True
    return pattern == place or (pattern.endswith("/*") and place.startswith(pattern[:-1]))
