"""Pages whose callback was skipped and that were restored: requested when a crawl starts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import request_from_dict

from dedup.values.errors import IndexUnavailable
from dedup.values.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from dedup.plugin.judge import Judge

logger = logging.getLogger(__name__)

# Only the URL of a longer request is used.
_MAX_REQUEST = 16_000


def kept_request(request: Request | None, crawler: Crawler) -> str:
    """Return *request* as JSON, "" where it cannot be written as JSON."""
    if request is None:
        return ""
    try:
        fields = request.to_dict(spider=crawler.spider)
        fields["body"] = fields["body"].decode("ascii")
        fields["headers"] = {
            name.decode("latin-1"): [value.decode("latin-1") for value in values]
            for name, values in fields["headers"].items()
        }
        text = json.dumps(fields)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return ""
    return text if len(text) <= _MAX_REQUEST else ""


def restored_requests(judge: Judge, crawler: Crawler) -> Iterator[Request]:
    """Yield a request for each page that was skipped and then restored."""
    try:
        skipped = judge.restored()
    except IndexUnavailable as error:
        logger.error("Restored pages cannot be requested: %s", error)
        return
    for url, text in skipped:
        request = request_again(text, crawler)
        if request is None:
            logger.warning("<%s> was restored; its request has the default callback", printable(url))
        try:
            yield request or Request(url, dont_filter=True)
        except ValueError as error:
            logger.error("<%s> was restored and cannot be requested: %s", printable(url), error)


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
