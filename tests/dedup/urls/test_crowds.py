"""One page with very many addresses: rules that few pages speak for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from benchmarks.rules.drawn import Answer
from dedup.urls import evidence as evidence_module
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import State
from dedup.urls.learner import Learner, RuleRecord
from dedup.urls.rule import Rule
from tests.dedup.urls.test_drawn import Walk, renewed

RULE = Rule("a.example", Edit(Form.PARAMETER, "next"), "/login")


@dataclass
class Crowded:
    """A site with 100 pages of its own, whose home leads to ``/login?next=0`` and so on too."""

    shown: Iterable[str]

    def __post_init__(self) -> None:
        self.pages = {f"/page/{number}": Answer(f"page {number}") for number in range(100)}
        self.pages |= {f"/login?next={number}": Answer(shows) for number, shows in enumerate(self.shown)}
        self.pages["/"] = Answer("home", tuple(self.pages))


def walks(*sites: Crowded) -> list[Walk]:
    """Crawl one site after the other, with what was learned on those before: learn, use, use."""
    found: list[Walk] = []
    records: list[RuleRecord] = []
    for run, site in enumerate(sites, 1):
        found.append(Walk(site, Learner(records), run, uses=run > 1).crawl())
        records = renewed(found[-1].learner)
    return found


def lost(site: Crowded, walk: Walk) -> set[str]:
    return {answer.shows for answer in site.pages.values()} - walk.shown.keys()


def withheld(walk: Walk) -> int:
    """Return how many requests were withheld, even if they were made after all."""
    return sum(record.own.withheld for record in walk.learner.records.values())


def test_a_login_page_with_many_addresses_is_fetched_a_few_times() -> None:
    site = Crowded(["log in"] * 340)
    learning, *uses = walks(site, site, site)
    assert not learning.held
    for use in uses:
        assert len(use.held) >= 0.75 * 340
        assert not lost(site, use)
    record = uses[-1].learner.records[RULE]
    assert [one for one in uses[-1].learner.records.values() if one.state is State.ACTIVE] == [record]


def test_a_login_page_is_one_whatever_two_parameters_say() -> None:
    site = Crowded(["log in"] * 160)
    for number in range(340):
        site.pages[f"/login?next={number % 80}&query={number}"] = Answer("log in")
    site.pages["/"] = Answer("home", tuple(site.pages))
    learning, *uses = walks(site, site, site)
    assert not learning.held
    for use in uses:
        assert len(use.held) >= (160 + 340) / 2
        assert not lost(site, use)


@pytest.mark.parametrize("closed", [120, 240])
def test_what_two_parameters_name_and_was_under_maintenance_is_not_withheld(closed: int) -> None:
    site, again = Crowded([]), Crowded([])
    for number in range(280):
        address = f"/archive?part={number % 30}&entry={number}"
        site.pages[address] = Answer("maintenance" if number < closed else f"text {number}")
        again.pages[address] = Answer(f"text {number}")
    for one in (site, again):
        one.pages["/"] = Answer("home", tuple(one.pages))
    for sites in ((site, site, site), (site, again, again)):
        assert not any(map(withheld, walks(*sites)))


@pytest.mark.parametrize("number", [60, 140])
def test_it_takes_a_hundred_addresses_and_sixty_predictions(number: int) -> None:
    site = Crowded(["log in"] * number)
    assert not any(walk.held for walk in walks(site, site))


@pytest.mark.parametrize("closed", [100, 150, 300])
def test_what_is_under_maintenance_and_then_unique_is_not_withheld(closed: int) -> None:
    names = ["maintenance"] * closed + [f"text {number}" for number in range(40)]
    site = Crowded(names)
    again = Crowded([f"text {number}" for number in range(closed + 40)])
    for sites in ((site, site, site), (site, again, again), (Crowded(names[:closed]), again, again)):
        assert not any(map(withheld, walks(*sites)))


def test_a_parameter_that_ever_gave_two_texts_is_never_a_crowd() -> None:
    site = Crowded(["log in"] * 5 + ["another"] + ["log in"] * 300)
    for walk in walks(site, site, site):
        assert not walk.held
        assert not lost(site, walk)


@pytest.mark.parametrize("is_planted", [False, True])
def test_it_acts_only_in_a_later_crawl(monkeypatch: pytest.MonkeyPatch, *, is_planted: bool) -> None:
    if is_planted:
        monkeypatch.setattr(evidence_module, "_is_proven_again", lambda found: found.right_since >= 60)
    names = ["maintenance"] * 250 + [f"text {number}" for number in range(40)]
    walk = Walk(Crowded(names), Learner(), 1, uses=True).crawl()
    assert bool(withheld(walk)) is is_planted
