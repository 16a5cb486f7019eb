"""Sites drawn at random: some 150 copies that rules can save, traps beside them, all linked on page 1.

A site is a function of its seed, so that everybody knows what stands at each URL, in any order of visits.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

NAMES = ("ref", "sid", "from", "highlight", "lang", "sort", "theme", "src", "back", "token")
SECTIONS = ("news", "shop", "wiki", "docs", "people", "forum", "maps", "jobs")
MAINTENANCE, BEHIND = 100, 12
WORDS = 90


@dataclass(frozen=True)
class Answer:
    """A page: what it *shows* (the same name is the same text), and its links; a status."""

    shows: str
    links: tuple[str, ...] = ()
    status: int = 200


@dataclass
class _Section:
    """Pages of one kind: how their URLs are written, and how copies of them are."""

    name: str
    style: str
    pages: int

    def url(self, page: int) -> str:
        """Return the URL of a page."""
        title = f"{'abcdefghij'[page % 10]}{'klmnopqrst'[page // 10]}-{self.name}"
        return {
            "number": f"/{self.name}/{page}",
            "title": f"/{self.name}/{title}",
            "script": f"/{self.name}/item?id={page}",
            "routed": f"/index.php?do={self.name}&page={title}",
        }[self.style]


@dataclass
class DrawnSite:
    """What stands at each URL of the site with this *seed*."""

    seed: int
    pages: dict[str, Answer] = field(default_factory=dict)
    copies: int = 0
    """How many URLs repeat a page that some right rule could take them for."""
    _hub: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        drawn = random.Random(f"site {self.seed}")
        names = drawn.sample(SECTIONS, 5)
        styles = [*drawn.sample(("number", "title", "script", "routed"), 4), "number"]
        sections = [
            _Section(name, style, drawn.randint(36, 50))
            for name, style in zip(names, styles, strict=True)
        ]
        for section in sections:
            home = section.url(0)
            for page in range(section.pages):
                near = section.url((page + 1) % section.pages)
                self._put(section.url(page), f"{section.name} {page}", home, near)
        parameters = drawn.sample(NAMES, len(NAMES))
        for make in (self._parameter, self._parameter, self._parameter, self._value):
            make(drawn, drawn.choice(sections), parameters.pop())
        for end in drawn.sample(("/", "/index.html", "/print", ";jsessionid=1"), 2):
            self._in_path(drawn, drawn.choice(sections), end)
        self._conditional(drawn)
        for trap in (self._matters_elsewhere, self._matters_rarely, self._hides):
            trap(drawn, sections, parameters.pop())
        self._maintained()
        self._wall()
        self._put("/", "home", *self._hub)

    def _put(self, url: str, shows: str, *links: str) -> None:
        if url not in self.pages:
            self.pages[url] = Answer(shows, links)
            self._hub.append(url)

    def _copy(self, url: str, of: str) -> None:
        if url not in self.pages:
            self.copies += 1
            self._put(url, self.pages[of].shows, *self.pages[of].links)

    def _some(self, drawn: random.Random, section: _Section) -> list[str]:
        count = drawn.randint(22, 30)
        return [section.url(page) for page in drawn.sample(range(section.pages), count)]

    # What makes copies

    def _parameter(self, drawn: random.Random, section: _Section, name: str) -> None:
        for url in self._some(drawn, section):
            self._copy(_with(url, f"{name}={drawn.randrange(10**4)}"), url)

    def _value(self, drawn: random.Random, section: _Section, name: str) -> None:
        for url in self._some(drawn, section):
            self._copy(_with(url, f"{name}=0"), url)
            if drawn.random() < 0.3:
                self._put(_with(url, f"{name}=10"), f"{url} from 10 on")

    def _in_path(self, drawn: random.Random, section: _Section, end: str) -> None:
        for url in self._some(drawn, section):
            path, sign, query = url.partition("?")
            of = f"{path}/{sign}{query}" if end == "/index.html" else url
            if of != url:
                self._copy(of, url)
            self._copy(f"{path}{end}{sign}{query}", of)

    def _conditional(self, drawn: random.Random) -> None:
        """The page does not matter in the tree of a folder; it is all that matters elsewhere."""
        for page in range(14):
            self._put(f"/app.php?act=show&doc=d{'abcdefghijklmn'[page]}", f"document {page}")
            first = f"/app.php?act=tree&folder=f{'abcdefghijklmn'[page]}"
            self._put(first, f"tree {page}")
            for _ in range(2):
                self._copy(f"{first}&doc=d{'abcdefghijklmn'[drawn.randrange(14)]}", first)

    # Traps

    def _matters_elsewhere(self, drawn: random.Random, sections: list[_Section], name: str) -> None:
        """A parameter without meaning in one section is what tells the pages of another one apart."""
        section = drawn.choice(sections)
        for url in self._some(drawn, section):
            self._copy(_with(url, f"{name}={drawn.randrange(99)}"), url)
        for place in ("/offer/show", "/part"):
            for value in range(drawn.randint(3, 9)):
                self._put(f"{place}?{name}={value}", f"{place} {value}")

    def _matters_rarely(self, drawn: random.Random, sections: list[_Section], name: str) -> None:
        """A parameter that matters on some pages of a section, and else not."""
        for number, url in enumerate(self._some(drawn, drawn.choice(sections))):
            for value in (1, 2):
                here = _with(url, f"{name}={value}")
                if number % 9 == 4:
                    self._put(here, f"{url} {value}")
                else:
                    self._put(here, self.pages[url].shows, *self.pages[url].links)

    def _hides(self, drawn: random.Random, sections: list[_Section], name: str) -> None:
        """Copies that lead to pages which nothing else leads to."""
        for number, url in enumerate(self._some(drawn, drawn.choice(sections))):
            hidden = f"/hidden/{name}/{number}"
            self.pages[hidden] = Answer(f"hidden {number}")
            self._put(_with(url, f"{name}=1"), self.pages[url].shows, hidden)

    def _maintained(self) -> None:
        for number in range(MAINTENANCE + BEHIND):
            shows = "under maintenance" if number < MAINTENANCE else f"archive {number}"
            self._put(f"/archive/show?entry={number}", shows)

    def _wall(self) -> None:
        for number in range(15):
            self._put(f"/members/{number}", "please log in" if number % 3 else f"member {number}")
        for number in range(10):
            self._put(f"/gone/{number}", "no such page")

    # What it answers


def _with(url: str, piece: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{piece}"
