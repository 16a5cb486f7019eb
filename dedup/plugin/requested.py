"""How a request was made: what its data depend on beside its URL, and what rules leave alone."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

if TYPE_CHECKING:
    from scrapy import Request

# Who handed a request out: the spider, by way of the scheduler.  Its value goes with the URL only, since
# callbacks copy the meta of responses into requests that they make themselves.
LINK = "dedup_link"
# Meta that says nothing of what a page shows.
_NEUTRAL = frozenset(
    f"{LINK} dedup depth link_text download_slot download_latency download_timeout redirect_times "
    "redirect_ttl redirect_urls redirect_reasons retry_times max_retry_times is_start_request "
    "referrer_policy proxy _auth_proxy".split()
)
_AGAIN = ("redirect_times", "retry_times", "verbatim_url")


def signature_of(request: Request) -> str | None:
    """Return what the data of a page depend on beside its URL, None where nobody can say.

    That is the callback with its arguments, cookies, headers, and what is in its meta.
    """
    name = _callback_name(request.callback)
    if name is None:
        return None
    meta = {key: value for key, value in request.meta.items() if key not in _NEUTRAL}
    headers = {key: value for key, value in request.headers.items() if key != b"Referer"}
    more = request.cb_kwargs, request.cookies, meta, headers
    if not any(more):
        return name
    try:
        return json.dumps((name, *more[:3], _texts(headers)), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _callback_name(callback: Any) -> str | None:
    if callback is None:
        return "parse"
    if callback is NO_CALLBACK or getattr(callback, "__self__", None) is None:
        return None
    name: str = callback.__name__
    return name


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
    """Return whether a callback has yielded *request*; what was requested by other ways waits for it."""
    return request.meta.get(LINK) == _mark(request.url)


def _mark(url: str) -> int:
    return zlib.crc32(url.encode("utf-8", "surrogatepass"))
