"""The benchmark of rules for URLs: what they can save at best."""

from __future__ import annotations

from benchmarks.rules.__main__ import Crawled, lost
from benchmarks.rules.savings import Savings

HOST = "http://a.example"
ALIKE = {f"{HOST}/{number}{end}": b"%d" % number for number in range(12) for end in ("", "?sid=1")}


def test_what_a_form_maps_and_what_a_right_rule_saves() -> None:
    texts = ALIKE | {
        f"{HOST}/": b"home",
        f"{HOST}/?page=1": b"home",  # one group is not enough for a rule
        f"{HOST}/login?from=1": b"login",  # kept nowhere
        f"{HOST}/login?from=2": b"login",
        f"{HOST}/other": b"home",  # no form maps it
    }
    savings = Savings(texts, {*ALIKE.values(), b"home"})
    assert savings.exact_copies == 15
    assert savings.by_a_form == 14
    assert savings.of_a_kept_page == 13
    assert savings.by_a_right_rule == 12


def test_a_rule_that_two_kept_pages_contradict_is_not_right() -> None:
    texts = ALIKE | {f"{HOST}/12": b"x", f"{HOST}/12?sid=1": b"y"}
    savings = Savings(texts, set(texts.values()))
    assert (savings.of_a_kept_page, savings.by_a_right_rule) == (12, 0)


def test_one_page_with_many_addresses_has_a_rule_for_its_path() -> None:
    texts = {f"{HOST}/login?from={number}": b"login" for number in range(130)}
    assert Savings(texts, {b"login"}).by_a_right_rule == 129
    texts[f"{HOST}/login?from=x"] = b"another"
    assert Savings(texts, set(texts.values())).by_a_right_rule == 0


def test_a_rule_may_be_right_for_one_kind_of_page() -> None:
    texts: dict[str, bytes] = {}
    for number in range(12):
        tree = f"{HOST}/x.php?do=tree&f={number}"
        texts |= {tree: b"t%d" % number, f"{tree}&id=1": b"t%d" % number}
        texts[f"{HOST}/x.php?do=show&id={number}"] = b"s%d" % number
    assert Savings(texts, set(texts.values())).by_a_right_rule == 12


def test_lost_is_what_was_not_fetched_and_stands_nowhere_else() -> None:
    texts = {f"{HOST}/{name}": name.encode() for name in ("a", "aged", "held", "gone", "moved")}
    truth = Crawled(5, texts, frozenset(), frozenset(texts.values()), {})
    shown = {f"{HOST}/a": b"a", f"{HOST}/aged": b"3 minutes old", f"{HOST}/other": b"moved"}
    run = Crawled(3, shown, frozenset({f"{HOST}/held"}), frozenset(shown.values()), {})
    assert lost(truth, run) == (2, 1)
