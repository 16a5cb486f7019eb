"""What a spider makes of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class PageItem:
    """One HTML page.

    *text* is its visible text without navigation, *html* its source if the spider was asked for
    it, *language* what the page declares, *fetched_at* ISO 8601 in UTC, *depth* the number of
    links from the start, *referrer* the page that linked here.
    """

    url: str
    title: str
    text: str
    status: int
    content_type: str
    fetched_at: str
    depth: int
    html: str | None = None
    language: str | None = None
    referrer: str | None = None
