"""Budgets by pattern: every sequence of addresses ends, and what brings something new goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.urls import budget
from dedup.urls.budget import (
    FIRST_LOOKS,
    HOST_SHARE,
    LOOKS_OF_A_KIND,
    LOOKS_PER_DOUBLING,
    MAX_PATTERNS,
    Budgets,
    address_of,
    beyond,
    is_chosen,
)
from tests.budget import examples

SITE = "http://a.example"

segments = st.sampled_from(
    ["a", "b", "shop", "1", "22", "8f21c0", "x.html", "q w", "é", "", "*", "a;b=1"]
)
names = st.sampled_from(["sid", "sort", "p1", "", "a=b", "ü"])
paths = st.builds(
    lambda parts, query: (
        "/" + "/".join(parts) + ("?" + "&".join(f"{one}=1" for one in query)) * bool(query)
    ),
    st.lists(segments, max_size=6),
    st.lists(names, max_size=3),
)


def limit(met: int) -> float:
    return FIRST_LOOKS + LOOKS_PER_DOUBLING * log2(1 + met)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(paths, st.integers(0, 9)), min_size=1, max_size=60), st.integers(1, 30))
def test_looks_are_bounded_by_what_is_new_and_the_logarithm_of_all(
    pages: list[tuple[str, int]], times: int
) -> None:
    budgets = Budgets()
    looks = credits_ = 0
    asked = [(f"{SITE}{path}", is_new) for path, is_new in pages] * times
    for number, (url, chance) in enumerate(asked):
        if budgets.ask(url):
            continue
        looks += 1
        if chance == 0 and number % 7 == 0:
            budgets.credit(url)
            credits_ += 1
    # Those of patterns without news come from the host's budget, all others from one that was credited.
    most = limit(len(asked)) + 1
    assert looks <= (credits_ + 1) * HOST_SHARE * most + 2 * credits_ * most


def looked_at(budgets: Budgets, urls: list[str]) -> int:
    return sum(not budgets.ask(url) for url in urls)


@pytest.mark.parametrize(
    "made",
    [
        lambda number: f"/calendar/{2000 + number}-01.html",
        lambda number: f"/s/{chr(97 + number % 26) * (1 + number // 26)}/x.html",
        lambda number: f"/live?at={number}",
        lambda number: f"/{'a/b/' * (2 + number % 200)}x.html",
        lambda number: f"/x.html;jsessionid={number:012}",
    ],
)
def test_looks_at_a_pattern_without_news_grow_with_the_logarithm(made: Callable[[int], str]) -> None:
    found = [looked_at(Budgets(), [SITE + made(n) for n in range(most)]) for most in (100, 10_000)]
    assert found[0] <= limit(100) + LOOKS_OF_A_KIND
    assert found[1] <= limit(10_000) + LOOKS_OF_A_KIND


def test_patterns_together_are_bounded_by_the_host() -> None:
    urls = [
        f"{SITE}/{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}/{chr(97 + n // 676)}" for n in range(10_000)
    ]
    assert looked_at(Budgets(), urls) <= HOST_SHARE * limit(10_000) + 1


def test_what_is_new_is_looked_at_however_much_there_is() -> None:
    budgets = Budgets()
    for number in range(3_000):
        for url in (f"{SITE}/news/{number}.html", f"{SITE}/{number}-a-story"):
            assert not budgets.ask(url)
            budgets.credit(url)


def test_every_part_of_a_site_is_looked_at_after_a_trap() -> None:
    budgets = Budgets()
    for kind in ("sort", "colour", "size"):
        looked_at(budgets, [f"{SITE}/shop?{kind}={number}" for number in range(500)])
    looked_at(budgets, [f"{SITE}/calendar/{number}" for number in range(500)])
    assert not budgets.ask(f"{SITE}/view?product=1")
    assert not budgets.ask(f"{SITE}/news/1")


def test_a_find_fills_the_budget_and_says_how_far() -> None:
    budgets = Budgets()
    urls = [f"{SITE}/calendar/{number}" for number in range(100)]
    looked_at(budgets, urls)
    name = budgets.ask(urls[-1], is_met=True)
    assert name == "a.example/calendar/#"
    filled = budgets.credit(urls[0])
    assert filled[name] == int(limit(100))
    assert looked_at(budgets, urls) >= filled[name]


def test_patterns_and_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = Budgets()
    for number in range(5_000):
        word = "".join(chr(97 + int(digit)) for digit in str(number))
        budgets.ask(f"{SITE}/{word}/{word}?{word}=1")
        budgets.credit(f"{SITE}/{word}/{word}/x")
    assert sum(map(len, budgets._hosts.values())) <= MAX_PATTERNS
    monkeypatch.setattr(budget, "MAX_HOSTS", 10)
    asked = [budgets.ask(f"http://h{number}.example/") for number in range(1_000)]
    assert len(budgets._hosts) == 11
    assert asked.count("") < 10 + HOST_SHARE * limit(1_000)


@given(st.lists(paths, max_size=40), st.lists(paths, max_size=20))
@settings(max_examples=examples(50), deadline=None)
def test_what_was_learned_can_be_saved(before: list[str], after: list[str]) -> None:
    budgets = Budgets()
    for path in before:
        if not budgets.ask(SITE + path) and len(path) % 3 == 0:
            budgets.credit(SITE + path)
    again = Budgets()
    again.restore(json.loads(json.dumps(budgets.state())))
    assert [again.ask(SITE + path) for path in after] == [budgets.ask(SITE + path) for path in after]


@given(st.text())
def test_any_address_has_patterns(text: str) -> None:
    for url in (text, SITE + "/" + text, f"{SITE}?{text}"):
        patterns, kind = address_of(url)
        assert 2 <= len(patterns) <= 5
        assert 0 <= kind < len(patterns)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/calendar/2026-01.html", "/calendar/1999-12.html"),
        ("/s/8f21c0/x.html", "/s/a77d35/x.html"),
        ("/shop?a=1&b=2", "/shop?b=7&a=3"),
        ("/a/b/a/b/c", "/a/b/a/d"),
    ],
)
def test_addresses_of_one_pattern(one: str, other: str) -> None:
    assert address_of(SITE + one) == address_of(SITE + other)


@pytest.mark.parametrize(
    ("path", "depth", "excess"),
    [
        ("/a/b/c", 100, ""),
        ("/a/b/c", 101, "a.example/* (more than 100 links from the start)"),
        ("/a/b/a/b/a", 1, ""),
        ("/a/b/a/b/a/b/a", 1, "a.example/* (a segment more than 3 times)"),
        ("/1/1/1/1/1//////", 1, ""),
    ],
)
def test_limits(path: str, depth: int, excess: str) -> None:
    assert beyond(SITE + path, depth) == excess


def test_patterns_are_chosen_by_their_names_or_as_a_shell_does() -> None:
    chosen = [
        is_chosen(f"{SITE}/{path}", "", ("*/x/*", "a.example/y/#")) for path in ("x/1", "y/1", "z")
    ]
    assert chosen == [True, True, False]
