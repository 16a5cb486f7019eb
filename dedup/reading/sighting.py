"""A page and its fingerprint to a sighting: what an index is asked about, made once at the door."""

from __future__ import annotations

from dedup.reading.page import Page
from dedup.values.fingerprint import Fingerprint
from dedup.values.scope import scope_key
from dedup.values.sighting import Sighting
from dedup.values.urls import url_key


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
