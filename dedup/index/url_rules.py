"""The rules for URLs in an index, as notes: what crawls have proposed, and what was against a rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dedup.index.stores.base import Note, Prefix, Store
from dedup.urls.propose import Proposal
from dedup.urls.rule import Counterexample, Rule
from dedup.values.hashes import digest

USED = 10
"""So many groups of URLs, and pages, speak in each of two crawls for a rule that is used by itself."""
_PROPOSED, _WRONG = "urls.proposed.", "urls.wrong."
_KEPT = 2
_MOST = 1_000


class Proposed(NamedTuple):
    """What the crawl *run* of a *spider* has proposed."""

    run: int
    spider: str
    proposals: tuple[Proposal, ...]


class UrlRules:
    """The rules in one *store*; every method is one transaction.  What cannot be read is left out."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def propose(self, run: int, spider: str, proposals: Iterable[Proposal]) -> bool:
        """Store what *run* proposes, in the place of what was proposed before the last crawl."""
        text = json.dumps([spider, list(proposals)[:_MOST]])
        with self._store.transaction(writing=True):
            for old in [one for one in self.proposed(spider) if one.run != run][_KEPT - 1 :]:
                self._store.delete(Note, name=f"{_PROPOSED}{old.run:012}")
            self._store.put(Note(f"{_PROPOSED}{run:012}", text))
        return True

    def proposed(self, spider: str | None = None) -> list[Proposed]:
        """Return what the last crawls of one *spider*, or of all, have proposed, the last one first."""
        notes = self._store.select(Note, name=Prefix(_PROPOSED))
        found = [one for note in notes for one in _proposed(note)]
        return sorted((one for one in found if spider in (None, one.spider)), reverse=True)

    def accepted(self, spider: str) -> list[Proposal]:
        """Return what the last two crawls of *spider* have both proposed, often enough."""
        last = [
            {one.rule: one for one in crawl.proposals if min(one.groups, one.pages) >= USED}
            for crawl in self.proposed(spider)[:_KEPT]
        ]
        return [one for rule, one in last[0].items() if rule in last[1]] if len(last) == _KEPT else []

    def note_wrong(self, run: int, found: Counterexample) -> bool:
        """Record what *run* has found to be against a rule."""
        name = f"{_WRONG}{run:012}.{_name_of(found.rule)}"
        with self._store.transaction(writing=True):
            self._store.put(Note(name, json.dumps(found)))
        return True

    def wrong(self) -> dict[Rule, Counterexample]:
        """Return the rules that are switched off, each with what is against it."""
        notes = self._store.select(Note, name=Prefix(_WRONG))
        return {one.rule: one for note in notes for one in _counterexample(note)}

    def forgive(self, rules: Iterable[Rule]) -> None:
        """Forget what is against *rules*."""
        wanted = set(rules)
        with self._store.transaction(writing=True):
            for note in self._store.select(Note, name=Prefix(_WRONG)):
                if any(one.rule in wanted for one in _counterexample(note)):
                    self._store.delete(Note, name=note.name)

    def harmless(self) -> frozenset[str]:
        """Return what does not matter by any rule that nothing is against."""
        rules = {one.rule for crawl in self.proposed() for one in crawl.proposals}
        return frozenset(rule.ignore for rule in rules.difference(self.wrong()))

    def forget_run(self, run: int) -> None:
        """Forget what *run* has proposed, and what it has found."""
        with self._store.transaction(writing=True):
            self._store.delete(Note, name=f"{_PROPOSED}{run:012}")
            self._store.delete(Note, name=Prefix(f"{_WRONG}{run:012}."))


def _name_of(rule: Rule) -> str:
    """Return a name of *rule*, the same in every process."""
    return digest("\0".join(rule).encode()).hex()


def _proposed(note: Note) -> Iterator[Proposed]:
    try:
        spider, proposals = json.loads(note.value)
        read = tuple([_proposal(*one) for one in proposals])
        yield Proposed(int(note.name.removeprefix(_PROPOSED)), str(spider), read)
    except (TypeError, ValueError):
        return


def _proposal(rule: Any, groups: int, pages: int, examples: Any) -> Proposal:
    pairs = tuple((str(one), str(other)) for one, other in examples)
    return Proposal(Rule(*map(str, rule)), int(groups), int(pages), pairs)


def _counterexample(note: Note) -> Iterator[Counterexample]:
    try:
        rule, *words = json.loads(note.value)
        yield Counterexample(Rule(*map(str, rule)), *map(str, words))
    except (TypeError, ValueError):
        return
