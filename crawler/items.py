"""The item that a spider makes from a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class PageItem:
    """One HTML page.

    *text* is its visible text without navigation, *html* its source if ``-a html=1`` was given,
    *language* what the page declares, *fetched_at* a time in ISO 8601 and UTC, *depth* the number of
    links from the start page, *referrer* the page that linked here.  *kind* says what the page stands
    there as, if it is not what its address promises: "soft 404", "login wall", "needs JavaScript".
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
    kind: str | None = None
