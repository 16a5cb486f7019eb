"""A site full of traps, crawled in many orders without a crawler: nothing is lost that is not listed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from urllib.parse import urljoin

import pytest

from dedup.urls.evidence import State
from dedup.urls.learner import OTHER_CONTENT, OTHER_LINKS, Learner, Prediction, RuleRecord
from dedup.urls.views import Page
from tests.plugin.trapsite import HOST, TrapSite


@dataclass
class Trapped:
    """A crawl of one run: as the plugin does it, with some requests under way at a time."""

    site: TrapSite
    order: random.Random
    learner: Learner
    uses: bool
    shown: set[str] = field(default_factory=set)
    fetched: int = 0
    held: dict[str, tuple[RuleRecord, ...]] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    _todo: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _contents: dict[str, int] = field(default_factory=dict)

    def crawl(self) -> Trapped:
        self.learner._changed = self._changed
        self._found(f"http://{HOST}/")
        while self._todo:
            asked = [self._next() for _ in range(min(8, len(self._todo)))]
            for url, predictions in asked:
                self._fetch(url, predictions)
        return self

    def _found(self, url: str) -> None:
        if url not in self._seen:
            self._seen.add(url)
            self._todo.append(url)

    def _next(self) -> tuple[str, list[Prediction]]:
        place = self.order.randrange(len(self._todo))
        self._todo[place], self._todo[-1] = self._todo[-1], self._todo[place]
        url = self._todo.pop()
        return url, [] if url in self.made else self.learner.predictions(url, "")

    def _fetch(self, url: str, predictions: list[Prediction]) -> None:
        acting = next((one for one in predictions if one.acts), None)
        # A rule may have ended since it was asked: the plugin decides at once.
        is_active = acting and all(one.state is State.ACTIVE for one in acting.records)
        if self.uses and acting and is_active and not self.learner.is_explored(acting, self.site.run):
            self.held[url] = acting.records
            self.learner.count_withheld(acting.records)
            return
        self.fetched += 1
        answer = self.site.answer(url)
        if answer.location:
            self._found(urljoin(url, answer.location))
        if answer.status != 200:
            return
        self._learn(url, answer.shows, [urljoin(url, link) for link in answer.links], predictions)

    def _learn(self, url: str, shows: str, links: list[str], predictions: list[Prediction]) -> None:
        new: set[Prediction] = set()
        for link in links:
            new |= self.learner.meet([link], predictions)
            self._found(link)
        content = (self._contents.setdefault(shows, len(self._contents) + 1),)
        self.shown.add(shows)
        for one in predictions:
            if one.page.content != content:
                self.learner.wrong(one, url, OTHER_CONTENT)
            elif one in new:
                self.learner.wrong(one, url, OTHER_LINKS)
            else:
                self.learner.right(one)
        if shows not in ("login", "gone"):  # most pages of a large cluster are no evidence
            self.learner.page(Page(url, content, (1,), "", 1))

    def _changed(self, record: RuleRecord, before: State) -> None:
        if before is State.ACTIVE:
            for url in [url for url, records in self.held.items() if record in records]:
                del self.held[url]
                self.made.add(url)
                self._todo.append(url)


def later(learner: Learner) -> Learner:
    """Return what the next run begins with."""
    return Learner(
        RuleRecord(record.rule, (*record.earlier, record.own), standing=record.standing)
        for record in learner.records.values()
    )


def trapped(seed: int) -> list[tuple[int, int, set[str], set[str]]]:
    """Return for each of four runs how much was fetched and withheld, and what was lost and unlisted."""
    learner, found = Learner(), []
    for run in (1, 2, 3, 4):
        order = random.Random(f"{seed} {run}")
        truth = Trapped(TrapSite(seed, run), random.Random(1), Learner(), uses=False).crawl()
        learner = later(learner)
        done = Trapped(TrapSite(seed, run), order, learner, uses=True).crawl()
        listed = {done.site.answer(url).shows for url in done.held}
        lost = truth.shown - done.shown
        found.append((done.fetched, len(done.held), lost, lost - listed))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))]
)
def test_nothing_is_lost_that_is_not_listed(seed: int) -> None:
    found = trapped(seed)
    withheld = sum(held for _, held, _, _ in found)
    assert withheld > 1000
    assert not set().union(*(unlisted for *_, unlisted in found))
    lost = set().union(*(lost for _, _, lost, _ in found))
    assert len(lost) <= 0.001 * withheld


@pytest.mark.slow
def test_the_law_notices_a_rule_that_does_not_count_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "meet", lambda *_: set())
    monkeypatch.setattr(Learner, "wrong", lambda *_: None)
    monkeypatch.setattr(Learner, "_contradicted", lambda self, record, shift, group: record.own)
    monkeypatch.setattr(Learner, "is_explored", lambda *_: False)
    assert any(unlisted for seed in range(2) for *_, unlisted in trapped(seed))


if __name__ == "__main__":
    for number in range(20):
        print(number, trapped(number), flush=True)
