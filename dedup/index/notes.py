"""What an index notes by name: pages that are gone, the noise of sites, and rules for URLs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from dedup.index.rows import IN_FORCE, LAST_RUN, OF_URL, Note, numbers
from dedup.index.store import Store
from dedup.model.hashes import digest
from dedup.model.verdict import Row
from dedup.reading.noise import Evidence, Gap
from dedup.urls.rule import Counterexample, Proposal, Rule

REMOVED = frozenset((404, 410))  # the answers that say that there is no page any more
GONE = REMOVED | {301, 302, 303, 307, 308}  # and those that say that it is somewhere else
ANSWERS = "gone."
MOST = 20  # rows of one address
_T = TypeVar("_T")


def last_seen(store: Store, key: str, spider: str, without: frozenset[int] = frozenset()) -> Row | None:
    """Return the last row of the address *key* that *spider* has seen, in no run of *without*."""
    of_spider = f"p.run IN (SELECT id FROM runs WHERE spider = ?) AND p.run NOT IN {numbers(without)}"
    seen = f"{OF_URL} AND {IN_FORCE} AND {of_spider}"
    return next(store.rows(seen, key, spider, order=LAST_RUN, limit=1), None)


def answers(store: Store, key: str | None = None) -> dict[str, dict[int, int]]:
    """Return what was answered where a page was gone, at the address *key* or at all, by the run."""
    notes = store.select(Note, **({"prefix": ANSWERS} if key is None else {"name": ANSWERS + key}))
    return {name.removeprefix(ANSWERS): found for name, found in read_notes(notes, _answers)}


def _answers(pairs: Any) -> dict[int, int]:
    return {int(run): int(status) for run, status in pairs}


def read_notes(notes: Iterable[Note], made: Callable[[Any], _T]) -> Iterator[tuple[str, _T]]:
    """Yield the names of *notes* with what is *made* of them; what cannot be read is left out."""
    for note in notes:
        with suppress(TypeError, ValueError):
            yield note.name, made(json.loads(note.value))


_NOISE = "noise."


class SiteNoise(NamedTuple):
    """The gaps of *host* in *scope*, with what was seen of each, and the last *run* that looked."""

    scope: str
    host: str
    run: int
    gaps: dict[Gap, Evidence]
    elements: Sequence[tuple[str, str, int]] = ()  # asked for twice: language, place, and how often


def put_noise(store: Store, site: SiteNoise) -> None:
    """Record *site* in the place of what was known of it."""
    gaps = [[*gap, *evidence] for gap, evidence in site.gaps.items()]
    text = json.dumps([*site[:3], gaps, site.elements])
    store.put(Note(f"{_NOISE}{json.dumps(site[:2])}", text), beside=True)


def all_noise(store: Store) -> list[SiteNoise]:
    """Return what is known of all sites, in their order; what cannot be read is left out."""
    found = read_notes(store.select(Note, prefix=_NOISE), _site)
    return sorted((site for _, site in found), key=lambda site: site[:2])


def _site(read: Any) -> SiteNoise:
    scope, host, run, gaps, *elements = read
    found = [(str(language), str(place), int(looks)) for language, place, looks in chain(*elements)]
    return SiteNoise(str(scope), str(host), int(run), dict(map(_gap, gaps)), found)


def _gap(values: Any) -> tuple[Gap, Evidence]:
    place, before, after, heading, is_number, moved, stayed, crawls, is_off, example, *others = values
    around = tuple(map(str, before)), tuple(map(str, after))
    gap = Gap(str(place), *around, str(heading), bool(is_number))
    is_of_site, late = (*map(int, others), 0, 0)[:2]
    seen = float(moved), float(stayed), int(crawls), bool(is_off), str(example)
    return gap, Evidence(*seen, bool(is_of_site), late)


USED = 10  # so many groups of URLs, and pages, of each of two crawls let a rule be used by itself
OF_RULES, _PROPOSED, _WRONG = "urls.", "urls.proposed.", "urls.wrong."
_KEPT = 2
_MOST_PROPOSED = 1_000


class Proposed(NamedTuple):
    """What the crawl *run* of a *spider* has proposed."""

    run: int
    spider: str
    proposals: tuple[Proposal, ...]


class UrlRules:
    """The rules in one *store*; every method is one transaction.  What cannot be read is left out."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def propose(self, run: int, spider: str, proposals: Iterable[Proposal]) -> None:
        """Store what *run* proposes, in the place of what was proposed before the last crawl."""
        text = json.dumps([spider, list(proposals)[:_MOST_PROPOSED]])
        with self._store.transaction(writing=True):
            for old in [one for one in self.proposed(spider) if one.run != run][_KEPT - 1 :]:
                self._store.delete(Note, name=f"{_PROPOSED}{old.run:012}")
            self._store.put(Note(f"{_PROPOSED}{run:012}", text))

    def proposed(self, spider: str | None = None) -> list[Proposed]:
        """Return what the last crawls of one *spider*, or of all, have proposed, the last one first."""
        notes = read_notes(self._store.select(Note, prefix=_PROPOSED), _proposals)
        runs = ((name.removeprefix(_PROPOSED), one) for name, one in notes)
        found = [Proposed(int(run), *one) for run, one in runs if run.isdecimal()]
        return sorted((one for one in found if spider in (None, one.spider)), reverse=True)

    def accepted(self, spider: str) -> list[Proposal]:
        """Return what the last two crawls of *spider* proposed, often enough and without a loss."""
        last = [crawl.proposals for crawl in self.proposed(spider)[:_KEPT]]
        sure = [[it for it in of if min(it.groups, it.pages) >= USED and not it.loses] for of in last]
        before = {one.rule for of in sure[1:] for one in of}
        return [one for of in sure[:1] for one in of if one.rule in before]

    def note_wrong(self, run: int, wrong: Iterable[Counterexample]) -> None:
        """Record what *run* has found to be against rules."""
        with self._store.transaction(writing=True):
            for found in wrong:
                of_rule = digest(chr(0).join(found.rule).encode()).hex()
                self._store.put(Note(f"{_WRONG}{run:012}.{of_rule}", json.dumps(found)))

    def wrong(self) -> dict[Rule, Counterexample]:
        """Return the rules that are switched off, each with what is against it."""
        return {one.rule: one for _, one in self._wrong()}

    def _wrong(self) -> Iterator[tuple[str, Counterexample]]:
        return read_notes(self._store.select(Note, prefix=_WRONG), _counterexample)

    def forgive(self, rules: Iterable[Rule]) -> None:
        """Forget what is against *rules*."""
        wanted = set(rules)
        with self._store.transaction(writing=True):
            for name in [name for name, one in self._wrong() if one.rule in wanted]:
                self._store.delete(Note, name=name)

    def harmless(self) -> frozenset[str]:
        """Return what does not matter by any rule that nothing is against."""
        rules = {one.rule for crawl in self.proposed() for one in crawl.proposals}
        return frozenset(rule.ignore for rule in rules.difference(self.wrong()))

    def forget_run(self, run: int) -> None:
        """Forget what *run* has proposed, and what it has found."""
        with self._store.transaction(writing=True):
            self._store.delete(Note, name=f"{_PROPOSED}{run:012}")
            self._store.delete(Note, prefix=f"{_WRONG}{run:012}.")


def _proposals(read: Any) -> tuple[str, tuple[Proposal, ...]]:
    found: list[Proposal] = []
    for rule, groups, pages, examples, loses in read[1]:
        pairs = tuple((str(one), str(other)) for one, other in examples)
        found.append(Proposal(Rule(*map(str, rule)), int(groups), int(pages), pairs, bool(loses)))
    return str(read[0]), tuple(found)


def _counterexample(read: Any) -> Counterexample:
    rule, *words = read
    return Counterexample(Rule(*map(str, rule)), *map(str, words))
