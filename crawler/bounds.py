"""Which URLs, hosts and addresses a crawl may reach, checked before each request and at each connection.

A check of a name before the connection would not be enough: its owner may let it resolve to a public
address for the check, and to one behind the firewall for the connection (DNS rebinding).  `AddressGuard`
filters what Twisted's resolver gives, so only addresses that passed the check are connected to.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import ParseResult, urlparse

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.interfaces import IHostnameResolver, IHostResolution, IResolutionReceiver
from zope.interface import implementer

_PORTS = {"http": 80, "https": 443}
# The last 32 bits are an IPv4 address, translated for hosts that have only IPv6 (RFC 6052).
_NAT64 = ip_network("64:ff9b::/96")
# Python 3.11 calls these global, but they are no hosts of the internet: special addresses in IANA's
# registries, and addresses of cloud services inside their networks.
_SET_ASIDE = (
    ip_network("64:ff9b:1::/48"),  # NAT64 inside a network (RFC 8215)
    ip_network("fec0::/10"),  # site-local (RFC 3879)
    ip_network("5f00::/16"),  # segment routing (RFC 9602)
    ip_network("3fff::/20"),  # documentation (RFC 9637)
    ip_network("192.0.0.0/24"),  # protocols (RFC 6890); 192.0.0.192 is Oracle's metadata
    ip_network("192.88.99.0/24"),  # relays of 6to4 (RFC 7526)
    ip_network("168.63.129.16/32"),  # Azure's own services, on every virtual machine
)


def is_public(address: str) -> bool:
    """Return whether *address* belongs to one host of the public internet, not of a private network.

    An IPv6 address that contains an IPv4 address is judged by the latter.

    >>> is_public("93.184.215.14"), is_public("2606:4700::1111")
    (True, True)
    >>> is_public("127.0.0.1"), is_public("168.63.129.16"), is_public("::ffff:10.0.0.1")
    (False, False, False)
    """
    host = ip_address(address)
    if isinstance(host, IPv6Address):
        is_translated = host in _NAT64
        embedded = IPv4Address(int(host) & 0xFFFFFFFF) if is_translated else None
        host = embedded or host.ipv4_mapped or host.sixtofour or host
    is_set_aside = host.is_multicast or host.is_reserved or any(host in net for net in _SET_ASIDE)
    return host.is_global and not is_set_aside


def written_address(host: str) -> str | None:
    """Return *host* in its usual notation if it is an address, None if it is a name.

    Old notations of IPv4 are accepted, because resolvers accept them.

    >>> written_address("127.1"), written_address("0x7f000001"), written_address("example.com")
    ('127.0.0.1', '127.0.0.1', None)
    """
    with suppress(ValueError):
        return str(ip_address(host))
    with suppress(OSError, ValueError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return None


class PrivateHosts:
    """The private hosts that one crawl may reach.

    *entries* are names (with their subdomains), addresses and networks ("10.1.0.0/16").  *named* are the
    hosts, with their ports, that the user named as start URLs.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks = []
        self.named: set[tuple[str, int]] = set()
        for entry in entries:
            try:
                self._networks.append(ip_network(entry.strip(), strict=False))
            except ValueError:
                self._names.add(entry.strip().lower().lstrip("."))

    def allow(self, host: str, port: int, address: str) -> bool:
        """Return whether the crawl may connect to *host*, which has *address*, on *port*."""
        if (host, port) in self.named or is_public(address):
            return True
        number = ip_address(address)
        return is_within(host, self._names) or any(number in network for network in self._networks)


def is_within(host: str, domains: Iterable[str]) -> bool:
    """Return whether *host* is one of *domains* or a subdomain of one.

    >>> is_within("www.example.com", ["example.com"]), is_within("notexample.com", ["example.com"])
    (True, False)
    """
    return any(host == domain or host.endswith("." + domain) for domain in domains)


@implementer(IHostnameResolver)
class AddressGuard:
    """Resolves as *resolver* does, but passes on only the addresses that some crawl allows.

    The *crawls* of one process share its resolver: what one of them may reach, all of them may reach.
    *refused* holds the hosts whose last look-up gave no allowed address, each with one refused address.
    """

    def __init__(self, resolver: IHostnameResolver) -> None:
        self._resolver = resolver
        self.crawls: set[PrivateHosts] = set()
        self.refused: dict[tuple[str, int], str] = {}

    def resolveHostName(
        self, resolutionReceiver: Any, hostName: str, portNumber: int = 0, *how: Any, **named: Any
    ) -> IHostResolution:
        receiver = _Filter(self, hostName.lower(), portNumber, resolutionReceiver)
        resolve: Callable[..., IHostResolution] = self._resolver.resolveHostName
        return resolve(receiver, hostName, portNumber, *how, **named)


@implementer(IResolutionReceiver)
class _Filter:
    """Passes to *receiver* those addresses of a host that *guard* allows."""

    def __init__(self, guard: AddressGuard, host: str, port: int, receiver: IResolutionReceiver) -> None:
        self._guard = guard
        self._origin = host, port
        self._receiver: Any = receiver
        self._passed = False
        self._refused = ""

    def resolutionBegan(self, resolution: IHostResolution) -> None:
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:
        if any(hosts.allow(*self._origin, address.host) for hosts in self._guard.crawls):
            self._passed = True
            self._receiver.addressResolved(address)
        else:
            self._refused = address.host

    def resolutionComplete(self) -> None:
        if self._refused and not self._passed:
            self._guard.refused[self._origin] = self._refused
        else:
            self._guard.refused.pop(self._origin, None)
        self._receiver.resolutionComplete()


def guarded(reactor: Any) -> AddressGuard:
    """Return the guard of *reactor*; put one before its resolver if there is none yet."""
    guard = reactor.nameResolver
    if not isinstance(guard, AddressGuard):
        guard = AddressGuard(guard)
        reactor.installNameResolver(guard)
    return guard


class BoundsMiddleware:
    """Refuses requests that leave the allowed domains or the web, or reach into a private network.

    It runs before the middleware that fetches robots.txt.  The user chose the start URLs, so their hosts
    are allowed, each at its port, also when a paused job (``JOBDIR``) continues.  Refused requests are
    logged and counted under ``bounds/``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.hosts = PrivateHosts(crawler.settings.getlist("ALLOWED_PRIVATE_HOSTS"))

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
            self.hosts.named = state.setdefault("named_hosts", self.hosts.named)

    def process_request(self, request: Request, spider: Any = None) -> None:
        url = urlparse_cached(request)
        if url.scheme not in _PORTS:
            raise self._refused(request, "scheme", f"{url.scheme}: URLs are not fetched")
        host, port = _origin(url)
        redirected = "redirect_times" in request.meta
        # Scrapy lets requests with dont_filter pass.  A retried request has it, and so has its redirect.
        domains = getattr(self._crawler.spider, "allowed_domains", None)
        if redirected and domains and not is_within(host, domains):
            raise self._refused(request, "offsite", f"{host} is outside the allowed domains")
        if request.meta.get("is_start_request") and not redirected:
            self.hosts.named.add((host, port))
        address = written_address(host)
        if address and not self.hosts.allow(host, port, address):
            raise self.private(request, address)

    def private(self, request: Request, address: str) -> IgnoreRequest:
        """Return the refusal of *request*, whose host has the private *address*."""
        why = f"{address} is private and not in ALLOWED_PRIVATE_HOSTS"
        return self._refused(request, "private", why)

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

    def process_request(self, request: Request, spider: Any = None) -> None:
        hosts = self._bounds.hosts
        # The user named the proxy as well.  It resolves names itself, where we cannot check them.
        if proxy := request.meta.get("proxy"):
            hosts.named.add(_origin(urlparse(proxy)))
        _guard().crawls.add(hosts)

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        if address := _guard().refused.get(_origin(urlparse_cached(request))):
            raise self._bounds.private(request, address) from exception

    @property
    def _bounds(self) -> BoundsMiddleware:
        bounds = self._crawler.get_downloader_middleware(BoundsMiddleware)
        assert bounds is not None
        return bounds


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
