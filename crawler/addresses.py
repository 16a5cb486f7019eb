"""Which addresses a crawl may connect to, checked when a name is resolved for a connection.

A check before the connection would not be enough: the owner of a name may let it resolve to a public
address for the check, and to one behind the firewall for the connection (DNS rebinding).  `AddressGuard`
filters what Twisted's resolver gives, so only addresses that passed the check are connected to.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from twisted.internet.interfaces import IAddress, IHostnameResolver, IHostResolution, IResolutionReceiver
from zope.interface import implementer

# The last 32 bits are an IPv4 address, translated for hosts that have only IPv6 (RFC 6052).
_NAT64 = ip_network("64:ff9b::/96")
# Python 3.11 calls these global, but they are no hosts of the internet: special addresses in IANA's
# registries, and addresses of cloud services inside their networks.
_SET_ASIDE = tuple(
    map(
        ip_network,
        (
            "64:ff9b:1::/48",  # NAT64 inside a network (RFC 8215)
            "fec0::/10",  # site-local (RFC 3879)
            "5f00::/16",  # segment routing (RFC 9602)
            "3fff::/20",  # documentation (RFC 9637)
            "192.0.0.0/24",  # protocols (RFC 6890); 192.0.0.192 is Oracle's metadata
            "192.88.99.0/24",  # relays of 6to4 (RFC 7526)
            "168.63.129.16/32",  # Azure's own services, on every virtual machine
        ),
    )
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
    if isinstance(host, IPv6Address) and (embedded := _embedded(host)):
        host = embedded
    is_set_aside = host.is_multicast or host.is_reserved or any(host in net for net in _SET_ASIDE)
    return host.is_global and not is_set_aside


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def written_address(host: str) -> str | None:
    """Return *host* in its usual notation if it is an address, None if it is a name.

    Old notations of IPv4 are accepted, because resolvers accept them.

    >>> written_address("127.1"), written_address("0x7f000001"), written_address("example.com")
    ('127.0.0.1', '127.0.0.1', None)
    """
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
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

    def add(self, host: str, port: int) -> None:
        """Allow connections to *host* on *port*, whatever its address is."""
        self.named.add((host, port))

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

    Crawls of one process share its resolver: what one of them may reach, all of them may reach.
    *refused* holds the hosts whose last look-up gave no allowed address, each with one refused address.
    """

    def __init__(self, resolver: IHostnameResolver) -> None:
        self._resolver = resolver
        self._crawls: list[PrivateHosts] = []
        self.refused: dict[tuple[str, int], str] = {}

    def serve(self, hosts: PrivateHosts) -> None:
        """Allow what the crawl with these *hosts* may reach."""
        if hosts not in self._crawls:
            self._crawls.append(hosts)

    def allow(self, host: str, port: int, address: str) -> bool:
        """Return whether some crawl may connect to *host*, which has *address*, on *port*."""
        return any(hosts.allow(host, port, address) for hosts in self._crawls)

    def resolveHostName(
        self,
        resolutionReceiver: IResolutionReceiver,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> IHostResolution:
        receiver = _Filter(self, hostName.lower(), portNumber, resolutionReceiver)
        resolve: Callable[..., IHostResolution] = self._resolver.resolveHostName
        return resolve(receiver, hostName, portNumber, addressTypes, transportSemantics)


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
        if self._guard.allow(*self._origin, address.host):
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
