"""What a host answers for a page that is missing, and what is like it."""

from __future__ import annotations

import pytest

from dedup.urls.leaves import Missing
from tests.pages import text

SORRY = "Sorry, this page could not be found. It may have moved, or it was never here. Search for it"
SITE = "http://a.example"


def probed(answer: str = SORRY) -> Missing:
    missing = Missing()
    missing.learn(missing.probe_for(f"{SITE}/x/y"), answer)
    return missing


def test_a_host_is_probed_once_at_an_address_of_its_own() -> None:
    missing = Missing()
    first = missing.probe_for(f"{SITE}/x/y")
    assert first.startswith(f"{SITE}/there-is-no-such-page-")
    assert missing.probe_for(f"{SITE}/z") == ""
    other = missing.probe_for("http://b.example/")
    assert other.rpartition("-")[2] != first.rpartition("-")[2]


@pytest.mark.parametrize(
    ("page", "is_like"),
    [
        (SORRY, True),
        (SORRY.replace("this page", "/missing/thing.html"), True),
        (text(1), False),
        (f"{text(1)} {SORRY}", False),
        ("", False),
    ],
)
def test_what_is_like_the_answer(page: str, *, is_like: bool) -> None:
    assert probed().is_like(f"{SITE}/missing/thing.html", page) is is_like
    assert not probed().is_like("http://b.example/x", page)


@pytest.mark.parametrize(("path", "is_like"), [("/", False), ("", False), ("/x", True), ("/?p=7", True)])
def test_a_home_page_is_there_though_it_is_the_answer(path: str, *, is_like: bool) -> None:
    assert probed().is_like(f"{SITE}{path}", SORRY) is is_like


def test_an_answer_of_few_words_says_nothing() -> None:
    assert not probed("not found").is_like(f"{SITE}/x", "not found")
    assert not Missing().is_like(f"{SITE}/x", SORRY)


def test_hosts_are_bounded() -> None:
    missing = Missing()
    found = [missing.probe_for(f"http://h{number}.example/") for number in range(2_100)]
    assert len([one for one in found if one]) == 2_000
