"""Histories of a few sites and of the crawls over them, drawn at random by a seed.

A history is data, so that it can be told, compared and made smaller: each crawl has its own copy of
everything that stands on the hosts while it runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from tests.support.crawling import EXPLORED, KNOBS, MOST_GATHERED, WAIT
from tests.support.pages import text

HOSTS = ("http://www.alpha.com", "http://news.alpha.com", "http://www.beta.org", "http://www.gamma.net")
FAMILIES = "ABC"
# A text is a window of so many words; its neighbours in a family begin so many words later.
WINDOW, STEP = 120, 14
FIELDS = ["title", "text"]
# What stands on every page that is written in another way than plainly.
_LETTERS = str.maketrans("0123456789", "abcefghijk")
FRAME = text(77, 40).translate(_LETTERS)
SIGNS = "✓✗★☆≥≤−×÷±∞≠⠁⠃⠉⠙😀😁😂🤣\U000f0001\U000f0002⁶½"
# Ways to write the text of a page down, see `WRITTEN` in `tests.oracle.world`.
DRESSES = ("after", "twice", "cell", "bare", "noscript", "shadow", "svg", "koi8-r")
KEYS = ["sku"]


@cache
def text_of(content: str) -> str:
    """Return the text that is called *content*.

    ``A0``, ``A1``, ``A2`` ... are windows of one long text: neighbours repeat each other by the rule,
    those further apart do not.  ``u7`` is like no other one, ``s7`` has three words, ``-`` has none.
    ``g7`` has the words of every other ``g``, and signs of its own between them.
    """
    kind, number = content[0], content[1:]
    if kind == "-":
        return ""
    if kind == "g":
        signs = random.Random(int(number)).choices(SIGNS, k=WINDOW)
        return " ".join(part for pair in zip(_words(99), signs, strict=True) for part in pair)
    if kind == "s":
        return " ".join(_words(int(number))[:3])
    if kind == "u":
        return " ".join(_words(1000 + int(number)))
    return " ".join(_words(ord(kind), 400)[int(number) * STEP : int(number) * STEP + WINDOW])


def _words(seed: int, count: int = WINDOW) -> list[str]:
    return text(seed, count).translate(_LETTERS).split()


@dataclass(frozen=True)
class Thing:
    """An item: what it says, and its key."""

    content: str
    kind: str = "html"  # where that stands: in `html`, in `text` fields, in a `record`
    key: str = ""
    beside: str = ""  # what it says in another field than its HTML


@dataclass(frozen=True)
class Leaf:
    """A page of a site: what it says, the items that a spider makes of it, and its links."""

    content: str
    things: tuple[Thing, ...] = ()
    links: tuple[str, ...] = ()
    is_exempt: bool = False
    dress: str = ""  # how its HTML is written: plainly, or so that not every parser sees what it says
    # When it is requested again it is each of these, in turn, and a spider that has asked for it does so
    # until it has seen all; they have its links.
    again: tuple[Leaf, ...] = ()
    leads: str = ""  # somewhere else: then it says nothing itself

    def at(self, visit: int) -> Leaf:
        """Return what it is when it is requested for the *visit*-th time, from 0."""
        if not (visit and self.again):
            return self
        return replace(self.again[min(visit, len(self.again)) - 1], links=self.links)


Site = Mapping[str, Leaf]


@dataclass(frozen=True)
class Step:
    """One process that crawls."""

    site: Site  # what stands there
    starts: tuple[str, ...]  # where it begins
    greetings: tuple[Thing, ...] = ()  # items that come of no page, before all others
    spider: str = "one"
    order: int = 0  # the number of the order of its starts, 0: as written
    fails: Mapping[str, str] = field(default_factory=dict)  # the URLs whose items are not stored
    ending: str = "finished"  # or "killed" at the *after*-th, or "stopped" after so many responses
    where: str = "download"  # or stored item
    after: int = 0
    job: str = ""  # names its JOBDIR
    name: str = ""  # that of the crawl that it has a part in
    is_fresh: bool = False  # its JOBDIR is deleted before
    is_dry: bool = False
    is_beside: bool = False  # it runs at the same time as the step before, and begins when that has
    late: int = 0  # stored so many items
    max_lost_words: int = 40


@dataclass(frozen=True)
class History:
    """Crawls one after the other with one index and, but for what a `Step` has, the same settings."""

    steps: tuple[Step, ...]
    unchanged: str = "keep"
    action: str = "drop"
    source: str = "item"
    scope: str = "spider"
    has_keys: bool = False
    has_texts: bool = False
    has_urls: bool = True
    at_a_time: int = 1
    patience: int = 0  # so many turns of the loop the storage takes for an item
    gathered: int = 1  # so many records of pages are committed together

    def together(self) -> list[list[int]]:
        """Return the numbers of the steps, in groups of those that are taken at the same time."""
        groups: list[list[int]] = []
        for number, step in enumerate(self.steps):
            if step.is_beside and groups:
                groups[-1].append(number)
            else:
                groups.append([number])
        return groups

    @property
    def settings(self) -> dict[str, Any]:
        """What dedup is told in all crawls."""
        names = ("unchanged", "action", "source", "scope")
        chosen: dict[str, Any] = {f"DEDUP_{name.upper()}": getattr(self, name) for name in names}
        chosen[KNOBS] = {EXPLORED: 0, WAIT: 1, MOST_GATHERED: self.gathered}
        if self.has_keys:
            chosen["DEDUP_KEY_FIELDS"] = KEYS
        if self.has_texts:
            chosen["DEDUP_TEXT_FIELDS"] = FIELDS
        return chosen


def host_of(url: str) -> str:
    return urlsplit(url).hostname or ""


def drawn(seed: int) -> History:
    """Return the history of that *seed*; the same one in every process."""
    history = _with_more(_Fate(random.Random(seed)).history(), random.Random(f"more of {seed}"))
    return replace(history, gathered=random.Random(f"gathered of {seed}").choice((1, 16)))


def plain(url: str) -> str:
    """Return *url* without the number of the session that a site puts into its addresses."""
    return url.partition("?sid=")[0]


def _with_more(history: History, rng: random.Random) -> History:
    """Return *history* with what came later: other times, hosts and addresses, revisits, redirects."""
    steps = [
        replace(step, late=rng.randint(1, 4)) if step.is_beside and rng.random() < 0.6 else step
        for step in history.steps
    ]
    if rng.random() < 0.15:
        steps = _moved(steps, rng)
    if rng.random() < 0.2:
        steps = [_at_other_addresses(step, rng.randint(1, 9)) for step in steps]
        steps = [_at_other_addresses(it, rng.randint(1, 9)) if it.is_beside else it for it in steps]
    if rng.random() < 0.2:
        url = rng.choice([url for url in sorted(steps[0].site) if not url.endswith("/")])
        steps = _changed(steps, partial(_asked_again, url, _showings(rng)))
    if rng.random() < 0.2:
        start, number = rng.choice(steps[0].starts), rng.randint(2, 4)
        login = _saying(Leaf("", (Thing("", "text" if history.has_texts else "html"),)), _showings(rng))
        links = [f"{start}to{one}" for one in range(number)]
        asked = [f"{start}login"] if rng.random() < 0.4 else []
        steps = _changed(steps, partial(_led, start, links, asked, login))
    return replace(history, steps=tuple(steps))


def _showings(rng: random.Random) -> list[str]:
    """Return what a page says each time it is requested, edits of one text or others."""
    return rng.choices([*(f"{FAMILIES[0]}{number}" for number in range(3)), "u500"], k=rng.randint(2, 4))


def _changed(steps: Sequence[Step], change: Callable[[Site], Site]) -> list[Step]:
    return [replace(step, site=change(step.site)) for step in steps]


def _asked_again(url: str, shown: Sequence[str], site: Site) -> Site:
    """Let the page at *url* say something else each time that it is requested."""
    return {**site, url: _saying(site[url], shown)} if url in site else site


def _saying(leaf: Leaf, shown: Sequence[str]) -> Leaf:
    """Return *leaf* as it says what is *shown*, one after the other, in its first item too."""
    things = [tuple(replace(thing, content=said) for thing in leaf.things[:1]) for said in shown]
    first, *more = (replace(leaf, content=one, things=it) for one, it in zip(shown, things, strict=True))
    return replace(first, again=tuple(more))


def _led(start: str, links: Sequence[str], asked: Sequence[str], login: Leaf, site: Site) -> Site:
    """Let *links* of the page at *start* lead to the page *login*, to which it links if it is *asked*."""
    if start not in site:
        return site
    target = f"{start}login"
    linking = replace(site[start], links=(*site[start].links, *links, *asked))
    return {**site, start: linking, target: login, **dict.fromkeys(links, Leaf("", leads=target))}


def _moved(steps: Sequence[Step], rng: random.Random) -> list[Step]:
    """Move a site to a host of its own from one of the steps on."""
    old, new = rng.choice(steps[0].starts), "http://www.moved.com/"
    first = rng.randrange(len(steps))
    return [
        _renamed(step, lambda url: url.replace(old, new, 1)) if number >= first else step
        for number, step in enumerate(steps)
    ]


def _at_other_addresses(step: Step, session: int) -> Step:
    return _renamed(step, lambda url: url if url.endswith("/") else f"{plain(url)}?sid={session}")


def _renamed(step: Step, new: Callable[[str], str]) -> Step:
    site = {
        new(url): replace(leaf, links=tuple(map(new, leaf.links)), leads=leaf.leads and new(leaf.leads))
        for url, leaf in step.site.items()
    }
    fails = {new(url): how for url, how in step.fails.items()}
    return replace(step, site=site, starts=tuple(map(new, step.starts)), fails=fails)


class _Fate:
    """Draws one history; the site goes on changing from crawl to crawl."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.site: dict[str, Leaf] = {}
        self.fresh = 0
        self.action = rng.choice(("drop", "drop", "skip", "skip"))
        self.has_keys = rng.random() < 0.25
        kinds = ("html",), ("html",), ("html", "html", "record"), ("text",), ("record",)
        self.kinds = rng.choice(kinds)
        self.crowds = rng.choice(((1,), (1,), (1, 1, 2), (1, 2, 3)))
        self.hosts = rng.sample(HOSTS, rng.randint(1, 3))
        self.has_signs = rng.random() < 0.15
        self.dresses = rng.sample(DRESSES, 2) if rng.random() < 0.3 and not self.has_signs else []
        self.has_fields = rng.random() < 0.2 and not self.has_keys and self.kinds == ("html",)
        is_polite = rng.random() < 0.15
        self.greetings = tuple(self._thing(self._content()) for _ in range(3 if is_polite else 0))
        self.spiders = rng.choice((("one",), ("one",), ("one", "two")))

    def history(self) -> History:
        rng = self.rng
        for host in self.hosts:
            self._found(host)
        steps = [self._step()]
        for _ in range(rng.randint(1, 5)):
            steps.append(self._next(steps[-1]))
        return History(
            tuple(steps),
            unchanged=rng.choice(("keep", "keep", "drop")),
            action=self.action,
            source=rng.choice(("item", "response")),
            scope=rng.choice(("spider", "host", "domain", "global")),
            has_keys=self.has_keys,
            has_texts=self.kinds == ("text",),
            has_urls=rng.random() < 0.8,
            at_a_time=rng.choice((1, 1, 4)),
            patience=rng.choice((0, 0, 3)),
        )

    # Crawls

    def _step(self) -> Step:
        rng = self.rng
        visited = [host for host in self.hosts if rng.random() < 0.75] or self.hosts[:1]
        starts = [f"{host}/" for host in visited]
        step = Step(dict(self.site), tuple(starts), self.greetings, rng.choice(self.spiders))
        if rng.random() < 0.3:
            step = replace(step, order=rng.randint(1, 99))
        if rng.random() < 0.25:
            step = replace(step, fails=self._failing())
        if rng.random() < 0.12:
            step = replace(step, is_dry=True)
        if rng.random() < 0.1:
            step = replace(step, max_lost_words=4)
        if rng.random() < 0.1:
            step = replace(step, name=rng.choice("xy"))
        elif rng.random() < 0.3:
            step = replace(step, job=rng.choice("jk"), is_fresh=rng.random() < 0.3)
        if rng.random() < (0.7 if step.job else 0.15):
            where, after = rng.choice(("download", "storage")), rng.randint(1, 8)
            # Scrapy hangs if it is stopped while items of `start` are on their way.
            ending = rng.choice(("killed", "killed" if self.greetings else "stopped"))
            step = replace(step, ending=ending, where=where, after=after)
        return step

    def _next(self, before: Step) -> Step:
        rng = self.rng
        if rng.random() < 0.12 and not before.job and not before.is_beside:
            return self._beside(before)
        if rng.random() < 0.25:  # the same again, to its end
            calm = replace(before, ending="finished", fails={}, is_dry=False)
            return replace(calm, is_fresh=False, is_beside=False)
        if rng.random() < 0.8:
            for _ in range(rng.randint(1, 3)):
                self._change()
        step = self._step()
        if before.job and before.ending != "finished" and rng.random() < 0.8:
            is_fresh = rng.random() < 0.5
            ending = rng.choice(("finished", "finished", step.ending))
            step = replace(step, starts=before.starts, after=step.after or 3, ending=ending)
            return replace(step, job=before.job, name="", is_fresh=is_fresh, spider=before.spider)
        return step

    def _beside(self, before: Step) -> Step:
        """Return another crawl of the same sites, or of others, at the same time."""
        starts = tuple(f"{host}/" for host in self.hosts if self.rng.random() < 0.7) or before.starts
        drawn: Any = {"spider": self.rng.choice(self.spiders), "order": self.rng.randint(0, 9)}
        return Step(dict(before.site), starts, name=before.name, is_beside=True, **drawn)

    def _failing(self) -> dict[str, str]:
        urls = sorted(self.site)
        chosen = self.rng.sample(urls, min(len(urls), self.rng.randint(1, 3)))
        return {url: self.rng.choice(("fail", "drop")) for url in chosen}

    # Sites

    def _found(self, host: str) -> None:
        """Build a site: a start page that links to some pages, which link to others."""
        self.site[f"{host}/"] = Leaf(self._unique())
        for number in range(self.rng.randint(2, 6)):
            self._put(f"{host}/{number}", self._leaf())

    def _put(self, url: str, leaf: Leaf) -> None:
        """Put a page there, and link to it from one or two others of its host."""
        near = [other for other in sorted(self.site) if host_of(other) == host_of(url) and other != url]
        for other in self.rng.sample(near, min(len(near), self.rng.choice((1, 1, 2)))):
            self._link(other, url)
        self.site[url] = leaf

    def _link(self, here: str, there: str) -> None:
        leaf = self.site[here]
        if there not in leaf.links:
            self.site[here] = replace(leaf, links=(*leaf.links, there))

    def _leaf(self) -> Leaf:
        content = self._content()
        number = self.rng.choice(self.crowds)
        contents = [content, *(self._content() for _ in range(number - 1))]
        things = tuple(self._thing(said) for said in contents)
        leaf = Leaf(content, things, is_exempt=self.rng.random() < 0.05)
        return replace(leaf, dress=self.rng.choice(["", *self.dresses])) if self.dresses else leaf

    def _thing(self, content: str) -> Thing:
        key = self.rng.choice(("", *"abcd")) if self.has_keys else ""
        thing = Thing(content, self.rng.choice(self.kinds), key)
        if self.has_fields and self.rng.random() < 0.7:
            return replace(thing, beside=self.rng.choice((content, self._unique(), f"{FAMILIES[0]}0")))
        return thing

    def _content(self) -> str:
        drawn = self.rng.random()
        if self.has_signs and drawn < 0.4:
            return f"g{self.rng.randint(1, 5)}"
        if drawn < 0.6:
            return f"{self.rng.choice(FAMILIES)}{self.rng.choice((0, 0, 0, 1, 2, 4))}"
        if drawn < 0.66:
            return f"s{self.rng.randint(1, 2)}"
        return "-" if drawn < 0.68 else self._unique()

    def _unique(self) -> str:
        self.fresh += 1
        return f"u{self.fresh}"

    def _change(self) -> None:
        inner = [url for url in sorted(self.site) if not url.endswith("/")]
        changes = (self._edit, self._edit, self._move, self._move, self._vanish, self._vanish, self._add)
        if inner:
            self.rng.choice((*changes, self._mirror, self._relocate))(self.rng.choice(inner))

    def _edit(self, url: str) -> None:
        new = self._leaf()
        self.site[url] = replace(self.site[url], content=new.content, things=new.things, dress=new.dress)

    def _add(self, url: str) -> None:
        host = url.rsplit("/", 1)[0]
        self._put(f"{host}/{100 + self.fresh}", self._leaf())
        self.fresh += 1

    def _vanish(self, url: str) -> None:
        del self.site[url]

    def _move(self, url: str) -> None:
        self._renamed({url: f"{url}m"})

    def _relocate(self, url: str) -> None:
        """Move a whole site, all but its start page, into another folder."""
        host = url.split("/")[2]
        inner = [at for at in self.site if at.split("/")[2] == host and not at.endswith("/")]
        self._renamed({at: "/".join([*at.split("/")[:3], "new", at.rsplit("/", 1)[1]]) for at in inner})

    def _renamed(self, new: Mapping[str, str]) -> None:
        self.site = {
            new.get(url, url): replace(leaf, links=tuple(new.get(link, link) for link in leaf.links))
            for url, leaf in self.site.items()
        }

    def _mirror(self, url: str) -> None:
        """Put a copy of a site on a host of its own."""
        host = "/".join(url.split("/")[:3])
        free = [other for other in HOSTS if other not in self.hosts]
        if not free:
            return
        self.hosts.append(free[0])
        for at, leaf in list(self.site.items()):
            if at.startswith(f"{host}/"):
                links = tuple(link.replace(host, free[0]) for link in leaf.links)
                self.site[at.replace(host, free[0])] = replace(leaf, links=links)
