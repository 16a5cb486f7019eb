"""Requests: made again, made twice, described for the rules for URLs; and the list of those not made."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import signature
from pathlib import Path
from shlex import quote
from sqlite3 import Error as SQLiteError
from sqlite3 import connect
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.request import request_from_dict

from dedup.model.errors import DedupError, printable
from dedup.plugin.addon import data_file
from dedup.urls.rule import is_harmless

logger = logging.getLogger(__name__)

_MAX_REQUEST = 16_000  # only the URL of a longer request is used
# Marks a request that the spider handed out, by way of the scheduler.  Its value fits one URL only,
# since callbacks copy the meta of responses into requests that they make themselves.
LINK = "dedup_link"
AGAIN = "dedup_again"  # marks a request that was made once more, in the same way
# Meta that says nothing of what a page shows.
_NEUTRAL = frozenset(
    f"{LINK} {AGAIN} dedup depth link_text download_slot download_latency download_timeout "
    "redirect_times redirect_ttl redirect_urls redirect_reasons retry_times max_retry_times "
    "is_start_request referrer_policy proxy _auth_proxy".split()
)
_SORTED = json.JSONEncoder(sort_keys=True)
_TRIES = ("redirect_times", "retry_times")
# What a request that is made twice keeps, and seconds that it may take.
_COPIED_META, _TIMEOUT = ("cookiejar", "proxy", "bindaddress", "download_slot"), 30.0
# Requests of which nobody can tell what a second one does, or what would have to be closed.
_FOREIGN_META = ("splash", "zyte_api", "zyte_api_automap", "playwright")
_PASSWORD = re.compile(rb"<input[^<>]*type\s*=\s*[\"']?password", re.IGNORECASE)
_REFUSALS = (401, 403, 407, 429, 503)


def kept_request(request: Request, crawler: Crawler) -> str:
    """Return *request* as JSON, "" where it cannot be written as JSON."""
    try:
        fields = request.to_dict(spider=crawler.spider)
        fields["body"] = fields["body"].decode("ascii")
        fields["headers"] = _texts(fields["headers"])
        text = json.dumps(fields)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return ""
    return text if len(text) <= _MAX_REQUEST else ""


def request_read(text: str, crawler: Crawler) -> Request | None:
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
    if request.method != "GET" or request.meta.get(AGAIN) == request.url:
        return None
    meta = {name: value for name, value in request.meta.items() if name not in _TRIES}
    return request.replace(dont_filter=True, meta={**meta, AGAIN: request.url})


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


def is_of_link(request: Request) -> bool:
    """Return whether rules may speak of *request*: it asks for the page of a link, once.

    A callback has yielded it; for one made in another way somebody waits.
    """
    meta = request.meta
    return (
        request.method == "GET"
        and not request.dont_filter
        and not request.body
        and bool(meta.get("depth"))
        and meta.get("dedup") is not False
        and not any(map(meta.get, (*_TRIES, "verbatim_url")))
        and request.callback is not NO_CALLBACK
        and meta.get(LINK) == request.url
    )


# Made twice, see `dedup.plugin.probes`


class NoAnswer(Exception):  # noqa: N818
    """A request has failed as any may, once in a while, and Scrapy would make it once more."""


def probe_of(response: Response) -> Request | None:
    """Return what asks for the page of *response* again, None where that might do harm, or say nothing.

    It is asked for as it was, without what the response has added to its request.
    """
    request = response.request
    if not isinstance(response, HtmlResponse) or request is None or not is_harmless(response.url):
        return None
    meta = request.meta
    if request.method != "GET" or request.body or request.cookies or b"Authorization" in request.headers:
        return None
    if "cached" in response.flags or meta.get("dedup") is False or any(map(meta.get, _FOREIGN_META)):
        return None
    own = {"dedup": False, "dont_cache": True, "dont_retry": True, "handle_httpstatus_all": True}
    copied = {name: meta[name] for name in _COPIED_META if name in meta}
    return Request(
        response.url,
        NO_CALLBACK,
        headers={name: value for name, value in request.headers.items() if name != b"Cookie"},
        dont_filter=True,
        meta={**copied, **own, "download_timeout": _TIMEOUT},
    )


async def second_answer(crawler: Crawler, request: Request, first: HtmlResponse) -> Response | None:
    """Return the answer to *request* if it is like *first*, and no login or refusal, otherwise None.

    It comes from the downloader itself: no other component counts it as a page of the crawl.  Raises
    `NoAnswer`.
    """
    engine: Any = crawler.engine
    fetch = engine.downloader.fetch
    takes_spider = signature(fetch).parameters["spider"].default is not None  # Scrapy 2.13
    try:
        found = await maybe_deferred_to_future(
            fetch(request, crawler.spider) if takes_spider else fetch(request)
        )
    except Exception as error:  # a timeout, a connection that is lost
        raise NoAnswer(error) from error
    finally:
        with suppress(AttributeError):  # or the engine looks whether it is idle seconds later
            (getattr(engine, "_slot", None) or engine.slot).nextcall.schedule()
    status = getattr(found, "status", first.status)  # a request where it leads elsewhere has none
    if status in _REFUSALS:
        return None
    if status != first.status and status in map(int, crawler.settings.getlist("RETRY_HTTP_CODES")):
        raise NoAnswer(f"status {status}")
    if not isinstance(found, HtmlResponse) or (status, found.url) != (first.status, first.url):
        return None
    is_login = _PASSWORD.search(found.body) and not _PASSWORD.search(first.body)
    return None if is_login else found


# Addresses that are not visited

LIST = "not-visited.jsonl"
"""The list for people, in the JOBDIR of a crawl or else in the data directory of the project."""
STATE = "dedup.parked"  # what a job goes on with, in its JOBDIR
BY_RULE = "rule "  # a reason begins so where that is a rule for URLs; others are patterns
_NAMED = 20  # so many reasons are named in the log; all are in the list

_of_crawler: WeakKeyDictionary[Crawler, NotVisited] = WeakKeyDictionary()


class NotVisitedUrl(NamedTuple):
    """An address that was not visited: *why*, its *url*, and its *request*, "" if that is not known."""

    why: str
    url: str
    request: str = ""


class NotVisited:
    """Addresses by reason: in a file of a job, however its process ends, else in one of this process."""

    def __init__(self, job: str = "") -> None:
        self._job = job
        if job:
            Path(job).mkdir(parents=True, exist_ok=True)
        place = Path(job, STATE) if job else ""
        try:
            self._db = connect(place, isolation_level=None)
            self._db.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"  # no change waits for the disk
                "CREATE TABLE IF NOT EXISTS parked (id INTEGER PRIMARY KEY, why, url, request);"
                "CREATE INDEX IF NOT EXISTS by_why ON parked (why, id);"
            )
        except SQLiteError as error:
            way_out = "remove it, and the job goes on without the addresses that it has parked"
            raise DedupError(f"{place or LIST} cannot be used ({error}); {way_out}") from error

    def add(self, why: str, url: str, request: str = "") -> None:
        self._db.execute("INSERT INTO parked (why, url, request) VALUES (?, ?, ?)", (why, url, request))

    def take(self, why: str, most: int = -1) -> list[NotVisitedUrl]:
        """Take at most so many addresses of one reason out (-1: all), the first that came first."""
        return self._taken("WHERE why = ? ORDER BY id LIMIT ?", why, most)

    def take_urls(self, urls: Iterable[str]) -> list[NotVisitedUrl]:
        return self._taken("WHERE url IN (SELECT value FROM json_each(?))", json.dumps([*urls]))

    def _taken(self, where: str, *values: object) -> list[NotVisitedUrl]:
        which = f"id IN (SELECT id FROM parked {where}) RETURNING id, why, url, request"
        found = self._db.execute(f"DELETE FROM parked WHERE {which}", values).fetchall()
        return [NotVisitedUrl(*one[1:]) for one in sorted(found)]

    def __iter__(self) -> Iterator[NotVisitedUrl]:
        every = self._db.execute("SELECT why, url, request FROM parked ORDER BY id")
        return map(NotVisitedUrl._make, every)

    def counts(self) -> dict[str, int]:
        """Return how many addresses there are of each reason, the largest first."""
        return dict(
            self._db.execute("SELECT why, count(*) FROM parked GROUP BY why ORDER BY 2 DESC, why")
        )

    def close(self) -> str:
        """Leave the list of what was not visited; return what to say of it, "" where that is nothing."""
        counts, path = self.counts(), Path(self._job, LIST) if self._job else Path(data_file(LIST))
        if counts or (self._job and path.exists()):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            with new.open("w", encoding="utf-8") as file:
                # Without the requests, which may hold what is private.
                file.writelines(json.dumps({"why": one.why, "url": one.url}) + "\n" for one in self)
            new.replace(path)
        self._db.close()
        return _summary(counts, path) if counts else ""


def parked(crawler: Crawler) -> NotVisited:
    """Return the addresses that *crawler* does not visit; they are listed when it has ended."""
    found = _of_crawler.get(crawler)
    if found is None:
        found = _of_crawler[crawler] = NotVisited(crawler.settings["JOBDIR"] or "")

        def closed() -> None:
            counts, text = found.counts(), found.close()
            if text and crawler.stats:
                crawler.stats.set_value("dedup/not_visited", sum(counts.values()))
                logger.info("%s", text)

        crawler.signals.connect(closed, signals.spider_closed, weak=False)
    return found


def _summary(counts: dict[str, int], path: Path) -> str:
    lines = [f"{sum(counts.values()):,} addresses not visited:"]
    lines += [f"  {number:>8,}  {printable(why)}" for why, number in list(counts.items())[:_NAMED]]
    if len(counts) > _NAMED:
        lines.append(f"  and {len(counts) - _NAMED:,} more patterns")
    lines.append(f"  all of them: {printable(str(path))}")
    if patterns := [why for why in counts if not why.startswith(BY_RULE)]:
        follow = quote(f"dedup_follow={printable(patterns[0])}")
        lines.append(f"  to visit those of a pattern: -a {follow}")
    return "\n".join(lines)
