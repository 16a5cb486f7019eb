"""A page and its fingerprint to a sighting: what an index is asked about, made once at the door."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dedup.reading.page import Page
from dedup.values.fingerprint import Fingerprint
from dedup.values.sighting import Sighting
from dedup.values.urls import host_of, url_key, valid

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


def sighting_of(
    page: Page,
    fingerprint: Fingerprint,
    *,
    kind: str = "page",
    scope: str = "spider",
    spider: str = "",
    run: int = 0,
    time: float = 0.0,
    is_dry: bool = False,
) -> Sighting:
    """Return the sighting of *page*, which has *fingerprint*, by *spider*.

    *kind* ("page" or "item") and *scope* (the setting ``DEDUP_SCOPE``) say which pages it is compared
    with; a page with a key only with others that have one.  *time* is in seconds since 1970.
    """
    return Sighting(
        fingerprint=fingerprint,
        url=page.url,
        url_key=url_key(page.url),
        kind=f"keyed {kind}" if page.item_key else kind,
        scope=scope_key(scope, spider=spider, url=page.url),
        run=run,
        time=time,
        title=page.title,
        canonical_link=page.canonical_link,
        item_key=page.item_key,
        is_dry=is_dry,
        redirects=page.redirects,
        seen_on=page.seen_on,
        unjudged=page.unjudged,
    )
