"""A resolver for tests: names stand in the setting TEST_HOSTS, each with its addresses in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import DNSLookupError


class FakeResolver(CachingThreadedResolver):
    """Scrapy's resolver, but for what it asks; an address is its own."""

    hosts: Mapping[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Any, reactor: Any) -> FakeResolver:
        resolver = cls(reactor, 0, 1.0)
        resolver.hosts = {
            name: cycle(addresses.split())
            for name, addresses in crawler.settings.getdict("TEST_HOSTS").items()
        }
        return resolver

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:
        if name.replace(".", "").isdigit():
            return succeed(name)
        return succeed(next(self.hosts[name])) if name in self.hosts else fail(DNSLookupError(name))
