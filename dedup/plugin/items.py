"""Items become pages: by their fields, by their response, or by a function of the project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dedup.front.settings import DedupSettings, PageFromItem
from dedup.plugin.pages import key_of, located, page_after_callback, page_from_item
from dedup.reading.page import Page

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class ItemReader:
    """Makes the pages of the items of one crawl."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._of_project = settings.page_from_item
        self._rule = settings.fields
        self._max_bytes = settings.config.max_bytes

    @property
    def own(self) -> PageFromItem | None:
        """The function of the project or its spider that makes pages of items, None for none."""
        spider, default = self._crawler.spider, self._of_project
        own: PageFromItem | None = getattr(spider, "dedup_page_from_item", default)
        return own

    def read(self, item: Any, response: Response | None, *, is_only: bool) -> tuple[Page | None, str]:
        """Return the page to judge for *item* of *response*, None for nothing, and its kind.

        If the item *is_only*, the one item of an HTML response, this is the page of the response.
        Raises `NoHtml` for an item that is no page, or whatever a function of the project raises.
        """
        if is_only and (page := page_after_callback(response, max_bytes=self._max_bytes)):
            return located(self._keyed(page, item), response), "page"
        page = self._from_item(item, response)
        return page and located(page, response), "item"

    def _from_item(self, item: Any, response: Response | None) -> Page | None:
        own = self.own
        if own is None:
            return page_from_item(item, self._rule, response, max_bytes=self._max_bytes)
        page = own(item)
        if page is None:
            return None
        if not isinstance(page, Page):
            raise TypeError(f"page_from_item must return a Page or None, not {type(page).__name__}")
        if not page.url and response is not None:
            page = replace(page, url=response.url)
        return page if page.item_key else self._keyed(page, item)

    def _keyed(self, page: Page, item: Any) -> Page:
        """Return *page* with the key of *item*, if it has one."""
        key = key_of(item, self._rule)
        return replace(page, item_key=key) if key else page


def name_of(page: Page) -> str:
    """Return what the log calls *page* beside its URL: its key, or without a URL its first line."""
    if page.item_key or page.url:
        return page.item_key
    return next((line.strip() for line in page.text.splitlines() if line.strip()), "")
