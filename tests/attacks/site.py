"""A site of which it is known how many pages are alike, as all kinds of spiders find it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tests.pages import text

PARTS = 3


@dataclass(frozen=True)
class Known:
    """A page of the site, and what it says: copies have the *content* of another page."""

    path: str
    content: int
    is_copy: bool = False

    def part(self, number: int) -> str:
        """Return one of the `PARTS` of the page as a document of its own."""
        words = PARTS * self.content + number
        # A copy has an identifier more, and no word: neither loses anything with the other.
        said = text(words) + (" feed0000" if self.is_copy and number == 0 else "")
        return f"<html><body><h1>{self.path}</h1><p>{said}</p></body></html>"

    def html(self) -> str:
        """Return the whole page."""
        return "".join(self.part(number) for number in range(PARTS))


PAGES = [
    *(Known(f"/p/{number}.html", number) for number in range(8)),
    *(Known(f"/c/{number}.html", number, is_copy=True) for number in range(4)),
]


def files_of(url: str) -> dict[str, str | bytes]:
    """Return what stands under every path of the site at *url*."""
    links = "".join(f'<a href="{page.path}">{page.path}</a>' for page in PAGES)
    places = "".join(f"<url><loc>{url}{page.path}</loc></url>" for page in PAGES)
    nodes = "".join(
        f"<page><path>{page.path}</path><html>{escape(page.html())}</html></page>" for page in PAGES
    )
    return {
        "/": f"<html><body>{links}</body></html>",
        "/sitemap.xml": f"<?xml version='1.0'?><urlset>{places}</urlset>",
        "/feed.xml": f"<?xml version='1.0'?><pages>{nodes}</pages>",
        **{page.path: page.html() for page in PAGES},
    }
