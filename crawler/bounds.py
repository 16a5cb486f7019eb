"""Where the crawler may go, checked before a page is fetched and while it is connected to."""

from __future__ import annotations

from urllib.parse import ParseResult, urlparse

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from crawler.addresses import AddressGuard, PrivateHosts, guarded, is_within, written_address

_PORTS = {"http": 80, "https": 443}


class BoundsMiddleware:
    """Refuses what leads out of the allowed domains, off the web, or into a private network.

    It stands before the one that fetches robots.txt.  Start requests were named by the user: their
    hosts are allowed, at their ports, also when a paused job (``JOBDIR``) goes on.  A refused request
    is logged and counted under ``bounds/``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hosts = PrivateHosts(crawler.settings.getlist("ALLOWED_PRIVATE_HOSTS"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BoundsMiddleware:
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED", True):
            raise RuntimeError("crawler.bounds needs Twisted's resolver: set TWISTED_REACTOR_ENABLED")
        bounds = cls(crawler)
        crawler.signals.connect(bounds.spider_opened, signals.spider_opened)
        return bounds

    def spider_opened(self, spider: Spider) -> None:
        """Keep the named hosts in the state of a job: when it goes on, start requests are duplicates."""
        # Extensions hear this signal first, so the state is loaded; without JOBDIR there is none.
        state = getattr(spider, "state", None)
        if state is not None:
            self._hosts.named = state.setdefault("named_hosts", self._hosts.named)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        url = urlparse_cached(request)
        if url.scheme not in _PORTS:
            raise self._refused(request, "scheme", f"{url.scheme}: is not fetched")
        host, port = _origin(url)
        redirected = "redirect_times" in request.meta
        # Scrapy lets pass what has dont_filter, and a request that was tried again hands that on to
        # where it is redirected.
        if redirected and not self._is_onsite(host):
            raise self._refused(request, "offsite", f"{host} is outside the allowed domains")
        if request.meta.get("is_start_request") and not redirected:
            self._hosts.add(host, port)
        address = written_address(host)
        if address and not self._hosts.allow(host, port, address):
            raise self._private(request, address)

    def before_connecting(self, request: Request) -> None:
        """Hold the connection that *request* will need to these bounds."""
        # A proxy was named by the user as well.  It resolves names itself, out of our sight.
        if proxy := request.meta.get("proxy"):
            self._hosts.add(*_origin(urlparse(proxy)))
        _guard().serve(self._hosts)

    def after_failing(self, request: Request, exception: Exception) -> None:
        """Raise `IgnoreRequest` if *request* failed because its host is out of bounds."""
        if address := _guard().refused.get(_origin(urlparse_cached(request))):
            raise self._private(request, address) from exception

    def _is_onsite(self, host: str) -> bool:
        domains = getattr(self._crawler.spider, "allowed_domains", None)
        return not domains or is_within(host, domains)

    def _private(self, request: Request, address: str) -> IgnoreRequest:
        return self._refused(
            request, "private", f"{address} is private and not among ALLOWED_PRIVATE_HOSTS"
        )

    def _refused(self, request: Request, reason: str, explanation: str) -> IgnoreRequest:
        assert self._crawler.stats is not None
        assert self._crawler.spider is not None
        self._crawler.stats.inc_value(f"bounds/{reason}")
        self._crawler.spider.logger.info("Refused %s: %s", request, explanation)
        return IgnoreRequest(explanation)


class ConnectionMiddleware:
    """The bounds next to the downloader: after proxies are chosen, before failures are tried again."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ConnectionMiddleware:
        return cls(crawler)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        self._bounds().before_connecting(request)

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> None:
        self._bounds().after_failing(request, exception)

    def _bounds(self) -> BoundsMiddleware:
        bounds = self._crawler.get_downloader_middleware(BoundsMiddleware)
        assert bounds is not None
        return bounds


def _guard() -> AddressGuard:
    # Asked for at every request: Scrapy installs its own resolver after it made the middlewares.
    from twisted.internet import reactor

    return guarded(reactor)


def _origin(url: ParseResult) -> tuple[str, int]:
    try:
        port = url.port or _PORTS.get(url.scheme, 0)
    except ValueError:  # no port has that number, so nothing will be connected to
        port = 0
    return url.hostname or "", port
