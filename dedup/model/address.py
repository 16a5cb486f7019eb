"""Where an index is: the path of a file, or an address on PostgreSQL, never shown with its password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from urllib.parse import unquote, urlsplit

from dedup.model.errors import ConfigError

SCHEMES = ("postgresql", "postgres")

# A drive of Windows has one letter; a path that was made of a URL has one slash.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SLASHES = re.compile(":/{1,2}")
# Hosts with their ports; what is neither may be a password.
_HOST = r"(?:[\w.%-]*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?"
_HOSTS = re.compile(f"{_HOST}(?:,{_HOST})*")
_ODD = re.compile("[=&;?#@]")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SHOWN = ("host", "port", "user", "dbname", "service", "schema")  # no secrets; they say which index


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: *conninfo* is for libpq, *schema* has its tables, *name* is for people.

    >>> address = address_of("postgresql://crawler:tide@db.example/pages?sslmode=require&schema=news")
    >>> address.name, address.schema
    ('postgresql://crawler@db.example/pages?schema=news', 'news')
    """

    conninfo: str = field(repr=False)
    schema: str
    name: str


def address_of(text: str) -> Address:
    """Return the address that *text* is: that of libpq, and ``schema`` among its options.

    Raises `ConfigError`, which quotes nothing: a password may stand anywhere in it.
    """
    try:
        # A path that was made of an address has one slash.
        parts = urlsplit(_SLASHES.sub("://", text, count=1))
    except ValueError:
        raise _refused("it is no address") from None
    names, sign, hosts = parts.netloc.rpartition("@")
    user = names.partition(":")[0]
    if "@" in names + parts.path + parts.query + parts.fragment or parts.fragment:
        raise _refused("a password or a name with one of the characters @ / ? # must be percent-encoded")
    if not _HOSTS.fullmatch(hosts) or _ODD.search(user + parts.path):
        raise _refused("it must be postgresql://user@host:port/database?option=value")
    options = [option.partition("=") for option in parts.query.split("&") if option]
    schema = next((unquote(value) for name, _, value in options if name == "schema"), "dedup")
    if not _SCHEMA.fullmatch(schema):
        raise _refused("schema must be small letters, digits and _")
    rest = "&".join("".join(option) for option in options if option[0] != "schema")
    told = "&".join("".join(one) for one in options if one[0] in _SHOWN and not _ODD.search(one[2]))
    given = f"postgresql://{parts.netloc}{parts.path}", rest
    shown = f"postgresql://{user}{sign}{hosts}{parts.path}", told
    return Address("?".join(filter(None, given)), schema, "?".join(filter(None, shown)))


def _refused(reason: str) -> ConfigError:
    return ConfigError(f"index (postgresql://...) cannot be read: {reason}")


def is_address(place: str | PathLike[str]) -> bool:
    """Return whether *place* is the address of an index on a server, False for the path of a file.

    Raises `ConfigError` for the address of anything else.
    """
    scheme = scheme_of(place)
    if scheme and scheme not in SCHEMES:
        must = "must be the path of a file, or postgresql://user@host/database"
        raise ConfigError(f"index ({scheme}:...) {must}")
    return bool(scheme)


def shown_place(place: str | PathLike[str]) -> str:
    """Return *place* as messages show it: an address without its password, or nothing of a wrong one.

    >>> shown_place("postgresql://crawler:tide@db.example/pages"), shown_place("postgresql://a:b")
    ('postgresql://crawler@db.example/pages', 'postgresql://...')
    """
    try:
        return address_of(str(place)).name if is_address(place) else str(place)
    except ConfigError:
        return "postgresql://..."


def scheme_of(place: str | PathLike[str]) -> str:
    """Return the scheme of *place* where that is an address, "" for the path of a file.

    >>> scheme_of("postgresql://user@host/db"), scheme_of("C:/crawls/pages.db"), scheme_of("pages.db")
    ('postgresql', '', '')
    """
    found = _SCHEME.match(str(place))
    return found[1].lower() if found else ""
