"""URLs as keys: which are the same, how an index keeps them, and their hosts."""

from __future__ import annotations

import re
from posixpath import splitext
from urllib.parse import urlsplit

from dedup.model.hashes import digest

MAX_URL = 8000  # a longer URL is kept as its beginning and a digest, so many characters in all

# URLs that are in canonical form already, as most are: w3lib takes 50 times longer to say so.
_IS_CANONICAL = re.compile(
    r"(?!.*/\.)(?:https?://[a-z0-9]+(?:[.-][a-z0-9]+)*(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?|file://)"
    r"/[A-Za-z0-9._~/-]*"
)
# URLs that show their host as it is: all but a few, and splitting a URL takes five times longer.
_PLAIN_HOST = re.compile(r"https?://([a-z0-9][a-z0-9.-]{0,252})(?::[0-9]{0,5})?(?:[/?#]|\Z)")


def url_key(url: str) -> str:
    """Return *url* in canonical form (w3lib: sorted query, no fragment), "" for an unknown one.

    A URL that cannot be parsed is its own key, and so is a very long one, as `bounded_url` leaves it.

    >>> url_key("HTTP://Example.com/?b=2&a=1#top")
    'http://example.com/?a=1&b=2'
    """
    url = bounded_url(url)
    if not url or len(url) == MAX_URL or _IS_CANONICAL.fullmatch(url):
        return url
    from w3lib.url import canonicalize_url  # which loads all that fetches pages

    try:
        return canonicalize_url(url)
    except ValueError:
        return url


def bounded_url(url: str) -> str:
    """Return *url* as an index stores it: in at most `MAX_URL` characters, all of them valid in UTF-8.

    The end of a longer one is a digest of the whole, so that different URLs stay different.
    """
    url = valid(url)
    if len(url) <= MAX_URL:
        return url
    end = "~" + digest(url.encode()).hex()
    return url[: MAX_URL - len(end)] + end


def valid(text: str) -> str:
    """Return *text* with lone surrogates, which UTF-8 cannot encode, written as ``\\udc80``."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def begin_alike(one: str, other: str) -> bool:
    """Return whether one of two keys of URLs is the other with something behind its path, or its name.

    >>> begin_alike("a.example/7/print", "a.example/7?page=2"), begin_alike("a.ex/7", "a.ex/77")
    (True, False)
    >>> begin_alike("a.example/7.html", "a.example/7_print.html")
    True
    """
    short, long = sorted((one.partition("?")[0], other.partition("?")[0]), key=len)
    begin = splitext(short)[0].rstrip("/")
    return long.startswith(begin) and not long[len(begin) : len(begin) + 1].isalnum()


def with_or_without_www(host: str) -> tuple[str, str]:
    """Return *host*, and what it is called with ``www.`` in front, or without it."""
    return host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"


def host_of(url: str) -> str:
    """Return the host of *url* in lower case, "" where it has none or is not valid.

    This is what "site" means everywhere: in the scope `host`, the hosts that a crawl visits, reports
    and warnings.  User name and password are left out because reports are shown to others, the port
    because no scope tells two ports of one host apart.

    >>> host_of("https://WWW.Example.com:8080/a"), host_of("ftp://me:secret@example.com")
    ('www.example.com', 'example.com')
    >>> host_of("http://[::1]:80/"), host_of("http://[bad/"), host_of("mailto:me@example.com")
    ('::1', '', '')
    """
    if plain := _PLAIN_HOST.match(url):
        return plain[1]
    try:
        return urlsplit(bounded_url(url)).hostname or ""
    except ValueError:
        return ""
