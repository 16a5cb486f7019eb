"""A page: all that is read off a document before it is judged; the last to know its tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lxml import etree

from dedup.charset import decode
from dedup.hashing import digest
from dedup.text import Reading, read_tree


@dataclass(frozen=True, slots=True)
class Page:
    """One page or item to judge.

    *url* may be empty, which means unknown.  *body_digest* is the 128-bit digest of the bytes,
    b"" where there were none but white space.  *text* is the visible text; *tags*, *depths* and
    *classes* describe the structure, *links* the link targets as written (see `dedup.text.Reading`).
    """

    url: str
    body_digest: bytes
    text: str
    title: str = ""
    canonical_link: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    depths: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @classmethod
    def from_html(cls, body: bytes | str, *, url: str = "", encoding: str | None = None) -> Page:
        """Return the page in *body*; never raises for its content, however broken.

        *encoding* is what the HTTP header declared, one hint among others (`dedup.charset.decode`).
        """
        text = body if isinstance(body, str) else decode(body, encoding)
        return cls._from_reading(read_html(text), _bytes(body), url)

    @classmethod
    def from_tree(cls, root: Any, *, body: bytes, url: str = "") -> Page:
        """Return the page of an lxml tree that was parsed already and stays as it is.

        *body* is what it was parsed from and is only digested.
        """
        return cls._from_reading(Reading() if root is None else read_tree(root), body, url)

    @classmethod
    def from_text(cls, text: str, *, url: str = "") -> Page:
        """Return a page that is plain text, without structure."""
        return cls._from_reading(Reading(text=text), _bytes(text), url)

    @classmethod
    def _from_reading(cls, reading: Reading, body: bytes, url: str) -> Page:
        return cls(
            url=url,
            body_digest=digest(body) if body and not body.isspace() else b"",
            text=reading.text,
            title=reading.title,
            canonical_link=reading.canonical_link,
            language=reading.language,
            tags=reading.tags,
            depths=reading.depths,
            classes=reading.classes,
            links=reading.links,
        )


def read_html(text: str) -> Reading:
    """Return what stands in the HTML *text*, parsed as Scrapy parses it, so that both see one tree."""
    body = text.strip().replace("\x00", "").encode("utf-8", "replace")
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.ParserError, etree.XMLSyntaxError):  # nothing in it that could be an element
        root = None
    return Reading() if root is None else read_tree(root)


def _bytes(body: bytes | str) -> bytes:
    return body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
