"""The base of all our spiders: it checks arguments, and makes items from responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.http import Response

from dedup import Page
from dedup.plugin import page_from_response

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


class ArgumentError(ValueError):
    """A spider argument has an invalid value."""


@dataclass(slots=True)
class PageItem:
    """One HTML page."""

    url: str
    title: str
    text: str  # what is visible, without navigation
    status: int
    content_type: str
    fetched_at: str  # a time in ISO 8601 and UTC
    depth: int  # the number of links from the start page
    html: str | None = None  # its source, if ``-a html=1`` was given
    language: str | None = None  # that it declares
    referrer: str | None = None  # the page that linked here


class PageSpider(Spider):
    """A spider that yields a `PageItem` for every HTML page; ``-a html=1`` keeps the source in it."""

    def __init__(self, *, html: str = "", **kwargs: Any) -> None:
        unknown = sorted(set(kwargs) - {"name", "dedup_follow"})
        if unknown:
            raise ArgumentError(f"{self.name} has no argument {unknown[0]!r}")
        super().__init__(**kwargs)
        if html.lower() not in _TRUE + _FALSE:
            raise ArgumentError(f"html ({html!r}) must be 1 or 0")
        self._with_html = html.lower() in _TRUE

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """Yield the item of *response*, if it is a page."""
        if page := self.page(response):
            yield self.item(response, page)

    def page(self, response: Response) -> Page | None:
        """Return the page of *response*.  A response that is not HTML is counted, and gives None."""
        page = page_from_response(response)
        if page is None:
            self.count("pages/skipped_not_html")
        return page

    def item(self, response: Any, page: Page) -> PageItem:
        """Return the item of *page*, which *response* has brought."""
        referrer = response.request.headers.get("Referer")
        return PageItem(
            url=response.url,
            title=page.title,
            text=page.text,
            status=response.status,
            content_type=(response.headers.get("Content-Type") or b"").decode("latin-1"),
            fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
            depth=response.meta.get("depth", 0),
            html=response.text if self._with_html else None,
            language=page.language or None,
            referrer=referrer.decode("latin-1") if referrer else None,
        )

    def count(self, stat: str, number: int = 1) -> None:
        """Add *number* to a *stat* of the crawl."""
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(stat, number)


def read_urls(name: str, value: str) -> list[str]:
    """Return the URLs in *value*, which white space separates: at least one, each http or https."""
    urls = value.split()
    if not urls:
        raise ArgumentError(f"{name} is missing: -a {name}=https://example.com")
    for url in urls:
        if not is_web_url(url):
            raise ArgumentError(f"{name} ({url!r}) must be an http or https URL")
    return urls


def read_domains(urls: Iterable[str], value: str) -> list[str]:
    """Return the hosts of *urls* and the domains in *value*, separated by white space."""
    names = {urlsplit(url).hostname or "" for url in urls} | set(value.lower().split())
    for domain in names:
        if "/" in domain:
            raise ArgumentError(f"domains ({value!r}) must be names, such as example.com")
    return sorted(names)


def read_number(name: str, value: str) -> int | None:
    """Return *value* as a whole number, 0 or more, or None if it is empty, which means no limit."""
    if not value:
        return None
    if not value.isdecimal():
        raise ArgumentError(f"{name} ({value!r}) must be a whole number, 0 or more")
    return int(value)


def read_pattern(name: str, value: str) -> re.Pattern[str] | None:
    """Return *value* as a regular expression, or None if it is empty."""
    try:
        return re.compile(value) if value else None
    except re.error as error:
        raise ArgumentError(f"{name} ({value!r}) must be a regular expression: {error}") from error


def is_web_url(url: str) -> bool:
    """Return whether *url* is an absolute http or https URL."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
