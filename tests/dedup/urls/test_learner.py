"""The learner on random sites: what does not matter is learned, what matters never acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.urls import evidence as evidence_module
from dedup.urls import learner as learner_module
from dedup.urls.edits import Edit, Form, reading_of
from dedup.urls.evidence import RuleStanding, State
from dedup.urls.groups import Groups
from dedup.urls.learner import Learner, Prediction, RuleRecord
from dedup.urls.rule import Rule
from dedup.urls.views import Page
from tests.budget import examples
from tests.dedup.urls.site import HOST, Site, crawled

SHARES = st.sampled_from([0.0, 0.0, 1.0, 0.5, 0.1])


def parameter(name: str) -> Rule:
    return Rule("a.example", Edit(Form.PARAMETER, name))


@settings(max_examples=examples(25))
@given(
    st.integers(20, 60),
    st.fixed_dictionaries({"a": SHARES, "b": SHARES, "c": SHARES}),
    st.integers(0, 999),
)
def test_a_parameter_that_matters_never_acts_and_nothing_is_lost(
    pages: int, shares: dict[str, float], seed: int
) -> None:
    learner = Learner()
    outcome = crawled(learner, Site(pages, shares, seed), seed, 1500)
    # A page that a rare exception makes is withheld and listed until the exception is found.
    assert outcome.lost == 0 or 0.1 in shares.values()
    for rule, record in learner.records.items():
        if record.state is State.ACTIVE and rule.edit.form is Form.PARAMETER and rule.pattern == "*":
            assert shares[rule.edit.name] <= 0.1


@pytest.mark.parametrize("seed", range(5))
def test_a_parameter_that_does_not_matter_is_learned_and_saves_its_pages(seed: int) -> None:
    learner = Learner()
    site = Site(60, {"sid": 0.0, "id": 1.0}, seed)
    first = crawled(learner, site, seed, 900)
    assert learner.records[parameter("sid")].state is State.ACTIVE
    assert learner.records[parameter("id")].state is State.REFUTED
    assert first.withheld > 50
    assert first.lost == first.wrong == 0


@pytest.mark.parametrize("name", ["version", "rev", "oldid"])
def test_a_rule_on_versions_of_pages_never_acts_unless_a_person_says_so(name: str) -> None:
    learner = Learner()
    outcome = crawled(learner, Site(60, {name: 0.0}, 1), 1, 900)
    record = learner.records[parameter(name)]
    assert (record.state, outcome.withheld) == (State.TRIAL, 0)
    pinned = RuleRecord(record.rule, (record.own,), standing=RuleStanding.PINNED)
    assert pinned.state is State.ACTIVE


def planted_no_contradictions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Learner, "_contradicted", lambda self, record, shift, group: record.own)
    patch.setattr(Learner, "wrong", lambda *_: None)


def planted_no_trial(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence_module, "TRIAL", 1)
    patch.setattr(evidence_module, "RIGHT", 0)
    patch.setattr(evidence_module, "PAGES", 0)
    planted_no_contradictions(patch)


@pytest.mark.parametrize("pages", [3, 9])
def test_what_holds_in_one_place_withholds_nothing_in_another(pages: int) -> None:
    learner = full("id", pages=70)
    for number in range(70):
        learner.right(predicted(learner, f"{HOST}/p/x{number}?id=7", "id"))
    assert learner.records[parameter("id")].state is State.ACTIVE
    for number in range(pages):
        url = f"{HOST}/shop/item?id={number}"
        for one in learner.predictions(url, ""):
            assert not one.acts or learner.is_explored(one, 1)
            learner.wrong(one, url, "other content")
        learner.page(Page(url, (1000 + number,), (1,), "", 1))
    assert learner.records[parameter("id")].state is not State.ACTIVE


@pytest.mark.parametrize("plant", [planted_no_contradictions, planted_no_trial])
def test_the_law_notices_planted_faults(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(plant)
    plant(monkeypatch)
    lost = [
        crawled(Learner(), Site(40, {"a": 0.5, "b": 0.1}, seed), seed, 2000).lost for seed in range(4)
    ]
    assert any(lost)


def test_eighteen_copies_of_one_page_prove_nothing() -> None:
    learner = Learner()
    for number in range(18):
        for url in (f"{HOST}/p{number}", f"{HOST}/p{number}?next={number}"):
            learner.page(Page(url, (1,), (1,), "", 1))
    assert learner.records[parameter("next")].state is State.SEEN


def full(name: str, *, pages: int = 10, others: int = 0) -> Learner:
    """Return a learner that has a rule about a parameter on trial."""
    learner = Learner()
    for number in range(pages):
        learner.page(Page(f"{HOST}/p/x{number}", (number,), (1,), "", 1))
        learner.page(Page(f"{HOST}/p/x{number}?{name}=1", (number,), (1,), "", 1))
    return learner


def predicted(learner: Learner, url: str, name: str = "s") -> Prediction:
    return next(one for one in learner.predictions(url, "") if one.records[0].rule == parameter(name))


def act(learner: Learner, *, rounds: int = 30) -> None:
    for number in range(rounds):
        url = f"{HOST}/p/x{number % 10}?s={number + 2}"
        learner.right(predicted(learner, url))


def test_a_rule_goes_through_its_states() -> None:
    learner = full("s", pages=2)
    assert learner.records[parameter("s")].state is State.SEEN
    assert full("s", pages=3).records[parameter("s")].state is State.CANDIDATE
    learner = full("s")
    record = learner.records[parameter("s")]
    states = [record.state]
    for rounds in (29, 1):
        act(learner, rounds=rounds)
        states.append(record.state)
    assert states == [State.TRIAL, State.TRIAL, State.ACTIVE]


def test_one_counterexample_suspends_without_its_path_and_a_second_one_retires() -> None:
    learner = full("s")
    act(learner)
    record, told = learner.records[parameter("s")], []
    learner._changed = lambda record, before: told.append((record.rule.pattern, before))
    url = f"{HOST}/p/x3?s=99"
    learner.wrong(predicted(learner, url), url, "other content")
    states = [record.state]
    assert ("*", State.ACTIVE) in told
    assert not learner.predictions(url, "")  # not on that path any more
    assert record.covers("/p/x#") is False
    learner.page(Page(f"{HOST}/q/y", (77,), (1,), "", 1))
    learner.page(Page(f"{HOST}/q/y?s=1", (78,), (1,), "", 1))
    assert [*states, record.state] == [State.SUSPENDED, State.RETIRED]


def looked_at(learner: Learner, folder: str, pages: int) -> int:
    """Return how many of 100 copies are looked at in a crawl after *pages* right ones in a folder."""
    act(learner)
    for number in range(pages):
        learner.page(Page(f"{HOST}{folder}{number}", (1000 + number,), (1,), "", 1))
        url = f"{HOST}{folder}{number}?s=1"
        learner.right(predicted(learner, url))
    learner.page(Page(f"{HOST}{folder}new", (2000,), (1,), "", 1))
    urls = [f"{HOST}{folder}new?s={number}" for number in range(100)]
    return sum(learner.is_explored(predicted(learner, url), 1) for url in urls)


def test_a_rule_acts_only_where_it_was_tested() -> None:
    assert looked_at(full("s"), "/shop/item", 0) == 100  # whatever was seen of /p/x#
    assert looked_at(full("s"), "/p/x", 0) == 100  # /p/xnew is another place
    # Where names of pages differ, their folder is the place.
    names = [f"/wiki/{letter}" for letter in "abcdefghijk"]
    assert [looked_at(full("s"), name, 1) for name in names][-1] == 100
    learner = full("s")
    counts = [looked_at(learner, name, 1) for name in names]
    assert counts[8] == 100
    assert counts[-1] < 30


@pytest.mark.parametrize(("name", "rounds"), [("utm_source", 10), ("s", 30)])
def test_known_names_need_fewer_predictions(name: str, rounds: int) -> None:
    learner = full(name)
    record = learner.records[parameter(name)]
    for number in range(rounds):
        assert record.state is State.TRIAL
        learner.right(predicted(learner, f"{HOST}/p/x{number % 10}?{name}={number + 5}", name))
    assert record.state is State.ACTIVE


def test_what_a_site_declares_needs_fewer_predictions() -> None:
    for declare in ("redirect", "robots"):
        learner = full("s")
        if declare == "redirect":
            learner.same(f"{HOST}/p/x1?s=4", f"{HOST}/p/x1")
        else:
            learner.declare("a.example", [(Edit(Form.PARAMETER, "s"), "/")])
        act(learner, rounds=10)
        assert learner.records[parameter("s")].state is State.ACTIVE


def test_a_rule_is_heard_from_the_page_on_that_put_it_on_trial() -> None:
    learner = full("s")
    for number in range(200):  # a hub that names all pages
        learner.meet([f"{HOST}/p/x{number}"])
    assert learner.predictions(f"{HOST}/p/x1?s=5", "")
    for number in range(10):
        learner.page(Page(f"{HOST}/p/x{number}?t=1", (number,), (1,), "", 1))
    assert predicted(learner, f"{HOST}/p/x1?t=5", "t")


def test_another_signature_is_another_page() -> None:
    learner = full("s")
    assert learner.predictions(f"{HOST}/p/x1?s=5", "")
    assert not learner.predictions(f"{HOST}/p/x1?s=5", "another callback")


def test_the_bare_url_and_the_page_itself_are_never_predicted_by_it() -> None:
    learner = full("s")
    assert not learner.predictions(f"{HOST}/p/x1", "")
    assert all(one.page.url != f"{HOST}/p/x1?s=1" for one in learner.predictions(f"{HOST}/p/x1?s=1", ""))


def test_links_are_new_unless_they_were_met_under_the_rule_that_is_tested() -> None:
    learner = full("s")
    learner.meet([f"{HOST}/q?s=1"])
    prediction = predicted(learner, f"{HOST}/p/x1?s=5")
    assert not learner.meet([f"{HOST}/q?s=2"], [prediction])
    assert not learner.meet([f"{HOST}/q"], [prediction])
    assert learner.meet([f"{HOST}/r?s=2"], [prediction]) == {prediction}
    assert learner.meet(["http://other.example/"], [prediction]) == {prediction}
    assert not learner.meet(["http://other.example/"], [prediction])
    # What no rule can read is new as well.
    for odd in (f"{HOST}/r#!app", "ftp://a.example/", f"{HOST}/{'x' * 3000}"):
        assert learner.meet([odd], [prediction]) == {prediction}
        assert not learner.meet([odd], [prediction])


def test_a_pinned_rule_acts_whatever_is_seen_and_one_that_is_off_never() -> None:
    for standing, state in ((RuleStanding.PINNED, State.ACTIVE), (RuleStanding.OFF, State.OFF)):
        learner = Learner([RuleRecord(parameter("s"), standing=standing)])
        learner.page(Page(f"{HOST}/p", (1,), (1,), "", 1))
        learner.page(Page(f"{HOST}/p?s=1", (2,), (1,), "", 1))
        assert learner.records[parameter("s")].state is state
        assert bool(learner.predictions(f"{HOST}/p?s=2", "")) is (state is State.ACTIVE)


def chained() -> Learner:
    """Return a learner with two rules that act: /x/index.html is /x/, and that is /x."""
    edits = (Edit(Form.INDEX, "index.html"), Edit(Form.SLASH))
    rules = [Rule("a.example", edit) for edit in edits]
    learner = Learner([RuleRecord(rule, standing=RuleStanding.PINNED) for rule in rules])
    learner.page(Page(f"{HOST}/x", (1,), (1,), "", 1))
    return learner


def test_what_one_rule_leaves_is_read_by_the_others() -> None:
    learner = chained()
    (found,) = learner.predictions(f"{HOST}/x/index.html", "")
    assert (found.page.url, found.acts) == (f"{HOST}/x", True)
    assert [record.rule.edit.form for record in found.records] == [Form.INDEX, Form.SLASH]
    assert learner.are_one(f"{HOST}/x", f"{HOST}/x/index.html")
    learner.meet([f"{HOST}/x"])
    assert not learner.meet([f"{HOST}/x/index.html", f"{HOST}/x/"], [found])


def test_a_wrong_prediction_of_several_rules_contradicts_each_where_it_has_spoken() -> None:
    learner = chained()
    (found,) = learner.predictions(f"{HOST}/x/index.html", "")
    learner.wrong(found, f"{HOST}/x/index.html", "other content")
    paths = {one.rule.edit.form: one.evidence.except_paths for one in found.records}
    assert paths == {Form.INDEX: {"/x/"}, Form.SLASH: {"/x"}}


def test_two_urls_are_one_where_rules_on_trial_say_so_and_else_not() -> None:
    learner = full("v")
    assert learner.records[parameter("v")].state is State.TRIAL
    assert learner.are_one(f"{HOST}/x?v=1", f"{HOST}/x?v=2")
    assert learner.are_one(f"{HOST}/x", f"{HOST}/x?v=2")
    assert not learner.are_one(f"{HOST}/x?v=1", f"{HOST}/login?v=1")
    assert not learner.are_one(f"{HOST}/x?id=1", f"{HOST}/x")
    assert not learner.are_one("http://b.example/x?v=1", "http://b.example/x?v=2")


def test_an_alias_of_a_host_is_learned() -> None:
    learner = Learner()
    for number in range(10):
        for host in ("a.example", "www.a.example"):
            learner.page(Page(f"http://{host}/p/x{number}", (number,), (1,), "", 1))
    rule = Rule("www.a.example", Edit(Form.ALIAS, "www"))
    assert learner.records[rule].state is State.TRIAL
    learner.page(Page(f"{HOST}/p/y", (99,), (1,), "", 1))
    assert any(
        one.records[0].rule == rule for one in learner.predictions("http://www.a.example/p/y", "")
    )
    assert not learner.predictions(f"{HOST}/p/y", "") or all(
        one.records[0].rule.host != "www.a.example" for one in learner.predictions(f"{HOST}/p/y", "")
    )


@contextmanager
def limits(patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as inner:
        inner.setattr(learner_module, "_MOST_RULES", 20)
        inner.setattr(learner_module, "_MOST_PAGES", 20)
        inner.setattr(learner_module, "_MOST_MET", 20)
        yield


def test_memory_is_bounded_and_nothing_is_lost_at_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    with limits(monkeypatch):
        learner = Learner()
        outcome = crawled(learner, Site(60, {"a": 0.5, "sid": 0.0}, 3), 3, 1500)
        assert outcome.lost == 0
        assert len(learner.records) <= 20


@given(
    st.lists(
        st.tuples(st.sampled_from(["/a", "/a?s=1", "/a?s=2", "/b", "/b?s=1"]), st.integers(0, 2)),
        max_size=12,
    )
)
def test_a_group_says_for_or_against_once_and_never_for_after_against(
    seen: list[tuple[str, int]],
) -> None:
    groups, said = Groups(), []
    known: dict[str, int] = {}
    for path, content in seen:
        url = HOST + path
        known.setdefault(url, content)
        read = reading_of(url)
        assert read
        said += list(groups.add(read, url, (content,)))
    by = [shift for shift in said if shift.edit == Edit(Form.PARAMETER, "s")]
    for key in ("/a", "/b"):
        mine = [shift.is_against for shift in by if shift.key.path == key]
        members = {known[url] for url in known if url.partition("?")[0] == HOST + key}
        grouped = [url for url in known if url.partition("?")[0] == HOST + key]
        has_edit = any("?" in url for url in grouped)
        assert mine in ([], [False], [True], [False, True])
        assert (True in mine) is (len(members) > 1 and has_edit)
        assert (mine != []) is (len(grouped) > 1 and has_edit)


def test_a_title_in_the_query_is_one_in_the_path() -> None:
    learner = Learner()
    for number in range(10):
        for url in (f"{HOST}/index.php/Page{number}", f"{HOST}/index.php?title=Page{number}"):
            learner.page(Page(url, (number,), (1,), "", 1))
    rule = Rule("a.example", Edit(Form.TITLE, "title"))
    assert learner.records[rule].state is State.TRIAL
    learner.page(Page(f"{HOST}/index.php/New", (99,), (1,), "", 1))
    (page,) = {one.page.url for one in learner.predictions(f"{HOST}/index.php?title=New", "")}
    assert page == f"{HOST}/index.php/New"
    assert not learner.predictions(f"{HOST}/index.php/New", "")


def gitweb(record: Callable[[int, bool], int], files: int) -> Learner:
    """Learn from *files* at a commit, each with and without the digest that names it too."""
    learner = Learner()
    for file in range(files):
        for has_digest in (False, True):
            digest = f"h={file:040x};" * has_digest
            url = f"{HOST}/gitweb?a=blob;f={file};{digest}hb=HEAD"
            learner.page(Page(url, (record(file, has_digest),), (1,), "", 1))
    return learner


def test_what_names_the_same_version_twice_may_be_left_out() -> None:
    learner = gitweb(lambda file, _: file, 10)
    states = {rule.edit: one.state for rule, one in learner.records.items() if rule.pattern == "*"}
    assert states[Edit(Form.REPEATED, "h", "hb")] is State.TRIAL
    assert not learner.predictions(f"{HOST}/gitweb?a=blob;f=1;h={1:040x}", "")


def test_what_names_another_version_after_a_hundred_pages_is_given_up() -> None:
    learner = gitweb(lambda file, has_digest: file + 1000 * (has_digest and file > 100), 110)
    assert all(record.state is not State.ACTIVE for record in learner.records.values())
    repeated = [one for rule, one in learner.records.items() if rule.edit.form is Form.REPEATED]
    assert any(record.evidence.wrongs for record in repeated)
