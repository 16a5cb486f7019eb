"""Parts of a site that have an end are visited to the last page; what names new addresses is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from dedup.urls import budget
from dedup.urls.budget import FIRST_LOOKS, MOST_LEAVES, Leaves, Link

SITE = "http://a.example"


def word(number: int) -> str:
    """Return a name without digits."""
    return "".join(chr(97 + int(digit)) for digit in str(number))


def crawled(
    names: Callable[[str], Iterable[str]],
    *,
    looks: int = FIRST_LOOKS,
    most: int = 20_000,
    new: str = "?new",
) -> int:
    """Return how many pages are visited of a site whose pages, but those with *new*, bring nothing new.

    After so many *looks* at a first folder, or names in a query, what is met of it is parked.
    """
    found, parked, budgets = Leaves(), [], {}  # type: ignore[var-annotated]
    todo, met, visited = [Link(f"{SITE}/", 0, "")], {f"{SITE}/"}, 0
    while todo and visited < most:
        layer, todo = todo, []
        for link in layer:
            visited += 1
            if link.depth and new not in link.url:
                found.in_vain(link.url, link.depth)
            for url in dict.fromkeys(SITE + path for path in names(link.url.removeprefix(SITE))):
                if url not in met:
                    met.add(url)
                    one = Link(url, link.depth + 1, link.url)
                    found.named(one)
                    left = budgets[one.parts[1]] = budgets.get(one.parts[1], looks) - 1
                    (parked if left < 0 else todo).append(one)
        if not todo:
            chosen = found.chosen(partial(iter, parked))
            todo = [link for link in parked if link.url in chosen]
            parked = [link for link in parked if link.url not in chosen]
            state = json.loads(json.dumps(found.state()))
            found = Leaves()
            found.restore(state)
    return visited


def lists(path: str, *, start: str, page: str, number: int = 5) -> list[str]:
    """Return the links of a site of lists with thirty pages each; *start* and *page* are their addresses."""
    if path == "/":
        return [start.format(word(one)) for one in range(number)]
    for one in range(number):
        if path == start.format(word(one)):
            return [page.format(word(100 + one * 30 + place)) for place in range(30)]
    return []


@pytest.mark.parametrize(
    ("start", "page"),
    [
        ("/list/{}.html", "/product/{}.html"),
        ("/{}.html", "/x-{}.html"),
        ("/view?list={}", "/view?product={}"),
        ("/view?id=list-{}", "/view?id={}"),
    ],
)
def test_what_complete_lists_name_is_visited(start: str, page: str) -> None:
    assert crawled(lambda path: lists(path, start=start, page=page)) == 1 + 5 + 150


def homing(path: str) -> list[str]:
    """Pages name the home page by another address."""
    if path.startswith("/product/"):
        return ["/index.html"]
    return lists(path, start="/list-{}.html", page="/product/{}.html")


def paged(path: str) -> list[str]:
    """Pages of a list name the next one, and thirty products."""
    if path.startswith("/product/"):
        return ["/"]
    number = int(path.removeprefix("/shop/page/").strip("/") or 0)
    after = [f"/shop/page/{number + 1}/"] if number < 10 else []
    return after + [f"/product/{word(number * 30 + place)}/" for place in range(30 * (number > 0))]


def with_leaves(path: str) -> list[str]:
    """Each page names a leaf."""
    if path.startswith("/product/"):
        return [path.replace("/product/", "/cart?add=")]
    return lists(path, start="/list/{}.html", page="/product/{}.html")


@pytest.mark.parametrize(
    ("names", "new", "visited"),
    [(homing, "/list-", 157), (paged, "?new", 311), (with_leaves, "?new", 306)],
)
def test_what_complete_pages_name_is_visited(
    names: Callable[[str], list[str]], new: str, visited: int
) -> None:
    assert crawled(names, new=new) == visited


def last(path: str) -> int:
    """Return the number at the end of *path*, 0 for none."""
    digits = path.removesuffix(".html").rpartition("-" if "-" in path else "/")[2]
    return int(digits) if digits.isdecimal() else 0


@pytest.mark.parametrize(
    ("names", "most"),
    [
        # Each page names the next one, or two.
        (lambda path: [f"/months/{last(path) + 1}"], FIRST_LOOKS),
        (lambda path: [f"/live/{2 * last(path) + 1}", f"/live/{2 * last(path) + 2}"], FIRST_LOOKS),
        # One names many that name others, or the next of two parts.
        (
            lambda path: (
                [f"/item/{one}" for one in range(1, 5_001)]
                if path == "/"
                else [f"/item/{last(path) + 10_000}", f"/item/{last(path) + 20_000}"]
            ),
            FIRST_LOOKS,
        ),
        (lambda path: [f"/{'b' if path.startswith('/a/') else 'a'}/{last(path) + 1}"], 2 * FIRST_LOOKS),
        # Months name their days, which name nothing.
        (
            lambda path: (
                []
                if path.startswith("/day/")
                else ["/month/1"]
                if path == "/"
                else [
                    f"/month/{last(path) + 1}",
                    *(f"/day/{last(path) * 28 + one}" for one in range(28)),
                ]
            ),
            2 * FIRST_LOOKS,
        ),
    ],
)
def test_what_names_new_addresses_without_end_is_not_visited(
    names: Callable[[str], list[str]], most: int
) -> None:
    assert crawled(names) <= 1 + most


def test_a_host_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def names(path: str) -> list[str]:
        return [f"/item/{one}" for one in range(900)] if path == "/" else []

    assert MOST_LEAVES < 10_000
    monkeypatch.setattr(budget, "MOST_LEAVES", 40)
    assert crawled(names) == 1 + FIRST_LOOKS + 40


def test_an_address_of_unknown_origin_counts_against_its_part() -> None:
    found = Leaves()
    for number in range(FIRST_LOOKS):
        found.named(Link(f"{SITE}/item/{number}", 2, f"{SITE}/item/{number}"))
        found.in_vain(f"{SITE}/item/{number}", 2)
    assert not found.chosen(lambda: [Link(f"{SITE}/item/99", 2, f"{SITE}/list/1")])


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_MOST_PARTS", 50)
    found = Leaves()
    for number in range(500):
        found.in_vain(f"{SITE}/{word(number)}/", 1)
        found.named(Link(f"{SITE}/{word(number)}/x", 2, f"{SITE}/{word(number)}/"))
    assert all(len(part) <= 50 for part in vars(found).values())
