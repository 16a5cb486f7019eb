"""States: a function of what all runs saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dedup.urls.evidence import Evidence, RuleStanding, State, Tally, Wrong, evidence_of, state_of

WRONGS = st.builds(
    Wrong,
    st.integers(0, 5),
    st.sampled_from(["/a", "/b"]),
    st.just("u"),
    st.just("v"),
    st.just("w"),
    st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.just("group"), st.integers(0, 20), st.integers(0, 20)),
    st.tuples(st.just("right"), st.integers(0, 15)),
    st.tuples(st.just("wrong"), WRONGS),
)


def tally(steps: list[Any]) -> Tally:
    found = Tally()
    for what, *rest in steps:
        if what == "group":
            found = found.with_group(rest[0], rest[1], ("u", "v"))
        elif what == "right":
            found = found.with_right(rest[0])
        else:
            found = found.with_wrong(rest[0])
    return found


TALLIES = st.lists(STEPS, max_size=60).map(tally)


@given(st.lists(TALLIES, max_size=4))
def test_what_acts_was_proven(tallies: list[Tally]) -> None:
    evidence = evidence_of(tallies)
    state = state_of(evidence)
    early = any(wrong.is_final for wrong in evidence.wrongs)
    if state is State.ACTIVE:
        assert evidence.right_since >= 30
        assert evidence.right_pages >= 10
        assert len(evidence.wrongs) < 2
        assert not early
    if early:
        assert state is State.REFUTED
    elif len(evidence.wrongs) > 1:
        assert state is State.RETIRED


@given(st.lists(TALLIES, max_size=3), TALLIES)
def test_a_run_that_says_nothing_changes_nothing(tallies: list[Tally], last: Tally) -> None:
    assert evidence_of([*tallies, Tally(), last]) == evidence_of([*tallies, last])


@given(st.lists(TALLIES, max_size=3), WRONGS)
def test_a_counterexample_ends_acting_whatever_was_before(tallies: list[Tally], wrong: Wrong) -> None:
    new = replace(wrong, group=99)
    assert state_of(evidence_of([*tallies, Tally().with_wrong(new)])) is not State.ACTIVE


def test_groups_of_one_canonical_are_no_evidence() -> None:
    assert state_of(Evidence(groups=50, canonicals=1)) is State.SEEN
    assert state_of(Evidence(groups=3, canonicals=3)) is State.CANDIDATE
    assert state_of(Evidence(groups=10, canonicals=9)) is State.CANDIDATE
    assert state_of(Evidence(groups=10, canonicals=10)) is State.TRIAL


def test_what_persons_say_and_imports() -> None:
    assert state_of(Evidence(), RuleStanding.PINNED) is State.ACTIVE
    assert state_of(Evidence(), RuleStanding.OFF) is State.OFF
    proven = Evidence(10, 10, 10, 10)
    assert state_of(proven) is State.TRIAL
    assert state_of(proven, is_known=True) is State.ACTIVE
    assert state_of(replace(proven, is_declared=True)) is State.ACTIVE
    assert state_of(replace(proven, right_pages=9, right_since=90)) is State.TRIAL
