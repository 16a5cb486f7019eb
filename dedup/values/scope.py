"""Scopes: the group of pages with which a page is compared."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dedup.values.urls import host_of, valid

if TYPE_CHECKING:
    from tldextract import TLDExtract


def scope_key(scope: str, *, spider: str, url: str) -> str:
    """Return the group within which a page is compared, by the name of a *scope*.

    That is the name of its spider for `spider`, its host for `host`, the registered domain of its
    host for `domain`, and "" for `global`: one group of all pages.

    >>> scope_key("domain", spider="news", url="https://www.example.co.uk/a")
    'example.co.uk'
    """
    if scope == "spider":
        return valid(spider)
    if scope == "global":
        return ""
    host = host_of(url)
    return host if scope == "host" else _domain(host)


def _domain(host: str) -> str:
    # An address or a name without a public suffix ("localhost") is a domain of its own.
    return _extract()(host).top_domain_under_public_suffix or host


@cache
def _extract() -> TLDExtract:
    from tldextract import TLDExtract  # takes longer than most of what a command imports

    # The list that comes with the package: no request, no cache folder.  Private suffixes count:
    # alice.github.io and evil.github.io have two owners.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
