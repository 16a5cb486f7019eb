"""Sites drawn at random: no text is lost by rules."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dedup import SQLiteIndex
from dedup.index.notes import UrlRules
from dedup.urls.rule import Obeyed, Rule
from tests.urls.drawn import Answer, DrawnSite
from tests.urls.walk import HOST, Walk

# What is slow here says once more, in larger crawls, what others say.
pytestmark = pytest.mark.nightly


@dataclass
class Drawn:
    """A site drawn at random."""

    site: DrawnSite

    def at(self, url: str) -> Answer | None:
        return self.site.pages.get(url.removeprefix(HOST))


@dataclass
class Done:
    """How many requests each crawl has saved, which texts were lost, and how many rules were obeyed."""

    saved: list[int]
    lost: set[str]
    obeyed: int


def crawled(seed: int, crawls: int = 4) -> Done:
    """Crawl a site again and again; rules are used that two crawls in a row have proposed."""
    site = Drawn(DrawnSite(seed))
    truth = Walk(site).crawl()
    found = Done([], set(), 0)
    with TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as index:
        book = UrlRules(index.store)
        for run in range(1, crawls + 1):
            accepted = {one.rule: one for one in book.accepted("site")}
            rules = accepted.keys() - book.wrong().keys()
            walk = Walk(site, Obeyed(rules, run), step=13 * run).crawl()
            for one in walk.wrong:
                book.note_wrong(run, one)
            proposed = {one.rule: one for one in walk.proposed()}
            proposed |= {rule: accepted[rule] for rule in walk.obeyed.rules.all}
            book.propose(run, "site", proposed.values())
            found.saved.append(truth.requests - walk.requests)
            found.lost |= truth.shown.keys() - walk.shown.keys()
            found.obeyed = max(found.obeyed, len(rules))
    return found


SEEDS = [0, 7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 28))]


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_save_copies_and_lose_nothing(seed: int) -> None:
    done = crawled(seed)
    assert not done.lost
    assert done.obeyed >= 3
    assert done.saved[-1] >= 40


def turned(pages: int, chance: random.Random) -> Drawn:
    """Return a site where a parameter meant nothing, and now does on a third of the pages."""
    site = DrawnSite(1)
    site.pages = {f"/p{number}": Answer(f"page {number}") for number in range(pages)}
    for number in range(pages):
        other = " other" if chance.random() < 0.34 else ""
        site.pages[f"/p{number}?sid={number}"] = Answer(f"page {number}{other}")
    site.pages["/"] = Answer("home", tuple(site.pages))
    return Drawn(site)


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_that_is_not_true_any_more_loses_nothing(seed: int) -> None:
    site = turned(150, random.Random(seed))
    walk = Walk(site, Obeyed([Rule("a.example", "?sid")], seed)).crawl()
    assert {answer.shows for answer in site.site.pages.values()} == walk.shown.keys()
    assert walk.wrong
    assert not walk.obeyed.rules.all
