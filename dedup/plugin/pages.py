"""Responses, and items by their fields, become pages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from parsel import Selector
from scrapy.http import HtmlResponse, Response, TextResponse
from w3lib.encoding import http_content_type_encoding, resolve_encoding

from dedup.model.hashes import digest
from dedup.model.limits import MAX_BYTES, Excess
from dedup.model.urls import host_of
from dedup.plugin.tracking import Exchange, exchange_of
from dedup.reading.charset import decode, encoding_of, is_shifted
from dedup.reading.fields import URL_FIELD, FieldRule, RawPage, item_key, raw_page_of, single
from dedup.reading.floods import SMALL, has_attribute_flood
from dedup.reading.page import Page, markup_of
from dedup.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class JudgedPart:
    """Reads a page without what ``DEDUP_IGNORE`` selects."""

    def __init__(self, settings: DedupSettings) -> None:
        self._ignore = settings.ignore

    def of(self, page: Page, markup: Callable[[], str]) -> Page:
        """Return *page* with the text and structure of its part; *markup* gives its HTML.

        Its links stay, and pages of equal bytes are copies as before.
        """
        if not self._ignore or page.excess or not (html := markup()):
            return page
        tree = Selector(text=html, type="html")
        for behind in tree.root.itersiblings("*"):  # what libxml2 makes of a second document
            tree.root.append(behind)
        for ignored in tree.css(self._ignore):
            if ignored.root.getparent() is not None:
                ignored.root.drop_tree()
        return page.with_root(tree.root)


def page_from_response(response: Response | None) -> Page | None:
    """Return the page of an HTML *response*, None for any other one.

    The tree that Scrapy parsed is used, and not changed, unless the bytes are in another encoding than
    the declared one, so call this before something else changes the tree.  A second call for the same
    response costs nothing.  A response over a limit is not parsed, see `Page`.
    """
    return _page_of(response) if isinstance(response, HtmlResponse) else None


def page_after_callback(response: Response | None) -> Page | None:
    """Return the page that `page_from_response` has read, or else read the bytes.

    The tree that Scrapy parsed may have changed by now: callbacks remove what they do not want.
    """
    if not isinstance(response, HtmlResponse):
        return None
    exchange = exchange_of(response)
    if exchange.page is None:
        body, encoding = response.body, _header_encoding(response)
        exchange.page = Page.from_html(
            body, url=response.url, encoding=encoding, with_places=exchange.with_places
        )
    return exchange.page


class ItemReader:
    """Makes the pages of the items of one crawl."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._rule = settings.fields
        # The callbacks, by name, of which an item has held all of its response.
        self._holding: set[str] = set()
        self._part = JudgedPart(settings)

    @property
    def own(self) -> Callable[[Any], Page | None] | None:
        """The method of the spider that makes pages of items, None for none."""
        own: Callable[[Any], Page | None] | None = getattr(
            self._crawler.spider, "dedup_page_from_item", None
        )
        return own

    def read_ahead(self, response: Response) -> None:
        """Read *response* before its callback, if an item of that has held all of its response.

        Such an item need not be parsed again then, and the callback has not changed the tree yet.
        Raises whatever an unreadable tree raises.
        """
        if (
            isinstance(response, HtmlResponse)
            and len(response.body) <= MAX_BYTES
            and _callback_of(response) in self._holding
            and _is_well_decoded(response)
        ):
            _page_of(response)

    def read(self, item: Any, response: Response | None, *, is_only: bool) -> tuple[Page | None, str]:
        """Return the page to judge for *item* of *response*, or None, and its kind.

        If the item *is_only*, the one item of a response of HTML or of bytes, this is the page of that.
        Raises `NoHtml` for an item that is no page, or whatever a function of the project raises.
        """
        if is_only and (page := page_after_callback(response)):
            assert isinstance(response, HtmlResponse)
            page = self._part.of(page, lambda: decode(response.body, _header_encoding(response)))
            return located(self._keyed(page, item), response), "page"
        if is_only and response is not None and not isinstance(response, TextResponse) and response.body:
            # A document or a picture: nothing is read of it, so it repeats only equal bytes.
            page = Page(response.url, digest(response.body), text="")
            return located(self._keyed(page, item), response), "page"
        page = self._from_item(item, response)
        if page is None:
            return None, "item"
        return located(page, response), "item"

    def _from_item(self, item: Any, response: Response | None) -> Page | None:
        own = self.own
        if own is None:
            return page_from_item(
                *(item, self._rule, response),
                holding=self._holding,
                part=self._part,
            )
        page = own(item)
        if page is None:
            return None
        if not isinstance(page, Page):
            raise TypeError(
                f"dedup_page_from_item must return a Page or None, not {type(page).__name__}"
            )
        if not page.url and response is not None:
            page = replace(page, url=response.url)
        return page if page.item_key else self._keyed(page, item)

    def _keyed(self, page: Page, item: Any) -> Page:
        """Return *page* with the key of *item*, if it has one."""
        key = key_of(item, self._rule)
        return replace(page, item_key=key) if key else page


def page_from_item(
    item: Any,
    rule: FieldRule,
    response: Response | None = None,
    *,
    holding: set[str] | None = None,
    part: JudgedPart | None = None,
) -> Page | None:
    """Return the page that *item* holds by *rule*, None where it holds no text; of HTML its *part*.

    Items that hold all of one *response*, and differ in other fields, are records of it: only the first
    of them is its page, the others give None, unless keys tell them apart.

    An item without a URL has that of its *response*.  HTML that is the text of *response* is not read
    again if `page_from_response` has read it; *holding* then gets the name of its callback.  Raises
    `NoHtml` for an item that is no page.
    """
    if not ItemAdapter.is_item(item):
        return None
    record = ItemAdapter(item)
    raw = raw_page_of(record, rule)
    if raw is None:
        return None
    if not raw.url and response is not None:
        raw = replace(raw, url=response.url)
    page = None
    if raw.html and isinstance(response, HtmlResponse) and _is_all_of(response, raw.html):
        if holding is not None:
            holding.add(_callback_of(response))
        if not raw.item_key and _is_another_record(record, raw, exchange_of(response)):
            return None
        page = _page_of_all(response, raw)
    with_places = response is not None and exchange_of(response).with_places
    page = page or Page.of_raw(raw, with_places=with_places)
    page = part.of(page, lambda: raw.markup) if part else page
    return page.of_record(raw)


def _is_another_record(record: ItemAdapter, raw: RawPage, exchange: Exchange) -> bool:
    """Return whether the first item with all of the response said something else in other fields."""
    names = [name for name in record if name != URL_FIELD and single(record[name]) is not raw.html]
    others = item_key(record, sorted(names))
    if exchange.beside is None:
        exchange.beside = others
    return exchange.beside != others


def _page_of_all(response: HtmlResponse, raw: RawPage) -> Page | None:
    """Return the page of *raw*, which holds all of *response*, None where it must be read by itself.

    The bytes of the response are judged: where they were decoded badly, different pages may have equal
    texts, and so equal digests.
    """
    if isinstance(raw.html, str) and ("\ufffd" in raw.html or not _is_well_decoded(response)):
        page = page_after_callback(response)
        return page and page.at(raw.url, response.body)
    page = exchange_of(response).page
    if page is None and isinstance(raw.html, bytes):  # the header knows more of their charset
        page = page_after_callback(response)
    html = raw.html if isinstance(raw.html, bytes) else raw.html.encode("utf-8", "surrogatepass")
    if page is None or page.excess is not None or len(html) > MAX_BYTES:
        return None
    if html == response.body and raw.url == page.url:  # as nearly all: its digest is known
        return page
    return page.at(raw.url, html)


def key_of(item: Any, rule: FieldRule) -> str:
    """Return the key of *item* by the key fields of *rule*, "" for none."""
    if not (rule.key_fields and ItemAdapter.is_item(item)):
        return ""
    return item_key(ItemAdapter(item), rule.key_fields)


def located(page: Page, response: Response | None) -> Page:
    """Return *page* with the host of its response, and the URLs that redirected to it."""
    if response is None:
        return replace(page, seen_on="")
    chain = response.request.meta.get("redirect_urls", ()) if response.request is not None else ()
    redirects = tuple(url for url in chain if isinstance(url, str)) if chain else ()
    seen_on = None if page.url == response.url else _other_host(response.url, page.url)
    if seen_on is None and not redirects:
        return page
    return replace(page, seen_on=seen_on, redirects=redirects)


def _other_host(url: str, page_url: str) -> str | None:
    host = host_of(url)
    return None if host == host_of(page_url) else host


def name_of(page: Page) -> str:
    """Return what the log calls *page* beside its URL: its key, or, if it has no URL, its first line."""
    if page.item_key or page.url:
        return page.item_key
    return next((line.strip() for line in page.text.splitlines() if line.strip()), "")


def _page_of(response: HtmlResponse) -> Page:
    if len(response.body) > MAX_BYTES:
        return Page.unread(response.body, Excess.BYTES, url=response.url)
    exchange = exchange_of(response)
    if exchange.page is None:
        exchange.page = _read(response)
    return exchange.page


def _read(response: HtmlResponse) -> Page:
    body, url = response.body, response.url
    with_places = exchange_of(response).with_places
    # Decoders differ in what they make of undecodable bytes: ours reads them, before and after
    # callbacks.
    if "\ufffd" in response.text or not _is_well_decoded(response):
        encoding = _header_encoding(response)
        return Page.from_html(body, url=url, encoding=encoding, with_places=with_places)
    # In UTF-8 a character of ASCII is one byte, another one up to four.
    longest = len(response.text) * (1 if response.text.isascii() else 4)
    if longest > SMALL and has_attribute_flood(markup_of(response.text)):
        return Page.unread(body, Excess.ATTRIBUTES, url=url)
    begin = thread_time()
    root = response.selector.root
    exchange_of(response).parsing = thread_time() - begin
    return Page.from_tree(root, body=body, url=url, with_places=with_places)


def _header_encoding(response: HtmlResponse) -> str | None:
    # Not `response.encoding`: without a declaration that is a guess, which differs between Scrapy
    # versions.
    content_type = response.headers.get("Content-Type") or b""
    return http_content_type_encoding(content_type.decode("latin-1"))


def _is_well_decoded(response: HtmlResponse) -> bool:
    """Return whether the text of *response* is what its bytes say."""
    exchange = exchange_of(response)
    if exchange.is_well_decoded is None:
        exchange.is_well_decoded = _fits_its_bytes(response)
    return exchange.is_well_decoded


def _fits_its_bytes(response: HtmlResponse) -> bool:
    body, text = response.body, response.text
    # In UTF-16 two bytes of ASCII are one character; ISO-2022-JP is ASCII, and valid UTF-8.
    is_ascii = body.isascii() and len(text) == len(body)
    if is_shifted(body, _header_encoding(response)):
        return not is_ascii
    if is_ascii or ("\ufffd" not in text and response.encoding == "utf-8"):
        return True
    return encoding_of(body, _header_encoding(response)) == resolve_encoding(response.encoding)


def _is_all_of(response: HtmlResponse, value: str | bytes) -> bool:
    return value == (response.body if isinstance(value, bytes) else response.text)


def _callback_of(response: Response) -> str:
    callback = response.request.callback if response.request is not None else None
    return getattr(callback, "__qualname__", "")
