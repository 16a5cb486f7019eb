"""Sites drawn at random, crawled without a crawler as the plugin does it: no text is lost by a rule."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urljoin

import pytest

from benchmarks.rules.drawn import Answer, DrawnSite
from dedup.urls.evidence import State
from dedup.urls.learner import OTHER_CONTENT, OTHER_LINKS, Learner, Prediction, RuleRecord
from dedup.urls.learning import Clarity, Clearness
from dedup.urls.replay import Replay
from dedup.urls.views import Page
from dedup.values.verdict import Reason

HOST = "http://a.example"
AT_A_TIME = 4


class HasPages(Protocol):
    """A site: what stands at each path."""

    pages: dict[str, Answer]


@dataclass
class Walk:
    """A crawl of *site* in the order of its links, some requests at a time."""

    site: HasPages
    learner: Learner
    run: int
    uses: bool
    shown: dict[str, str] = field(default_factory=dict)
    held: dict[str, tuple[RuleRecord, ...]] = field(default_factory=dict)
    requests: int = 0
    _todo: deque[str] = field(default_factory=deque)
    _seen: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _clearness: Clearness = field(default_factory=Clearness)

    def crawl(self) -> Walk:
        self.learner._changed = self._changed
        self._found(HOST + "/")
        while self._todo:
            urls = [self._todo.popleft() for _ in range(min(AT_A_TIME, len(self._todo)))]
            asked = [(url, self.learner.predictions(url, "")) for url in urls]
            for url, early in asked:
                # A request waits for another one under way that rules say is for the same page.
                predictions = early or self.learner.predictions(url, "")
                if not self._withholds(url, predictions):
                    self._fetch(url, predictions)
        self.learner.replay()
        return self

    def _found(self, url: str) -> None:
        if url not in self._seen:
            self._seen.add(url)
            self._todo.append(url)

    def _withholds(self, url: str, predictions: list[Prediction]) -> bool:
        acting = next((one for one in predictions if one.acts), None)
        if not (self.uses and acting) or url in self._made:
            return False
        if self.learner.is_explored(acting, self.run):
            return False
        self.held[url] = acting.records
        self.learner.count_withheld(acting.records)
        return True

    def _fetch(self, url: str, predictions: list[Prediction]) -> None:
        self.requests += 1
        answer = self.site.pages.get(url.removeprefix(HOST))
        if answer is None:
            return
        new: set[Prediction] = set()
        for link in answer.links:
            new |= self.learner.meet([urljoin(url, link)], predictions)
            self._found(urljoin(url, link))
        content = hash(answer.shows)
        first = self.shown.setdefault(answer.shows, url)
        reason = Reason.NEW if first == url else Reason.EXACT_DUPLICATE
        copy_of = None if first == url else content
        clarity = self._clearness.of(url, reason, 100, 1.0, copy_of)
        for one in predictions:
            is_clear = clarity >= (Clarity.WALL if one.is_of_few else Clarity.CLEAR)
            self._score(one, url, (content,), is_clear=is_clear, leads_on=one in new)
        is_own = copy_of is None or self.learner.are_one(url, first)
        page = Page(url, (content,), (1,), "", 1) if clarity else None
        is_wall = clarity is Clarity.WALL
        if page:
            self.learner.page(page, can_stand=is_own, is_wall=is_wall)
        links = [urljoin(url, link) for link in answer.links]
        self.learner.visited(url, page, links, can_stand=is_own, is_wall=is_wall)

    def _score(
        self, one: Prediction, url: str, content: tuple[int, ...], *, is_clear: bool, leads_on: bool
    ) -> None:
        if not is_clear:
            self.learner.unclear(one)
        elif one.page.content != content or leads_on:
            reason = OTHER_LINKS if one.page.content == content else OTHER_CONTENT
            self.learner.wrong(one, url, reason)
        else:
            self.learner.right(one)

    def _changed(self, record: RuleRecord, before: State) -> None:
        if before is State.ACTIVE:
            for url in [url for url, records in self.held.items() if record in records]:
                del self.held[url]
                self._made.add(url)
                self._todo.append(url)


def renewed(learner: Learner) -> list[RuleRecord]:
    """Return what the next run knows."""
    return [RuleRecord(one.rule, (*one.earlier, one.own)) for one in learner.records.values()]


def walked(seed: int, runs: int = 3) -> list[tuple[int, set[str]]]:
    """Crawl a site: learn, use, use; return for each crawl how many requests it saved, and what it lost."""
    site = DrawnSite(seed)
    found: list[tuple[int, set[str]]] = []
    records: list[RuleRecord] = []
    truth = Walk(site, Learner(), 0, uses=False).crawl()
    for run in range(1, runs + 1):
        done = Walk(site, Learner(records), run, uses=run > 1).crawl()
        found.append((truth.requests - done.requests, truth.shown.keys() - done.shown.keys()))
        records = renewed(done.learner)
    return found


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))]
)
def test_rules_save_most_copies_and_lose_nothing(seed: int) -> None:
    (learned, _), (first, _), (second, _) = found = walked(seed)
    assert not set().union(*(lost for _, lost in found))
    copies = DrawnSite(seed).copies
    assert learned == 0
    assert first >= 0.7 * copies
    assert second >= 0.8 * copies


@dataclass
class Indexed:
    """Folders that are their pages: /copy/N/ and its index are /copy/N, the index of /own/N/ is not."""

    def __post_init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        for number in range(40):
            for kind in ("copy", "own"):
                page = f"/{kind}/{number}"
                self.pages |= {page: Answer(page), f"{page}/": Answer(page)}
                self.pages[f"{page}/index.html"] = Answer(page)
            if number >= 20:
                self.pages[f"/own/{number}/index.html"] = Answer(f"index of {number}")
        self.pages["/"] = Answer("home", tuple(self.pages))


def test_an_index_that_is_a_page_of_its_own_is_not_lost_for_what_its_folder_is() -> None:
    site = Indexed()
    records: list[RuleRecord] = []
    for run in range(1, 5):
        walk = Walk(site, Learner(records), run, uses=run > 1).crawl()
        assert {answer.shows for answer in site.pages.values()} == walk.shown.keys()
        records = renewed(walk.learner)
    assert any("/copy/" in url and "index.html" in url for url in walk.held)


def planted_blind_to_links(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Replay, "misled", lambda _: iter(()))
    patch.setattr(Learner, "_is_new", lambda *_: False)


def planted_no_contradictions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Learner, "_contradicted", lambda self, record, shift, group: record.own)
    patch.setattr(Learner, "wrong", lambda *_: None)


@pytest.mark.parametrize("plant", [planted_blind_to_links, planted_no_contradictions])
def test_the_law_notices_planted_faults(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any(lost for seed in range(2) for _, lost in walked(seed))


if __name__ == "__main__":
    for number in range(6):
        print(number, DrawnSite(number).copies, walked(number), flush=True)
