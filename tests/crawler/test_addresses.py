from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.address import IPv4Address as TwistedAddress

from crawler.bounds import AddressGuard, PrivateHosts, guarded, is_public, written_address


class Told:
    """A resolver that gives what it is told, and the receiver of it."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = addresses
        self.passed: list[str] = []
        self.ended = False

    def resolveHostName(self, receiver: Any, name: str, port: int, *_: object) -> None:
        receiver.resolutionBegan(None)
        for address in self.addresses:
            receiver.addressResolved(TwistedAddress("TCP", address, port))
        receiver.resolutionComplete()

    def resolutionBegan(self, resolution: Any) -> None:
        pass

    def addressResolved(self, address: Any) -> None:
        self.passed.append(address.host)

    def resolutionComplete(self) -> None:
        self.ended = True


def resolved(addresses: Sequence[str], hosts: PrivateHosts, host: str = "a.test") -> tuple[Told, bool]:
    told: Any = Told(addresses)
    guard = AddressGuard(told)
    guard.crawls.add(hosts)
    guard.resolveHostName(told, host, 80)
    assert told.ended
    return told, (host.lower(), 80) in guard.refused


ADDRESSES = st.lists(st.one_of(st.ip_addresses(), st.sampled_from(["127.0.0.1", "10.0.0.1", "8.8.8.8"])))


@given(ADDRESSES.map(lambda found: [str(address) for address in found]))
def test_what_passes_is_public_and_all_that_is_passes(addresses: list[str]) -> None:
    told, refused = resolved(addresses, PrivateHosts())
    assert told.passed == [address for address in addresses if is_public(address)]
    assert refused == (bool(addresses) and not told.passed)


@pytest.mark.parametrize(
    ("entry", "address", "passes"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", True),
        ("10.0.0.0/8", "192.168.0.1", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("a.test", "10.1.2.3", True),
        ("test", "10.1.2.3", True),
        (" .TEST ", "10.1.2.3", True),
        ("b.test", "10.1.2.3", False),
        ("::/0", "10.1.2.3", False),
    ],
)
def test_entries_are_names_addresses_and_networks(entry: str, address: str, passes: bool) -> None:
    assert bool(resolved([address], PrivateHosts([entry]))[0].passed) == passes


def test_a_named_host_passes_at_its_port_only() -> None:
    hosts = PrivateHosts()
    hosts.named.add(("a.test", 80))
    assert resolved(["127.0.0.1"], hosts, "A.test")[0].passed
    assert not resolved(["127.0.0.1"], hosts, "b.test")[0].passed
    assert not hosts.allow("a.test", 8080, "127.0.0.1")


SERVICES = (  # of clouds
    *("168.63.129.16", "192.0.0.192", "169.254.169.254", "169.254.170.2", "100.100.100.200"),
    *("192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.0.0.255", "192.88.99.1"),
)
PRIVATE = (
    *("0.0.0.0", "10.1.1.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1"),
    *("192.0.2.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fc00::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b:1::a00:1", "fec0::1", "::7f00:1", "2002:7f00:1::"),
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
)


def forms_of(address: str) -> list[str]:
    """Return *address*, and those that stand for one of IPv4."""
    if ":" in address:
        return [address]
    high, low = divmod(int(ip_address(address)), 2**16)
    prefixes = ("", "::ffff:", "64:ff9b::", "::", "::ffff:0:", "64:ff9b:1::")
    return [*(prefix + address for prefix in prefixes), f"2002:{high:x}:{low:x}::1"]


@pytest.mark.parametrize("address", SERVICES + PRIVATE)
def test_services_of_clouds_and_private_addresses_are_not_public(address: str) -> None:
    assert [form for form in forms_of(address) if is_public(form)] == []


@given(st.ip_addresses(v=4).map(str) | st.sampled_from(SERVICES))
def test_no_form_of_a_private_address_is_public(address: str) -> None:
    for form in forms_of(address):
        assert is_public(address) or not is_public(form)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        *(("127.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1")),
        *(("::1", "::1"), ("example.com", None), ("", None), ("1.2.3.4.5", None), ("\udcff", None)),
    ],
)
def test_addresses_that_are_written_out(host: str, address: str | None) -> None:
    assert written_address(host) == address


def test_a_reactor_gets_one_guard_and_again_when_its_resolver_was_changed() -> None:
    class Reactor:
        nameResolver: Any = Told([])

        def installNameResolver(self, resolver: Any) -> None:
            self.nameResolver = resolver

    reactor = Reactor()
    guard = guarded(reactor)
    assert guarded(reactor) is guard
    reactor.nameResolver = Told([])
    assert isinstance(guarded(reactor), AddressGuard)
    assert guarded(reactor) is not guard
