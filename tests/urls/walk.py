"""Crawls of sites without a crawler, as the plugin does it: some requests at a time, links in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urljoin

from dedup.urls.propose import Proposal, Visit, propose
from dedup.urls.rule import Counterexample, Obeyed, Rule

HOST = "http://a.example"
AT_A_TIME = 4


class Answer(Protocol):
    """What stands at a URL: what it shows, and its links."""

    @property
    def shows(self) -> str: ...
    @property
    def links(self) -> tuple[str, ...]: ...


class Site(Protocol):
    """A site as a function of its URLs."""

    def at(self, url: str) -> Answer | None: ...


@dataclass
class Walk:
    """A crawl of *site* by rules that are *obeyed*; *step* changes the order of its requests."""

    site: Site
    obeyed: Obeyed = field(default_factory=Obeyed)
    step: int = 0
    shown: dict[str, str] = field(default_factory=dict)
    held: dict[str, frozenset[Rule]] = field(default_factory=dict)
    wrong: list[Counterexample] = field(default_factory=list)
    requests: int = 0
    _todo: deque[str] = field(default_factory=deque)
    _seen: dict[str, int] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)
    _contents: dict[str, int] = field(default_factory=dict)
    _visits: list[Visit] = field(default_factory=list)

    def crawl(self) -> Walk:
        self._found([HOST + "/"])
        while self._todo:
            # Some are under way when the first comes back.
            urls = [self._next() for _ in range(min(AT_A_TIME, len(self._todo)))]
            asked = [url for url in urls if not self._withholds(url)]
            for url in asked:
                self._fetch(url)
        return self

    def proposed(self) -> list[Proposal]:
        return propose(self._visits, list(self._seen))

    def _next(self) -> str:
        self._todo.rotate(self.step)
        return self._todo.popleft()

    def _found(self, urls: Iterable[str]) -> list[int]:
        found = []
        for url in urls:
            if url not in self._seen:
                self._seen[url] = len(self._seen)
                self._todo.append(url)
            found.append(self._seen[url])
        return found

    def _withholds(self, url: str) -> bool:
        page = None if url in self._made else self.obeyed.page_for(url, "")
        if page:
            self.held[url] = page.rules
        return page is not None

    def _fetch(self, url: str) -> None:
        self.requests += 1
        answer = self.site.at(url)
        if answer is None:
            return
        first = self.shown.setdefault(answer.shows, url)
        shows = (self._contents.setdefault(answer.shows, len(self._contents)),)
        links = [urljoin(url, link) for link in answer.links]
        self._visits.append(Visit(self._seen[url], shows, self._found(links)))
        normal = self.obeyed.rules.normal
        stands = first == url or normal(first)[0] == normal(url)[0]
        self.wrong += self.obeyed.seen([url], "", shows, links, counts=stands)
        for held, rules in list(self.held.items()):
            if not rules <= self.obeyed.rules.all:
                del self.held[held]
                self._made.add(held)
                self._todo.append(held)
