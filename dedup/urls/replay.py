"""A crawl once more at its end: what each rule would have predicted of its pages, and where that led.

A rule is right about a page that shows the same as one before it, and that leads nowhere but where the
crawl would have come with the copies of all rules left out.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dedup.urls.edits import Edit, Reading
from dedup.urls.evidence import CANDIDATE
from dedup.urls.parts import Parts
from dedup.urls.views import Page, View, hash_of

if TYPE_CHECKING:
    from dedup.urls.learner import RuleRecord

# Pages and links of a host; a larger one is not replayed.
_MOST_PAGES, _MOST_LINKS = 10_000, 500_000


class Visit(NamedTuple):
    """A response of *url*: its *page*, None where it is in doubt what that shows, and where it leads.

    URLs are numbers here.  Other pages are withheld only for one that *can_stand*; one that *is_wall*
    proves nothing.
    """

    url: int
    page: Page | None
    can_stand: bool
    links: array[int]
    is_wall: bool = False


@dataclass(slots=True, eq=False)
class History:
    """The visits of one host, in order; none if they were too many."""

    visits: list[Visit] = field(default_factory=list)
    is_full: bool = False
    _links: int = 0

    def add(self, visit: Visit) -> None:
        """Note a visit."""
        self._links += len(visit.links)
        if self.is_full or self._links > _MOST_LINKS or len(self.visits) >= _MOST_PAGES:
            self.give_up()
        else:
            self.visits.append(visit)

    def give_up(self) -> None:
        """Forget the visits, and note no more."""
        self.is_full = True
        self.visits.clear()


class Guess(NamedTuple):
    """What *record* would have said of *visit*, of *url*: it repeats *page*, by their common *key*."""

    record: RuleRecord
    key: Parts
    visit: Visit
    url: str
    page: Page


class Replay:
    """The *history* of a host under *rules*, of which some act and others may.

    *read* reads the URL of a number.
    """

    def __init__(
        self,
        history: History,
        rules: Collection[RuleRecord],
        read: Callable[[int], Reading | None],
    ) -> None:
        self._read = read
        self._visits = history.visits
        self._view = View(rules, (), ())
        self._all = View(rules, (), (), all_act=True)
        self.guesses = list(self._guessed())

    def _guessed(self) -> Iterator[Guess]:
        """Yield what was right by its content: what is wrong has contradicted a group."""
        view = self._view
        for visit in self._visits:
            read = self._read(visit.url)
            if read is None or visit.page is None:
                continue
            bare, used = view.normal(read)
            asked: list[tuple[RuleRecord, Edit | None, Parts]] = [(one, None, bare) for one in used]
            for record in view.speaking(read):
                edit = record.rule.edit
                asked.append((record, edit, view.without(edit, bare)))
            for record, by, key in asked:
                page = view.page(by, key, visit.page.url, visit.page.signature)
                if page and page.content == visit.page.content:
                    yield Guess(record, key, visit, visit.page.url, page)
            if visit.can_stand:
                view.stand(visit.page, read)

    def right(self) -> Counter[RuleRecord]:
        """Return how often each rule was right, without the first groups: by them it was found."""
        groups: defaultdict[RuleRecord, dict[int, int]] = defaultdict(dict)
        for guess in self.guesses:
            of, group = groups[guess.record], hash_of(guess.key)
            of[group] = of.get(group, 0) + (not guess.visit.is_wall)
        return Counter({one: sum(list(of.values())[CANDIDATE:]) for one, of in groups.items()})

    def misled(self) -> Iterator[Guess]:
        """Yield the guesses whose copy leads where nothing else does, if all copies are left out."""
        copies = {guess.visit.url for guess in self.guesses}
        links = {visit.url: visit.links for visit in self._visits}
        numbers = {visit.page.url: visit.url for visit in self._visits if visit.page}
        reached = _reached(self._visits, copies)
        keys: set[object] = set()
        for guess in self.guesses:
            new = [one for one in guess.visit.links if one not in reached]
            if new and not keys:
                keys.update(self._key(number) for number in reached)
            if new := [one for one in new if self._key(one) not in keys]:
                beside = {self._key(one) for one in links.get(numbers[guess.page.url], ())}
                if any(self._key(one) not in beside for one in new):
                    yield guess

    def _key(self, number: int) -> object:
        read = self._read(number)
        return self._all.normal(read)[0] if read else number


def _reached(visits: Sequence[Visit], left_out: set[int]) -> set[int]:
    """Return the URLs met from those that nothing leads to, if the pages of some are *left_out*."""
    links: defaultdict[int, list[array[int]]] = defaultdict(list)
    for visit in visits:
        links[visit.url].append(visit.links)
    linked = {url for visit in visits for url in visit.links if url != visit.url}
    todo = [url for url in links if url not in linked] or [visit.url for visit in visits[:1]]
    todo += [visit.url for visit in visits[:1]]
    reached = set(todo)
    while todo:
        url = todo.pop()
        if url not in left_out:
            new = {one for found in links.get(url, ()) for one in found} - reached
            reached |= new
            todo += new
    return reached
