from __future__ import annotations

from dedup.plugin import shares
from dedup.plugin.shares import MIN_COPIES, Shares


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


def test_memory_is_bounded_and_the_large_ones_stay() -> None:
    found = Shares(0.5)
    swallowing(found, 100, 60, "large")
    for number in range(2 * shares.MAX_COUNTED + 10):
        found.page(f"http://{number}/")
        found.copy(f"http://{number}/", number, "")
    assert len(found._seen) <= shares.MAX_COUNTED
    assert len(found._copies) <= shares.MAX_COUNTED
    assert found.noticed()[0].copies == 60
