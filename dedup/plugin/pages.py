"""Responses, and items by their fields, become pages."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from w3lib.encoding import http_content_type_encoding, resolve_encoding

from dedup.model.hashes import digest
from dedup.model.urls import host_of
from dedup.plugin.tracking import exchange_of
from dedup.reading.fields import URL_FIELD, FieldRule, RawPage, item_key, raw_page_of, single
from dedup.reading.markup import MAX_BYTES, SMALL, decode, encoding_of, has_flood, is_shifted, markup_of
from dedup.reading.page import Page, judged_part
from dedup.settings import DedupSettings


def page_from_response(response: Response | None) -> Page | None:
    """Return the page of an HTML *response*, None for any other one.

    The tree that Scrapy parsed is used, and not changed, unless the bytes are in another encoding than
    the declared one, so call this before something else changes the tree.  A second call for the same
    response costs nothing.  A response over a limit is not parsed, see `Page`.
    """
    if isinstance(response, HtmlResponse) and (exchange := exchange_of(response)).page is None:
        exchange.page = _page_of_tree(response)
    return page_after_callback(response)


def _page_of_tree(response: HtmlResponse) -> Page | None:
    """Return the page of the tree that Scrapy parses, None where the bytes must be read.

    Decoders differ in what they make of undecodable bytes: ours reads them, before and after callbacks.
    """
    if len(response.body) > MAX_BYTES or "\ufffd" in (text := response.text):
        return None
    # In UTF-8, as nearly all bodies are, a character is one byte to four.
    longest = len(response.body) if response.encoding == "utf-8" else 4 * len(text)
    if not _is_well_decoded(response) or (longest > SMALL and has_flood(markup_of(text))):
        return None
    return Page.from_tree(response.selector.root, body=response.body, url=response.url, with_places=True)


def page_after_callback(response: Response | None, ignore: str = "") -> Page | None:
    """Return the page that `page_from_response` has read, or else read the bytes, as it is judged.

    The tree that Scrapy parsed may have changed by now: callbacks remove what they do not want.
    """
    if not isinstance(response, HtmlResponse):
        return None
    exchange = exchange_of(response)
    if exchange.page is None:
        exchange.page = Page.from_html(
            response.body, url=response.url, encoding=_header_encoding(response), with_places=True
        )
    return judged_part(exchange.page, ignore, lambda: decode(response.body, _header_encoding(response)))


def texts_of_links(response: Response) -> set[str]:
    """Return the texts of the links in *response*, none of what is no HTML."""
    found = response.selector.root.iter("a") if isinstance(response, HtmlResponse) else ()
    return {" ".join("".join(link.itertext()).split()) for link in found if link.get("href")} - {""}


class ItemReader:
    """Makes the pages of the items of one crawl."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler, self._settings, self._rule = crawler, settings, settings.fields
        # The callbacks, by name, of which an item has held all of its response.
        self._holding: set[str] = set()

    @property
    def own(self) -> Callable[[Any], Page | None] | None:
        """The method of the spider that makes pages of items, None for none."""
        return getattr(self._crawler.spider, "dedup_page_from_item", None)

    def read_ahead(self, response: Response) -> None:
        """Read *response* before its callback, if an item of that has held all of its response.

        Such an item need not be parsed again then, and the callback has not changed the tree yet.
        Raises whatever an unreadable tree raises.
        """
        if _callback_of(response) in self._holding:
            page_from_response(response)

    def read(self, item: Any, response: Response | None, *, is_only: bool) -> tuple[Page | None, str]:
        """Return the page to judge for *item* of *response*, or None, and its kind.

        If the item *is_only*, the one item of a response of HTML or of bytes, this is the page of that.
        Raises `NoHtml` for an item that is no page, or whatever a function of the project raises.
        """
        page, kind = None, "page"
        if is_only and isinstance(response, HtmlResponse):
            page = page_after_callback(response, self._settings.ignore)
        elif is_only and response and not isinstance(response, TextResponse) and response.body:
            # A document or a picture: nothing is read of it, so it repeats only equal bytes.
            page = Page(response.url, digest(response.body), text="")
        else:
            page, kind = self._page_of_fields(item, response), "item"
        if page and not page.item_key and (key := key_of(item, self._rule)):
            page = replace(page, item_key=key)
        return page and located(page, response), kind

    def _page_of_fields(self, item: Any, response: Response | None) -> Page | None:
        if not self.own:
            if type(item) is dict:  # as most are: an adapter would only take time
                return self._page_by_rule(item, response)
            return self._page_by_rule(ItemAdapter(item), response) if ItemAdapter.is_item(item) else None
        page = self.own(item)
        if page is not None and not isinstance(page, Page):
            raise TypeError(
                f"dedup_page_from_item must return a Page or None, not {type(page).__name__}"
            )
        return replace(page, url=response.url) if page and not page.url and response else page

    def _page_by_rule(self, record: Mapping[str, Any], response: Response | None) -> Page | None:
        """Return the page that *record* holds by its fields, None for no text.

        Records that hold all of one *response*, and differ in other fields, are records of it: only the
        first of them is its page, the others give None, unless keys tell them apart.
        """
        raw = raw_page_of(record, self._rule)
        if raw is None:
            return None
        if not raw.url and response is not None:
            raw = replace(raw, url=response.url)
        page, html = None, raw.html
        if isinstance(response, HtmlResponse) and html and html in (response.body, response.text):
            self._holding.add(_callback_of(response))
            if not raw.item_key:
                exchange = exchange_of(response)
                others = {name for name in record if single(record[name]) is not html} - {URL_FIELD}
                beside = item_key(record, sorted(others))
                exchange.beside = beside if exchange.beside is None else exchange.beside
                if exchange.beside != beside:
                    return None
            page = _page_of_all(response, raw)
        page = page or Page.of_raw(raw, with_places=True)
        return judged_part(page, self._settings.ignore, lambda: raw.markup).of_record(raw)


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
    if page is None or page.excess is not None:
        return None
    html, body = raw.html, response.body
    # As nearly all: to write it in UTF-8 would give its bytes, and their digest is known.
    if (response.encoding == "utf-8" and not body.startswith(BOM_UTF8)) or html == body:
        return page if raw.url == page.url else replace(page, url=raw.url)
    html = html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")
    return None if len(html) > MAX_BYTES else page.at(raw.url, html)


def key_of(item: Any, rule: FieldRule) -> str:
    """Return the key of *item* by the key fields of *rule*, "" for none."""
    if not (rule.key_fields and ItemAdapter.is_item(item)):
        return ""
    return item_key(ItemAdapter(item), rule.key_fields)


def located(page: Page, response: Response | None) -> Page:
    """Return *page* with the host of its response, and the URLs that redirected to it."""
    if response is None:
        return replace(page, seen_on="")
    chain = response.request.meta.get("redirect_urls") if response.request is not None else None
    redirects = tuple(url for url in chain or () if isinstance(url, str))
    is_there = page.url == response.url or host_of(page.url) == host_of(response.url)
    if is_there and not redirects:
        return page
    return replace(page, seen_on=None if is_there else host_of(response.url), redirects=redirects)


def item_name(page: Page) -> str:
    """Return what the log calls *page* beside its URL: its key, or, if it has no URL, its first line."""
    if page.item_key or page.url:
        return page.item_key
    return next((line.strip() for line in page.text.splitlines() if line.strip()), "")


def _header_encoding(response: HtmlResponse) -> str | None:
    # Not `response.encoding`: without a declaration that is a guess, which differs between Scrapy
    # versions.
    return http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))


def _is_well_decoded(response: HtmlResponse) -> bool:
    exchange = exchange_of(response)
    if exchange.is_well_decoded is None:
        body, named, used = response.body, _header_encoding(response), response.encoding
        # In UTF-16 two bytes of ASCII are one character; ISO-2022-JP is ASCII, and valid UTF-8.
        is_ascii = body.isascii() and len(response.text) == len(body)
        is_same = is_ascii or used == "utf-8" or encoding_of(body, named) == resolve_encoding(used)
        exchange.is_well_decoded = not is_ascii if is_shifted(body, named) else is_same
    return exchange.is_well_decoded


def _callback_of(response: Response) -> str:
    callback = response.request.callback if response.request is not None else None
    return getattr(callback, "__qualname__", "")
