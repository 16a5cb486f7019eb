"""What a step of a history served, item by item, and what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from dedup import DedupConfig, Fingerprint, Page, fingerprint
from dedup.reading.fields import RawPage
from tests.oracle.history import History, Leaf, Step, Thing, host_of, text_of
from tests.oracle.world import Told, bytes_of, fields_of, markup, truth_of, truth_of_page

# Every three words that stand together in what somebody says.
Truth = frozenset[tuple[str, ...]]
# A URL, and how often it was requested before.
Place = tuple[str, int]


def told_by(words: Sequence[str]) -> Truth:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


@dataclass(eq=False)
class Unit:
    """One item of one response, or a page; *at* is when its fate was known."""

    step: int
    crawl: int
    url: str
    number: int
    page: Fingerprint
    served: int
    at: int
    is_judged: bool
    stands_for_page: bool
    truth: Truth
    visit: int = 0
    """How often its URL was requested before."""
    is_led: bool = False
    """Whether its URL was not requested, but another address led to it."""
    key: str = ""
    fate: str = "open"

    @property
    def identity(self) -> str:
        return self.key or self.url or self.page.token_digest.hex()

    def __str__(self) -> str:
        visit = f" visit {self.visit}" if self.visit else ""
        return f"{self.url}[{self.number}]" + visit + (f" key {self.key}" if self.key else "")


@dataclass(eq=False)
class Lived:
    """One step as it was lived, and what it means."""

    number: int
    step: Step
    crawl: int
    told: Told
    units: list[Unit] = field(default_factory=list)
    pages: dict[Place, Unit] = field(default_factory=dict)
    """The pages that came through: an item of them did."""

    @property
    def is_real(self) -> bool:
        return not self.step.is_dry

    @property
    def ending(self) -> str:
        return next((str(event[1]) for event in self.told.events if event[0] == "closed"), "killed")

    @cached_property
    def hosts(self) -> set[str]:
        return {host_of(url) for url in self.served} | ({""} if self.step.greetings else set())

    @cached_property
    def served(self) -> list[str]:
        return [event[1] for event in self.told.events if event[0] == "served" and event[2]]

    def stored(self) -> list[Unit]:
        return [unit for unit in self.units if unit.fate == "stored"]


def leaf_at(step: Step, place: Place) -> Leaf:
    """Return what stood there; at no URL, what gave the items of no page."""
    url, visit = place
    return step.site[url].at(visit) if url else Leaf("", step.greetings)


def read(lived: Lived, history: History) -> list[str]:
    """Fill *lived* with what its events tell; return what went wrong in it."""
    return list(_Reading(lived, history).problems())


class _Reading:
    def __init__(self, lived: Lived, history: History) -> None:
        self.lived = lived
        self.history = history
        self.served: dict[Place, int] = {}
        self.parsed: set[Place] = set()
        self.led: set[Place] = set()
        self.open: dict[int, Unit] = {}

    def problems(self) -> Iterator[str]:
        events = self.lived.told.events
        for at, (kind, *rest) in enumerate(events):
            if kind == "error":
                yield f"error: {rest}"
            elif kind == "served" and rest[1]:
                url, _, visit, is_led = rest
                self.served[url, visit] = at
                if is_led:
                    self.led.add((url, visit))
            elif kind == "parsed":
                url, visit = rest
                self.parsed.add((url, visit))
                self.lived.pages[url, visit] = self._page((url, visit), at)
            else:
                self._note_item(at, kind, rest)
        if self.lived.ending != "killed":
            yield from (f"{unit} has no fate" for unit in self.open.values())
            unparsed = self.served.keys() - self.parsed
            yield from (f"{url} visit {visit} was served and not parsed" for url, visit in unparsed)
        self._settle_pages()

    def _note_item(self, at: int, kind: str, rest: list[Any]) -> None:
        if kind == "yielded":
            url, number, serial, visit = rest[0]
            self.open[serial] = unit = self._unit((url, visit), number, at)
            self.lived.units.append(unit)
        elif kind in ("stored", "dropped", "failed"):
            unit = self.open.pop(rest[0][2])
            unit.fate, unit.at = kind, at

    def _settle_pages(self) -> None:
        for place, page in list(self.lived.pages.items()):
            units = [unit for unit in self.lived.units if (unit.url, unit.visit) == place]
            stored = [unit.at for unit in units if unit.fate == "stored"]
            if stored:
                page.at = min(stored)
            else:
                del self.lived.pages[place]

    def _page(self, place: Place, at: int) -> Unit:
        leaf = leaf_at(self.lived.step, place)
        truth = told_by(truth_of_page(leaf))
        about = {"is_judged": not leaf.is_exempt, "stands_for_page": True, "truth": truth}
        return self._made(place, -1, _of_page(leaf), at, **about)

    def _unit(self, place: Place, number: int, at: int) -> Unit:
        leaf = leaf_at(self.lived.step, place)
        thing = leaf.things[number]
        is_page = bool(place[0]) and self.history.source == "response" and len(leaf.things) == 1
        is_read = thing.kind == "html" or (thing.kind == "text" and self.history.has_texts)
        about = {
            "is_judged": not leaf.is_exempt and (is_read or is_page),
            "stands_for_page": is_page,
            "truth": told_by(truth_of_page(leaf) if is_page else truth_of(leaf, [thing])),
            "key": thing.key if self.history.has_keys else "",
        }
        return self._made(
            place, number, _of_page(leaf) if is_page else _of_item(leaf, thing), at, **about
        )

    def _made(self, place: Place, number: int, page: Fingerprint, at: int, **about: Any) -> Unit:
        url, visit = place
        where = (self.lived.number, self.lived.crawl, url, number)
        served, is_led = self.served.get(place, at), place in self.led
        return Unit(*where, page, served, at, visit=visit, is_led=is_led, **about)


def _of_page(leaf: Leaf) -> Fingerprint:
    return _fingerprint(RawPage(bytes_of(leaf), "", "", encoding="utf-8"))


def _of_item(leaf: Leaf, thing: Thing) -> Fingerprint:
    if thing.kind != "html":
        fields = fields_of(leaf, thing, "")
        texts = [fields.get(name, "") for name in ("title", "text", "name")]
        return _fingerprint(RawPage("", "\n".join(filter(None, texts)), ""))
    # What is the text of its response is judged as that says it, however it was decoded.
    is_all = leaf.content and len(leaf.things) == 1
    html = bytes_of(leaf) if is_all else markup(thing.content)
    beside = (text_of(thing.beside),) if thing.beside else ()
    return _fingerprint(RawPage(html, "", "", encoding="utf-8", beside=beside))


@cache
def _fingerprint(raw: RawPage) -> Fingerprint:
    return fingerprint(Page.of_raw(raw).of_record(raw), DedupConfig())
