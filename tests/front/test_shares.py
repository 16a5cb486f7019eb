from __future__ import annotations

import pytest

from dedup.front import shares
from dedup.front.shares import MIN_COPIES, Shares, doubtful
from dedup.values.verdict import Reason, Verdict


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count few hosts."""
    monkeypatch.setattr(shares, "MAX_COUNTED", 300)


def swallowing(found: Shares, pages: int, copies: int, host: str = "a") -> list[int]:
    """Show pages and copies of page 7, and return after how many copies there was a notice."""
    noticed = []
    for number in range(pages):
        found.page(f"http://{host}/{number}")
        if number < copies and found.copy(f"http://{host}/{number}", 7, "http://a/7"):
            noticed.append(number + 1)
    return noticed


def test_a_page_that_swallows_a_site_is_noticed_once() -> None:
    found = Shares(0.5)
    assert swallowing(found, 100, 60) == [MIN_COPIES]
    (notice,) = found.noticed()
    assert (notice.host, notice.canonical_url, notice.copies, notice.seen) == (
        "a",
        "http://a/7",
        60,
        100,
    )
    assert notice.share == 0.6


def test_few_copies_or_a_small_share_are_not_noticed() -> None:
    assert swallowing(Shares(0.5), MIN_COPIES - 1, MIN_COPIES - 1) == []
    assert swallowing(Shares(1), 100, 100) == []
    found = Shares(0.2)
    for number in range(400):
        found.page(f"http://a/{number}")
    assert [found.copy("http://a/", 7, "http://a/7") for _ in range(80)] == [None] * 80
    assert found.copy("http://a/", 7, "http://a/7")


def test_hosts_are_counted_apart_and_odd_urls_are_no_trouble() -> None:
    found = Shares(0.5)
    swallowing(found, 10, 10, "a")
    swallowing(found, 10, 10, "b")
    for url in ("", "http://[", "no url"):
        found.page(url)
        found.copy(url, 7, "")
    assert found.noticed() == []


def test_a_host_is_named_without_user_password_and_port() -> None:
    found = Shares(0.5)
    for number in range(MIN_COPIES):
        url = f"http://me:secret@A.example:{8000 + number}/"
        found.page(url)
        found.copy(url, 7, "http://a.example/7")
    assert [(notice.host, notice.copies) for notice in found.noticed()] == [("a.example", MIN_COPIES)]


def test_memory_is_bounded_and_the_large_ones_stay() -> None:
    found = Shares(0.5)
    swallowing(found, 100, 60, "large")
    for number in range(2 * shares.MAX_COUNTED + 10):
        found.page(f"http://{number}/")
        found.copy(f"http://{number}/", number, "")
    assert len(found._hosts) <= shares.MAX_COUNTED
    assert sum(len(host.copies) for host in found._hosts.values()) <= shares.MAX_COUNTED
    assert [(one.copies, one.seen) for one in found.noticed()] == [(60, 100)]


def test_pages_of_one_host_are_bounded_too() -> None:
    found = Shares(0.001)
    for number in range(shares.MAX_COUNTED + 10):
        found.page("http://a/")
        found.copy("http://a/", number % (shares.MAX_COUNTED + 5), "")
        found.copy("http://a/", 3, "http://a/3")
    assert len(found._hosts["a"].copies) <= shares.MAX_COUNTED
    assert found.noticed()[0].copies == shares.MAX_COUNTED + 12


def test_many_hosts_that_are_swallowed_are_noticed_as_long_as_they_say_something(
    few: None,
) -> None:
    found = Shares(0.5)
    for number in range(shares.MAX_COUNTED + 50):
        swallowing(found, MIN_COPIES, MIN_COPIES, str(number))
    noticed = found.noticed()
    assert len(noticed) == shares.MAX_NOTICED
    assert {(one.copies, one.seen) for one in noticed} == {(MIN_COPIES, MIN_COPIES)}


def test_a_host_that_was_let_go_is_not_all_copies(few: None) -> None:
    found = Shares(0.5)
    swallowing(found, 90, 15, "small")
    for number in range(2 * shares.MAX_COUNTED):
        for _ in range(91 if number < shares.MAX_COUNTED // 2 else 1):
            found.page(f"http://{number}/")
    assert swallowing(found, 6, 6, "small") == []
    assert found.noticed() == []


@pytest.mark.parametrize(
    ("similarity", "lost", "missing", "wanted"),
    [
        (0.7, 15, None, False),
        (0.99, 16, None, True),
        (0.7, 200, 3, False),  # the rest stands on other pages
        (None, None, None, False),
    ],
)
def test_a_copy_is_doubtful_that_may_have_a_text_of_its_own(
    similarity: float | None, lost: int | None, missing: int | None, wanted: bool
) -> None:
    verdict = Verdict(Reason.NEAR_DUPLICATE, False, similarity=similarity, lost=lost, missing=missing)
    assert doubtful(verdict) is wanted
