"""What an index notes by name: pages that are gone, the noise of sites, and rules for URLs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from dedup.index.rows import ANY_INDEX, LAST_RUN, OF_URL, OLDEST, STANDS, Note, Prefix, numbers
from dedup.index.store import Store
from dedup.reading.noise import Evidence, Gap, told
from dedup.urls.propose import Proposal
from dedup.urls.rule import Counterexample, Rule
from dedup.values.hashes import digest
from dedup.values.row import Row, Run

REMOVED = frozenset((404, 410))
"""The answers that say that there is no page any more."""
GONE = REMOVED | {301, 302, 303, 307, 308}
"""Those, and the answers that say that it is somewhere else."""
ANSWERS = Prefix("gone.")
_MOST = 20


def note_gone(store: Store, run: Run, crawl: Collection[int], key: str, status: int) -> list[int]:
    """Record that *run* was answered with *status* at the address *key* of a page that is known.

    Only the first such answer since a crawl of the same spider has seen the page is recorded.  Returns
    the pages kept that stood there.
    """
    last = last_seen(store, key, run.spider)
    if last is None or last.sighting.run in crawl:
        return []
    with store.transaction(writing=True, beside=True):
        found = answers(store, key)
        if not any(before > last.sighting.run for before in found.keys() - {run.id}):
            store.put(Note(ANSWERS + key, json.dumps([*found.items(), (run.id, status)])))
    listed = store.rows(f"{OF_URL} AND p.listed", key, order=ANY_INDEX + OLDEST, limit=_MOST)
    return [row.id for row in listed]


def last_seen(store: Store, key: str, spider: str, without: frozenset[int] = frozenset()) -> Row | None:
    """Return the last row of the address *key* that *spider* has seen, in no run of *without*."""
    seen = f"{OF_URL} AND {STANDS} AND p.run NOT IN {numbers(without)}"
    rows = list(store.rows(seen, key, order=ANY_INDEX + LAST_RUN, limit=_MOST)) if key else []
    runs = {run.id for run in store.select(Run) if run.spider == spider} if rows else ()
    return next((row for row in rows if row.sighting.run in runs), None)


def answers(store: Store, key: str) -> dict[int, int]:
    """Return what was answered at the address *key* when its page was gone, by the run."""
    return next((_read(note) for note in store.select(Note, name=ANSWERS + key)), {})


def all_answers(store: Store) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield all addresses with what `answers` says of them."""
    for note in store.select(Note, name=ANSWERS):
        yield note.name.removeprefix(ANSWERS), _read(note)


def _read(note: Note) -> dict[int, int]:
    """Return the answers in *note*, none where it is damaged."""
    try:
        return {int(run): int(status) for run, status in json.loads(note.value)}
    except (TypeError, ValueError):
        return {}


_NOISE = "noise."


class SiteNoise(NamedTuple):
    """The gaps of *host* in *scope*, with what was seen of each, and the last *run* that looked."""

    scope: str
    host: str
    run: int
    gaps: dict[Gap, Evidence]


def put_noise(store: Store, site: SiteNoise) -> None:
    """Record *site* in the place of what was known of it."""
    gaps = [[*gap, *evidence] for gap, evidence in site.gaps.items()]
    with store.transaction(writing=True, beside=True):
        store.put(Note(_name(site.scope, site.host), json.dumps([*site[:3], gaps])))


def noise_of(store: Store, scope: str, host: str) -> dict[Gap, Evidence]:
    """Return what is known of the gaps of *host* in *scope*."""
    return gaps_of(store.select(Note, name=_name(scope, host)))


def gaps_of(notes: Iterable[Note]) -> dict[Gap, Evidence]:
    """Return what the first of *notes* knows of the gaps of its site, nothing if there is none."""
    return next((site.gaps for site in _sites_in(notes)), {})


def notes_by_host(store: Store, scope: str) -> dict[str, Note]:
    """Return the notes of all sites in *scope* by their hosts; `gaps_of` reads them."""
    found = {note.name: note for note in store.select(Note, name=Prefix(_NOISE))}
    names = ((json.loads(name.removeprefix(_NOISE)), note) for name, note in found.items())
    return {host: note for (of_scope, host), note in names if of_scope == scope}


def all_noise(store: Store) -> list[SiteNoise]:
    """Return what is known of all sites, in their order; what cannot be read is left out."""
    return sorted(_sites_in(store.select(Note, name=Prefix(_NOISE))), key=lambda site: site[:2])


def left_out(store: Store) -> dict[str, list[str]]:
    """Return, by host, what is left out of its pages, as a reader would write it."""
    found: dict[str, list[str]] = {}
    for site in all_noise(store):
        for gap in told(gap for gap, one in site.gaps.items() if one.acts(gap)):
            found.setdefault(site.host, []).append(gap.shown())
    return found


def _name(scope: str, host: str) -> str:
    return f"{_NOISE}{json.dumps([scope, host])}"


def _sites_in(notes: Iterable[Note]) -> Iterator[SiteNoise]:
    for note in notes:
        try:
            scope, host, run, gaps = json.loads(note.value)
            yield SiteNoise(str(scope), str(host), int(run), dict(map(_gap, gaps)))
        except (TypeError, ValueError):
            continue


def _gap(values: list[object]) -> tuple[Gap, Evidence]:
    place, before, after, heading, is_number, moved, stayed, crawls, is_off, example = values
    gap = Gap(str(place), _words(before), _words(after), str(heading), bool(is_number))
    return gap, Evidence(
        float(str(moved)), float(str(stayed)), int(str(crawls)), bool(is_off), str(example)
    )


def _words(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError
    return tuple(map(str, values))


USED = 10
"""So many groups of URLs, and pages, speak in each of two crawls for a rule that is used by itself."""
_PROPOSED, _WRONG = "urls.proposed.", "urls.wrong."
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

    def propose(self, run: int, spider: str, proposals: Iterable[Proposal]) -> bool:
        """Store what *run* proposes, in the place of what was proposed before the last crawl."""
        text = json.dumps([spider, list(proposals)[:_MOST_PROPOSED]])
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
