"""The law of delivery, by what a history served and what its crawls stored; knows nothing of the plugin.

Two pages repeat each other by `dedup.compare`.  A *crawl* is one run, or all of one job that was
stopped or killed and resumed, or all that run at the same time.  Each violation names the law that
it breaks, see `LAWS`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pprint import pformat
from typing import Any

from dedup import DedupConfig, Fingerprint, Page, compare, fingerprint
from dedup.reading.fields import RawPage
from dedup.rule.match import MIN_EQUAL_TOKENS
from tests.oracle.history import WINDOW, History, Leaf, Step, Thing, drawn, host_of, plain, text_of
from tests.oracle.world import Told, bytes_of, fields_of, markup, truth_of, truth_of_page

# What was lived, item by item


Truth = frozenset[tuple[str, ...]]  # every three words that stand together in what somebody says
Place = tuple[str, int]  # a URL, and how often it was requested before


def told_by(words: Sequence[str]) -> Truth:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


@dataclass(eq=False)
class Unit:
    """One item of one response, or a page."""

    step: int
    crawl: int
    url: str
    number: int
    page: Fingerprint
    served: int
    at: int  # when its fate was known
    is_judged: bool
    stands_for_page: bool
    truth: Truth
    visit: int = 0  # how often its URL was requested before
    is_led: bool = False  # its URL was not requested, but another address led to it
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
    pages: dict[Place, Unit] = field(default_factory=dict)  # an item of them came through

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


class _Reading:
    """Fills *lived* with what its events tell."""

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
            stored = [unit.at for unit in self.lived.stored() if (unit.url, unit.visit) == place]
            page.at = min(stored, default=0)
            if not stored:
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
        page = _of_page(leaf) if is_page else _of_item(leaf, thing)
        return self._made(place, number, page, at, **about)

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


# The law
LAWS = {
    "sound": "nothing goes wrong in a crawl, and every item has one fate",
    "keep": "who keeps what is unchanged has a copy of the site in every crawl",
    "drop": "who drops what is unchanged is given everything once",
    "whole": "what an item says is delivered, but for half of a text, however its page is written",
    "dry": "a dry run drops nothing and changes nothing",
    "judged": "records, other keys and exempt requests are never dropped",
    "second": "a second crawl of an unchanged site gives the same items",
    "links": "every link is followed, or listed",
    "lazy": "exact copies are dropped",
    "again": "who asks for a URL again in one run is given it where it has changed at all",
    "news": "who drops what is unchanged is given what differs from what was delivered before",
}


MOST_LOST = WINDOW // 2  # of the words of a text so many may be lost with a copy, whatever the rule says


@dataclass(frozen=True)
class Violation:
    """A law that was broken in the step of that number of a history, and how."""

    law: str
    step: int
    what: str


def violations(history: History, told: Sequence[Told]) -> list[Violation]:
    """Return every violation of *history*, as it was lived; but for the law `dry`, see `differences`."""
    return list(_Trial(history, told).violations())


def without_dry_runs(history: History) -> tuple[History, list[int]]:
    """Return *history* without its dry runs, and the numbers of the steps that are left."""
    left = [number for number, step in enumerate(history.steps) if not step.is_dry]
    steps = tuple(history.steps[number] for number in left)
    return replace(history, steps=steps), left


def differences(told: Sequence[Told], plain: Sequence[Told], left: Sequence[int]) -> list[Violation]:
    """Return where real crawls stored something else than they did without the dry runs."""
    for number, other in zip(left, plain, strict=True):
        one, two = _stored(told[number]), _stored(other)
        if one != two:
            return [Violation("dry", number, f"stored {one}, without the dry runs {two}")]
    return []


def _stored(told: Told) -> list[str]:
    return sorted(f"{event[1][0]}[{event[1][1]}]" for event in told.events if event[0] == "stored")


class _Trial:
    def __init__(self, history: History, told: Sequence[Told]) -> None:
        self.history = history
        self.problems: list[Violation] = []
        self.lived: list[Lived] = []
        for number, (step, left) in enumerate(zip(history.steps, told, strict=True)):
            lived = Lived(number, step, self._crawl(number), left)
            found = _Reading(lived, history).problems()
            self.problems += [Violation("sound", number, what) for what in found]
            self.lived.append(lived)

    def _crawl(self, number: int) -> int:
        """Return the number of the first step of the crawl that this step is a part of."""
        step = self.history.steps[number]
        if step.name:
            named = [lived for lived in self.lived if lived.step.name == step.name]
            return next((o.crawl for o in named if self._is_one_scope(o.step, step)), number)
        for before in reversed(self._in_folder(self.lived, step)):
            if before.step.spider == step.spider:
                return before.crawl if before.ending != "finished" else number
        return number

    def _is_one_scope(self, one: Step, other: Step) -> bool:
        return self.history.scope != "spider" or one.spider == other.spider

    def _in_folder(self, lived: Sequence[Lived], step: Step) -> list[Lived]:
        """Return the steps that left something in the JOBDIR of *step*, which came after *lived*."""
        found = [before for before in lived if step.job and before.step.job == step.job]
        fresh = [number for number, before in enumerate(found) if before.step.is_fresh]
        return [] if step.is_fresh else found[fresh[-1] if fresh else 0 :]

    def violations(self) -> Iterator[Violation]:
        yield from self.problems
        for lived in self.lived:
            yield from self._judged(lived)
            if lived.is_real:
                yield from self._drops(lived)
                yield from self._again(lived)
                yield from self._lazy(lived)
        yield from self._links()
        yield from self._second()

    # What was dropped

    def _drops(self, lived: Lived) -> Iterator[Violation]:
        law = self.history.unchanged
        for unit in lived.units:
            is_dropped = unit.fate == "dropped"
            if is_dropped and unit.is_judged and not self._is_excused(unit, lived):
                keyless = self.history.has_keys and self._is_excused(unit, lived, with_keys=False)
                yield Violation("judged" if keyless else law, lived.number, f"{unit}: it was dropped")
            if is_dropped and unit.is_judged and law == "drop" and self._is_news(unit, lived):
                yield Violation("news", lived.number, f"{unit}: it was dropped")
            if is_dropped and unit.is_judged and (lost := self._lost(unit, lived)) > MOST_LOST:
                yield Violation("whole", lived.number, f"{unit}: {lost} words of it are lost")

    def _lost(self, unit: Unit, lived: Lived) -> int:
        """Return how many words of *unit* are on nothing that was delivered and may stand for it."""
        if len(unit.truth) <= MOST_LOST or unit.url in self._listed(lived):
            return 0
        delivered = (
            other.truth
            for other in self._delivered(unit)
            if self._scope(other) == self._scope(unit) and self._stands(other, unit)
        )
        return len(unit.truth.difference(*delivered))

    def _is_excused(self, unit: Unit, lived: Lived, *, with_keys: bool = True) -> bool:
        if unit.url in self._listed(lived) or self._stands_elsewhere(unit, lived):
            return True
        return self._is_as_before(unit) or any(
            self._repeats(other, unit, with_keys=with_keys) and self._stands(other, unit)
            for other in self._delivered(unit)
        )

    def _stands_elsewhere(self, unit: Unit, lived: Lived) -> bool:
        """Whether it may be a copy of any of its key: what it says stands on others, but where texts meet."""
        keys = {other.key for other in self._delivered(unit) if self._stands(other, unit)}
        return len(unit.truth) > MOST_LOST and unit.key in keys and self._lost(unit, lived) <= 2

    def _is_news(self, unit: Unit, lived: Lived) -> bool:
        """Whether what it says was never delivered, nor repeats what this crawl has delivered."""
        if len(unit.truth) < MOST_LOST or unit.url in self._listed(lived):
            return False
        if self._stands_elsewhere(unit, lived):
            return False
        for other in self._delivered(unit):
            said = unit.truth <= other.truth and self._scope(other) == self._scope(unit)
            if said or (self._is_here(other, unit) and self._repeats(other, unit)):
                return False
        return not self._is_as_before(unit)

    def _is_as_before(self, unit: Unit) -> bool:
        """Whether it differs from what was a copy at its last visit as much as a copy may."""
        config = self._config(unit)
        is_like = any(compare(last, unit.page, config).is_duplicate for last in self._copies(unit))
        return is_like and self.history.unchanged == "drop"

    def _is_here(self, other: Unit, unit: Unit) -> bool:
        return other.crawl == unit.crawl or any(
            self._met(other, lived) for lived in self.lived if lived.crawl == unit.crawl
        )

    def _copies(self, unit: Unit) -> Iterator[Fingerprint]:
        """What stood at the same address in earlier crawls and was dropped."""
        for lived in self.lived[: unit.step + 1]:
            if lived.crawl != unit.crawl:
                for other in lived.units:
                    if other.fate == "dropped" and plain(other.url) == plain(unit.url):
                        yield other.page

    def _listed(self, lived: Lived) -> set[str]:
        """The URLs that are listed when the process of *lived*, or the last of its crawl, is over."""
        return set().union(*(other.told.listed for other in self.lived if other.crawl == lived.crawl))

    def _delivered(self, unit: Unit) -> Iterator[Unit]:
        """All that was delivered before the fate of *unit* was known, and may stand for it."""
        [together] = [group for group in self.history.together() if unit.step in group]
        for lived in self.lived[: together[-1] + 1]:
            if not lived.is_real:
                continue
            is_page = unit.stands_for_page and self.history.action == "skip"
            for other in [*lived.stored(), *(lived.pages.values() if is_page else ())]:
                if other.step != unit.step or other.at < unit.at:
                    yield other

    def _repeats(self, other: Unit, unit: Unit, *, with_keys: bool = True) -> bool:
        if self._scope(other) != self._scope(unit) or (with_keys and other.key != unit.key):
            return False
        if compare(other.page, unit.page, self._config(unit)).is_duplicate:
            return True
        # A crawl knows its sites: that what a page has besides stands on all of them.
        if unit.truth and unit.truth <= other.truth:
            return True
        same = other.page.token_digest == unit.page.token_digest
        return other.identity == unit.identity and same

    def _stands(self, other: Unit, unit: Unit) -> bool:
        """Whether what was delivered as *other* may stand for *unit*."""
        if self.history.unchanged == "drop":
            return True
        if other.crawl == unit.crawl:
            return True
        if self.history.scope == "spider":
            return False
        host = host_of(other.url)
        visited = {host for lived in self.lived if lived.crawl == unit.crawl for host in lived.hosts}
        return host not in visited and not self._was_missed(other, unit)

    def _was_missed(self, other: Unit, unit: Unit) -> bool:
        """Whether the host of *other* was crawled since, to its end by now, and did not have it any more."""
        [first] = [group[0] for group in self.history.together() if unit.step in group]
        before = [lived for lived in self.lived[:first] if lived.is_real]
        for crawl in {lived.crawl for lived in before} - {other.crawl, unit.crawl}:
            parts = [lived for lived in before if lived.crawl == crawl]
            parts = [lived for lived in parts if self._is_one_scope(lived.step, self._step(other))]
            if not parts or parts[-1].number < other.step or not _is_whole(parts):
                continue
            visited = any(host_of(other.url) in lived.hosts for lived in parts)
            if visited and not any(self._met(other, lived) for lived in parts):
                return True
        return False

    def _met(self, other: Unit, lived: Lived) -> bool:
        met = [*lived.units, *lived.pages.values()]
        return any(unit.identity == other.identity and self._repeats(other, unit) for unit in met)

    def _scope(self, unit: Unit) -> str:
        host = host_of(unit.url)
        domain = ".".join(host.split(".")[-2:])
        scopes = {"spider": self._step(unit).spider, "host": host, "domain": domain, "global": ""}
        return scopes[self.history.scope]

    def _step(self, unit: Unit) -> Step:
        return self.history.steps[unit.step]

    def _config(self, unit: Unit) -> DedupConfig:
        return DedupConfig(max_lost_words=self._step(unit).max_lost_words)

    # What may not be dropped

    def _judged(self, lived: Lived) -> Iterator[Violation]:
        for unit in lived.units:
            if unit.fate == "dropped" and not lived.is_real:
                yield Violation("dry", lived.number, f"{unit} was dropped in a dry run")
            elif unit.fate == "dropped" and not unit.is_judged:
                what = "but it is a record, or its request was exempt"
                yield Violation("judged", lived.number, f"{unit} was dropped, {what}")

    # What is asked for again

    def _again(self, lived: Lived) -> Iterator[Violation]:
        # A job that was killed may ask again for what it follows by links.
        before = self._in_folder(self.lived[: lived.number], lived.step)
        for unit in lived.units if all(one.ending != "killed" for one in before) else ():
            is_dropped = unit.fate == "dropped" and unit.is_judged
            if is_dropped and self._has_changed(unit) and not self._was_given(unit):
                yield Violation("again", lived.number, f"{unit} has changed, and was dropped")

    def _has_changed(self, unit: Unit) -> bool:
        """Whether it was requested again by its own URL, and says something else than it said last."""
        lived = self.lived[unit.step]
        same = [it for it in lived.stored() if (it.url, it.key) == (unit.url, unit.key)]
        asked = [it for it in same if it.visit < unit.visit and not it.is_led and self._is_only(it)]
        if unit.is_led or not asked or not self._is_only(unit):
            return False
        last = max(asked, key=lambda other: other.visit)
        return last.page.token_digest != unit.page.token_digest

    def _was_given(self, unit: Unit) -> bool:
        """Whether its crawl has delivered what it says where addresses led to it, or to other processes."""
        said = unit.url, unit.key, unit.page.token_digest
        return any(
            (other.is_led or other.step != unit.step)
            and said == (other.url, other.key, other.page.token_digest)
            for other in self._delivered(unit)
            if other.crawl == unit.crawl
        )

    def _is_only(self, unit: Unit) -> bool:
        return len(leaf_at(self._step(unit), (unit.url, unit.visit)).things) < 2

    # What must be dropped

    def _lazy(self, lived: Lived) -> Iterator[Violation]:
        """An item that was never stored before, and equals one that was stored before it was served."""
        earlier = [unit for other in self.lived[: lived.number] for unit in other.units]
        before = {unit.identity for unit in earlier if unit.fate in ("stored", "failed", "open")}
        stored = [unit for unit in lived.stored() if unit.is_judged]
        [together] = [group for group in self.history.together() if lived.number in group]
        at_once = [unit for number in together for unit in self.lived[number].stored()]
        for unit in stored:
            # Of several items of a response nobody knows which one is the version of which.
            is_version = self._has_changed(unit) or (unit.visit and not self._is_only(unit))
            if unit.identity in before or unit.page.tokens < MIN_EQUAL_TOKENS or is_version:
                continue
            for other in stored:
                if (
                    other.at < unit.served
                    and other.page.body_digest == unit.page.body_digest
                    and other.stands_for_page == unit.stands_for_page
                    and other.key == unit.key
                    and self._scope(other) == self._scope(unit)
                    and not any(self._replaces(later, other) for later in at_once)
                ):
                    yield Violation("lazy", lived.number, f"{unit} was stored after {other}")
                    break

    def _replaces(self, later: Unit, other: Unit) -> bool:
        """Whether a crawl asked for *other* again, or one beside it had its key, and it said else."""
        if later.step != other.step:
            return later.identity == other.identity and later.page != other.page
        same = (later.url, later.key) == (other.url, other.key)
        return same and later.visit > other.visit and self._has_changed(later)

    # Links

    def _links(self) -> Iterator[Violation]:
        for crawl in dict.fromkeys(lived.crawl for lived in self.lived):
            parts = [lived for lived in self.lived if lived.crawl == crawl]
            if any(lived.ending == "killed" for lived in parts) or not _is_whole(parts):
                continue
            asked = {event[1] for lived in parts for event in lived.told.events if event[0] == "served"}
            # Scrapy asks for nothing that its JOBDIR says was asked for.
            before = self._in_folder(self.lived[: parts[0].number], parts[0].step)
            if any(lived.ending == "killed" for lived in before):
                continue
            asked |= {event[1] for one in before for event in one.told.events if event[0] == "served"}
            known = asked | self._listed(parts[-1])
            for lived in parts:
                for url in dict.fromkeys(lived.served):
                    for link in lived.step.site[url].links:
                        if link not in known:
                            yield Violation("links", lived.number, f"{link}, linked by {url}, is lost")

    # Once more

    def _second(self) -> Iterator[Violation]:
        for one, two in pairwise(self.lived[:2]):
            first = one.ending == two.ending == "finished" and not (
                one.step.job or two.step.job or one.step.name or two.step.name
            )
            same = self.history.together()[:2] == [[0], [1]] and _sight(one.step) == _sight(two.step)
            plain = not (one.step.fails or two.step.fails or one.step.is_dry or two.step.is_dry)
            chosen = self.history.unchanged == "keep"
            alike = one.step.max_lost_words == two.step.max_lost_words
            if first and same and plain and chosen and alike and self.history.at_a_time == 1:
                before, after = _stored(one.told), _stored(two.told)
                if before != after:
                    what = f"stored {after}, the first crawl {before}"
                    yield Violation("second", two.number, what)


def _is_whole(parts: Sequence[Lived]) -> bool:
    """Whether a crawl came to its end: all of its runs, or the last one of its job."""
    ended = [lived.ending == "finished" for lived in parts]
    return ended[-1] if parts[-1].step.job else all(ended)


def _sight(step: Step) -> tuple[object, ...]:
    return step.site, step.starts, step.greetings, step.order, step.spider


def told_of(seed: int, found: Iterable[Violation]) -> str:
    """Return the history of *seed*, and a line for each violation of it."""
    told = "\n".join(f"{one.law}: step {one.step}: {one.what}" for one in found)
    return f"seed {seed}\n{pformat(drawn(seed), width=150)}\n{told}"
