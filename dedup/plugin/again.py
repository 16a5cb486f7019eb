"""Requests: kept as JSON and made again, marked, and described for the rules for URLs."""

from __future__ import annotations

import json
import zlib
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.request import request_from_dict

# Only the URL of a longer request is used.
_MAX_REQUEST = 16_000
# Marks a request that the spider handed out, by way of the scheduler.  Its value fits one URL only,
# since callbacks copy the meta of responses into requests that they make themselves.
LINK = "dedup_link"
# Marks a request that was made once more, in the same way.
AGAIN = "dedup_again"
# Meta that says nothing of what a page shows.
_NEUTRAL = frozenset(
    f"{LINK} {AGAIN} dedup depth link_text download_slot download_latency download_timeout "
    "redirect_times redirect_ttl redirect_urls redirect_reasons retry_times max_retry_times "
    "is_start_request referrer_policy proxy _auth_proxy".split()
)
_SORTED = json.JSONEncoder(sort_keys=True)
_TRIES = ("redirect_times", "retry_times")
_AGAIN = (*_TRIES, "verbatim_url")


def kept_request(request: Request | None, crawler: Crawler) -> str:
    """Return *request* as JSON, "" where it cannot be written as JSON."""
    if request is None:
        return ""
    try:
        fields = request.to_dict(spider=crawler.spider)
        fields["body"] = fields["body"].decode("ascii")
        fields["headers"] = _texts(fields["headers"])
        text = json.dumps(fields)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return ""
    return text if len(text) <= _MAX_REQUEST else ""


def request_again(text: str, crawler: Crawler) -> Request | None:
    """Return the request that `kept_request` wrote, exempt from filters, None where it is unreadable."""
    try:
        fields = json.loads(text)
        fields["body"] = fields["body"].encode("ascii")
        fields["dont_filter"] = True
        fields.pop("_class", None)  # a file must not name what is imported
        return request_from_dict(fields, spider=crawler.spider)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def once_more(request: Request) -> Request | None:
    """Return what asks for the page of *request* once more, None where that would be the second time.

    Only what changes nothing on a server is asked for again.
    """
    if request.method != "GET" or request.meta.get(AGAIN) == _mark(request.url):
        return None
    meta = {name: value for name, value in request.meta.items() if name not in _TRIES}
    return request.replace(dont_filter=True, meta={**meta, AGAIN: _mark(request.url)})


def signature_of(request: Request) -> str | None:
    """Return what the data of a page depend on besides its URL, None where that cannot be told.

    That is the callback with its arguments, cookies, headers, and what is in its meta.
    """
    callback: Any = request.callback
    if callback is not None and getattr(callback, "__self__", None) is None:
        return None
    name = "parse" if callback is None else callback.__name__
    meta = {key: value for key, value in request.meta.items() if key not in _NEUTRAL}
    headers = {key: value for key, value in request.headers.items() if key != b"Referer"}
    more = request.cb_kwargs, request.cookies, meta, headers
    if not any(more):
        return str(name)
    try:
        return _SORTED.encode((name, *more[:3], _texts(headers)))
    except (TypeError, ValueError, RecursionError):
        return None


def _texts(headers: dict[Any, Any]) -> dict[str, list[str]]:
    return {
        name.decode("latin-1"): [value.decode("latin-1") for value in values]
        for name, values in headers.items()
    }


def is_open_to_rules(request: Request) -> bool:
    """Return whether rules may speak of *request*: it asks for the page of a link, once."""
    meta = request.meta
    return (
        request.method == "GET"
        and not request.dont_filter
        and not request.body
        and bool(meta.get("depth"))
        and meta.get("dedup") is not False
        and not any(map(meta.get, _AGAIN))
        and request.callback is not NO_CALLBACK
    )


def mark_link(request: Request) -> None:
    """Mark a request that a callback has yielded, so that `is_link` knows it again."""
    request.meta[LINK] = _mark(request.url)


def is_link(request: Request) -> bool:
    """Return whether a callback has yielded *request*; for one made in another way somebody waits."""
    return request.meta.get(LINK) == _mark(request.url)


def _mark(url: str) -> int:
    return zlib.crc32(url.encode("utf-8", "surrogatepass"))
