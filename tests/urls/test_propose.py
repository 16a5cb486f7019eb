"""What a crawl proposes."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dedup.urls.rule import CROWD, GROUPS, Rule, UrlVisit, contradicted, propose

SITE = "http://a.example"
Pages = dict[str, tuple[str | None, Iterable[str]]]


def proposed(pages: Pages, ask: Callable[[list[UrlVisit]], Any] = propose) -> Any:
    """Return what is proposed, or what else is to *ask*, of pages, path -> what it shows, where it leads."""
    shown, visits = list(dict.fromkeys(shows for shows, _ in pages.values())), []
    for at, (shows, led) in pages.items():
        place = None if shows is None else (shown.index(shows),)
        visits.append(UrlVisit(SITE + at, place, [SITE + path for path in led]))
    return ask(visits)


def rules(pages: Pages) -> set[tuple[str, str]]:
    return {one.rule[1:] for one in proposed(pages)}


def site(kinds: Iterable[str], number: int = 5) -> Pages:
    """Return pages, each at several addresses, all of them linked from the first."""
    pages: Pages = {
        kind.format(page): (f"page {page}", ())
        for kind in kinds
        for page in ("11a", "22b", "33c", "44d", "55e")[:number]
    }
    return {"/": ("home", tuple(pages)), **pages}


@pytest.mark.parametrize(
    ("kinds", "rule"),
    [
        (("/p/{}", "/p/{}?sid=1"), ("?sid", "*")),
        (("/p/{}?sid=1", "/p/{}?sid=2"), ("?sid", "*")),
        (("/p/{}", "/p/{};sid=7"), (";sid", "*")),
        (("/p/{}/", "/p/{}/index.html"), ("index.html", "*")),
        (("/p/{}", "/p/{}/"), ("/", "*")),
        (("/p/{}", "/p/{}/print"), ("/print", "*")),
        (("/p/{}", "/amp/p/{}"), ("/amp", "*")),
        (("/noticia/{}/one-name", "/noticia/{}/other-name"), ("/noticia/{id}/*", "*")),
    ],
)
def test_forms(kinds: tuple[str, ...], rule: tuple[str, str]) -> None:
    (one,) = proposed(site(kinds))
    assert one.rule[1:] == rule
    assert (one.rule.host, one.groups, one.pages, len(one.examples)) == ("a.example", 5, 5, 2)
    assert rules(site(kinds, GROUPS - 1)) == set()


@pytest.mark.parametrize(
    ("at", "shows", "left"),
    [("/q", "other", {("?sid", "/p/*")}), ("/p/x", "other", set()), ("/p/x", None, set())],
)
def test_one_page_against_it_or_unknown_makes_a_rule_narrower_or_none(
    at: str, shows: str | None, left: set[tuple[str, str]]
) -> None:
    pages = site(("/p/{}", "/p/{}?sid=1"))
    assert proposed(pages, contradicted) is None
    pages |= {at: ("q", ()), f"{at}?sid=1": (shows, ())}
    against = 5, Rule("a.example", "?sid"), SITE + at, f"{SITE}{at}?sid=1"
    assert (rules(pages), proposed(pages, contradicted)) == (left, against)


def test_one_page_at_all_addresses_says_nothing_unless_they_are_many() -> None:
    few: Pages = {f"/p{page}?next={page}": ("login", ()) for page in range(9)}
    few |= {f"/p{page}": ("login", ()) for page in range(9)}
    assert rules({"/": ("home", tuple(few)), **few}) == set()
    many: Pages = {f"/login?next={page}": ("login", ()) for page in range(CROWD)}
    assert rules({"/": ("home", tuple(many)), **many}) == {("?next", "/login")}


@pytest.mark.parametrize("more", [True, False])
def test_a_proposal_tells_whether_words_are_lost(more: bool) -> None:
    shows = [(0,), *((page,) for page in range(5) for _ in range(2))]
    urls = [SITE, *(f"{SITE}/{page}{end}" for page in range(5) for end in ("", "?sid=1"))]
    found = zip(urls, shows, strict=True)
    visits = [UrlVisit(url, shown, urls, more and url == urls[8]) for url, shown in found]
    assert [one.loses for one in propose(visits)] == [more]


def test_copies_that_lead_where_nothing_else_leads_are_no_copies() -> None:
    pages = site(("/p/{}", "/p/{}?sid=1"))
    hidden: Pages = {"/p/22b?sid=1": ("page 22b", ("/hidden",)), "/hidden": ("hidden", ())}
    assert rules(pages | hidden) == set()
    # Nor those that lead to a page by way of others which lead back.
    around: Pages = {**hidden, "/hidden": ("hidden", ("/more",)), "/more": ("more", ("/hidden",))}
    assert rules(pages | around) == set()
    # Where something else leads there, it does not matter.
    assert rules(pages | hidden | {"/": ("home", (*pages["/"][1], "/hidden"))}) == {("?sid", "*")}
    # Nor where all of them do.
    assert rules(pages | hidden | {"/p/22b": ("page 22b", ("/hidden",))}) == {("?sid", "*")}


def test_the_other_rules_stay_where_one_would_lose_a_page() -> None:
    pages = site(("/p/{}", "/p/{}?sid=1", "/p/{}/"))
    pages |= {"/p/22b?sid=1": ("page 22b", ("/hidden",)), "/hidden": ("hidden", ())}
    assert rules(pages) == {("/", "*")}


def test_the_addresses_of_a_page_may_link_to_each_other() -> None:
    pages = site(("/p/{}", "/p/{}?sid=1"))
    pages |= {path: (shows, ("/p/22b?sid=1", "/p/33c")) for path, (shows, _) in pages.items()}
    pages["/"] = ("home", ("/p/11a", "/p/44d?sid=1", "/p/44d", "/p/55e?sid=1", "/p/55e"))
    assert rules(pages | {"/p/11a": ("page 11a", ("/p/11a?sid=1", "/p/22b", "/p/33c?sid=1"))}) != set()


def test_nothing_is_proposed_from_nothing_and_no_version() -> None:
    assert propose([]) == []
    assert rules(site(("/p/{}", "/p/{}?oldid=1"))) == set()
    assert Rule("a.example", "?sid").words == "the parameter ?sid does not matter"
