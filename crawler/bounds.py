"""Which URLs and hosts the crawler may reach, checked before each request and at each connection."""

from __future__ import annotations

from urllib.parse import ParseResult, urlparse

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from crawler.addresses import AddressGuard, PrivateHosts, guarded, is_within, written_address

_PORTS = {"http": 80, "https": 443}


class BoundsMiddleware:
    """Refuses requests that leave the allowed domains or the web, or reach into a private network.

    It runs before the middleware that fetches robots.txt.  The user chose the start URLs, so their hosts
    are allowed, each at its port, also when a paused job (``JOBDIR``) continues.  Refused requests are
    logged and counted under ``bounds/``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hosts = PrivateHosts(crawler.settings.getlist("ALLOWED_PRIVATE_HOSTS"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BoundsMiddleware:
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED", True):
            raise RuntimeError(
                "crawler.bounds needs Twisted's resolver: set TWISTED_REACTOR_ENABLED to True"
            )
        bounds = cls(crawler)
        crawler.signals.connect(bounds.spider_opened, signals.spider_opened)
        return bounds

    def spider_opened(self, spider: Spider) -> None:
        """Keep the named hosts in the state of a job, which does not repeat its start requests."""
        # Extensions get this signal first, so the state is loaded.  Without JOBDIR there is none.
        state = getattr(spider, "state", None)
        if state is not None:
            self._hosts.named = state.setdefault("named_hosts", self._hosts.named)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        url = urlparse_cached(request)
        if url.scheme not in _PORTS:
            raise self._refused(request, "scheme", f"{url.scheme}: URLs are not fetched")
        host, port = _origin(url)
        redirected = "redirect_times" in request.meta
        # Scrapy lets requests with dont_filter pass.  A retried request has it, and so has its redirect.
        if redirected and not self._is_onsite(host):
            raise self._refused(request, "offsite", f"{host} is outside the allowed domains")
        if request.meta.get("is_start_request") and not redirected:
            self._hosts.add(host, port)
        address = written_address(host)
        if address and not self._hosts.allow(host, port, address):
            raise self._private(request, address)

    def before_connecting(self, request: Request) -> None:
        """Apply these bounds to the connection for *request*."""
        # The user named the proxy as well.  It resolves names itself, where we cannot check them.
        if proxy := request.meta.get("proxy"):
            self._hosts.add(*_origin(urlparse(proxy)))
        _guard().serve(self._hosts)

    def after_failing(self, request: Request, exception: Exception) -> None:
        """Raise `IgnoreRequest` if *request* failed because its host was refused."""
        if address := _guard().refused.get(_origin(urlparse_cached(request))):
            raise self._private(request, address) from exception

    def _is_onsite(self, host: str) -> bool:
        domains = getattr(self._crawler.spider, "allowed_domains", None)
        return not domains or is_within(host, domains)

    def _private(self, request: Request, address: str) -> IgnoreRequest:
        return self._refused(
            request, "private", f"{address} is private and not in ALLOWED_PRIVATE_HOSTS"
        )

    def _refused(self, request: Request, reason: str, explanation: str) -> IgnoreRequest:
        assert self._crawler.stats is not None
        assert self._crawler.spider is not None
        self._crawler.stats.inc_value(f"bounds/{reason}")
        self._crawler.spider.logger.info("Refused %s: %s", request, explanation)
        return IgnoreRequest(explanation)


class ConnectionMiddleware:
    """Applies the bounds next to the downloader: after proxies are chosen, before retries."""

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
        found = self._crawler.get_downloader_middleware(BoundsMiddleware)
        assert found is not None
        return found


def _guard() -> AddressGuard:
    # Needed at every request: Scrapy installs its own resolver after it has made the middlewares.
    from twisted.internet import reactor

    return guarded(reactor)


def _origin(url: ParseResult) -> tuple[str, int]:
    try:
        port = url.port or _PORTS.get(url.scheme, 0)
    except ValueError:  # there is no such port, so there will be no connection
        port = 0
    return url.hostname or "", port
