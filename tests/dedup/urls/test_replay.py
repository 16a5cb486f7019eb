"""What rules would have predicted, once more at the end of a crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

import pytest

from dedup.urls import learner as learner_module
from dedup.urls import replay as replay_module
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import REPLAYED, State
from dedup.urls.learner import OTHER_LINKS, Learner, RuleRecord
from dedup.urls.rule import Rule
from dedup.urls.views import Page
from tests.dedup.urls.site import HOST

SID = Rule("a.example", Edit(Form.PARAMETER, "sid"))
PRINT = Rule("a.example", Edit(Form.PARAMETER, "print"))


def replayed(pages: Mapping[str, tuple[int, Sequence[str]]]) -> Learner:
    """Return what is learned from pages (path -> what it shows, links), after a replay."""
    learner = Learner()
    for path, (content, links) in pages.items():
        page = Page(HOST + path, (content,), (1,), "", 1)
        learner.page(page)
        learner.visited(page.url, page, [HOST + link for link in links], can_stand=True)
    learner.replay()
    return learner


def site(number: int, ends: Sequence[str] = ("?sid=1",)) -> dict[str, tuple[int, Sequence[str]]]:
    """Return a site whose home leads to pages, and to copies of each."""
    paths = [f"/p{page}{end}" for end in ("", *ends) for page in range(number)]
    pages = {path: (1 + int(path[2:].partition("?")[0]), ["/"]) for path in paths}
    return {"/": (0, paths), **pages}


@pytest.mark.parametrize(("number", "counted"), [(3, 0), (12, 9), (40, REPLAYED)])
def test_groups_are_counted_but_those_by_which_a_rule_was_found(number: int, counted: int) -> None:
    record = replayed(site(number)).records[SID]
    assert record.own.replayed == counted


def test_a_replay_alone_lets_no_rule_act_and_ten_predictions_do() -> None:
    learner = replayed(site(40))
    record = learner.records[SID]
    states = [record.state]
    for number in range(10):
        (one,) = [
            one for one in learner.predictions(f"{HOST}/p{number}?sid=9", "") if one.records == (record,)
        ]
        learner.right(one)
        states.append(record.state)
    assert states == [State.TRIAL] * 10 + [State.ACTIVE]


def test_what_only_copies_lead_to_refutes_their_rule_and_no_other() -> None:
    pages = site(12, ("?sid=1", "?print=1", "?print=1&sid=1"))
    for path in pages:
        if "print" in path:
            pages[path] = (pages[path][0], ["/", "/hidden"])
    learner = replayed(pages)
    assert learner.records[PRINT].evidence.wrongs[0].reason == OTHER_LINKS
    assert learner.records[PRINT].state is State.REFUTED
    assert learner.records[SID].state is State.TRIAL


@pytest.mark.parametrize("leads", ["/p3?sid=8", "/new?sid=8"])
def test_what_is_met_later_or_under_another_session_is_not_new(leads: str) -> None:
    pages = site(12)
    pages["/p0?sid=1"] = (1, [leads])
    learner = replayed({**pages, "/last": (99, ["/new?sid=7"])})
    assert learner.records[SID].state is State.TRIAL


def test_a_doubt_of_where_copies_lead_is_held_until_the_end() -> None:
    pages = site(12)
    learner = Learner()
    for path, (content, links) in pages.items():
        page = Page(HOST + path, (content,), (1,), "", 1)
        learner.page(page)
        learner.visited(page.url, page, [HOST + link for link in links], can_stand=True)
    record = learner.records[SID]
    (one,) = [one for one in learner.predictions(f"{HOST}/p1?sid=5", "") if one.records == (record,)]
    learner.wrong(one, f"{HOST}/p1?sid=5", OTHER_LINKS)
    for _ in range(60):
        learner.right(one)
    for number in range(12):
        (one,) = [
            one for one in learner.predictions(f"{HOST}/p{number}?sid=5", "") if one.records == (record,)
        ]
        learner.right(one)
    after_a_kill = RuleRecord(SID, (record.own,))
    assert [record.state, after_a_kill.state] == [State.TRIAL, State.TRIAL]
    learner.replay()
    assert [record.state] == [State.ACTIVE]


@pytest.mark.parametrize(
    ("module", "bound"),
    [
        (replay_module, "_MOST_PAGES"),
        (replay_module, "_MOST_LINKS"),
        (learner_module, "_MOST_LINKS"),
        (learner_module, "_MOST_MET"),
    ],
)
def test_what_is_too_large_is_not_replayed_and_takes_no_memory(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, bound: str
) -> None:
    monkeypatch.setattr(module, bound, 20)
    learner = replayed(site(12))
    assert learner.records[SID].own.replayed == 0
    assert not any(history.visits for history in learner._histories.values())


def test_no_more_urls_are_remembered_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_module, "_MOST_MET", 20)
    learner = Learner()
    for number in range(30):
        links = [f"{HOST}/{number}/{below}" for below in range(10)]
        learner.meet(links)
        learner.visited(f"{HOST}/{number}", None, links)
    assert len(learner._met) <= 20
