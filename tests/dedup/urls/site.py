"""Random sites whose URLs have parameters, and what is true of them: the oracle of the learner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from dedup.urls.learner import Learner
from dedup.urls.views import Page

HOST = "http://a.example"


@dataclass(frozen=True)
class Site:
    """Pages `/dir/page`; some parameters matter on a share of the pages, the others nowhere.

    *shares* gives that share for each parameter.
    """

    pages: int
    shares: dict[str, float]
    seed: int = 0

    def content(self, page: int, query: dict[str, int]) -> tuple[int, ...]:
        """Return what is on a page: the same number is the same page."""
        mattering = sorted((name, value) for name, value in query.items() if self.matters(page, name))
        return (hash((page, tuple(mattering), self.seed)) & 0xFFFFFFFF,)

    def matters(self, page: int, name: str) -> bool:
        """Return whether the parameter changes the page."""
        return random.Random(f"{self.seed} {page} {name}").random() < self.shares[name]

    def requests(self, number: int, order: random.Random) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield random URLs with what is there."""
        for _ in range(number):
            page = order.randrange(self.pages)
            names = [name for name in sorted(self.shares) if order.random() < 0.5]
            query = {name: order.randrange(3) for name in names}
            text = "&".join(f"{name}={value}" for name, value in query.items())
            path = f"/dir{page % 4}/page{'abcdefghij'[page % 10]}{page}"
            yield f"{HOST}{path}{'?' if text else ''}{text}", self.content(page, query)


@dataclass
class Outcome:
    """What a crawl with the rules that act came to."""

    fetched: int = 0
    withheld: int = 0
    lost: int = 0
    right: int = 0
    wrong: int = 0


def crawled(learner: Learner, site: Site, seed: int, number: int, *, acts: bool = True) -> Outcome:
    """Crawl *site* in a random order, as the plugin does; *lost* counts withheld pages nobody showed."""
    order, outcome, known, missed = random.Random(seed), Outcome(), set(), set()
    seen: set[str] = set()
    for url, content in site.requests(number, order):
        if url in seen:
            continue
        seen.add(url)
        learner.meet([url])
        predictions = learner.predictions(url, "")
        acting = next((one for one in predictions if one.acts), None)
        if acts and acting and not learner.is_explored(acting, seed):
            outcome.withheld += 1
            learner.count_withheld(acting.records)
            missed.add(content)
            continue
        outcome.fetched += 1
        for one in predictions:
            if one.page.content == content:
                outcome.right += 1
                learner.right(one)
            else:
                outcome.wrong += 1
                learner.wrong(one, url, "other content")
        known.add(content)
        learner.page(Page(url, content, (1,), "", 100))
    outcome.lost = len(missed - known)
    return outcome
