"""Sites drawn at random, crawled by rules without a crawler: no text is lost, and copies are saved."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dedup import SQLiteIndex
from dedup.index.notes import UrlRules
from dedup.urls.rule import Counterexample, Obeyed, Rule, UrlVisit, propose

pytestmark = pytest.mark.nightly  # what is slow here says once more, in larger crawls, what others say

HOST = "http://a.example"
AT_A_TIME = 4
Site = dict[str, tuple[str, tuple[str, ...]]]
"""What each path shows (the same name is the same text), and where it leads."""


def extended(url: str, piece: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{piece}"


def drawn(seed: int) -> Site:
    """Return pages of three sections, copies of them that rules can save, and traps, linked on page 1."""
    chance = random.Random(f"site {seed}")
    words = [f"{one}{other}" for one in "abcdefghij" for other in "klmn"]
    sections = [
        [f"/wiki/{word}-page" for word in words],
        [f"/shop/item?id={number}" for number in range(40)],
        [f"/index.php?do=people&page={word}" for word in words],
    ]
    pages: Site = {}
    for section in sections:
        for url, after in zip(section, [*section[1:], section[0]], strict=True):
            pages[url] = (url, (section[0], after))

    def some() -> list[tuple[int, str]]:
        return list(enumerate(chance.sample(chance.choice(sections), 26)))

    names = ["ref", "sid", "from", "highlight", "lang", "sort"]
    chance.shuffle(names)
    for name in names[:2]:
        for _, url in some():
            pages[extended(url, f"{name}={chance.randrange(10_000)}")] = pages[url]
    for end in chance.sample(("/", "/print", ";jsessionid=1"), 2):
        for _, url in some():
            path, sign, query = url.partition("?")
            pages[f"{path}{end}{sign}{query}"] = pages[url]
    hidden = set_traps(pages, some, *names[2:])
    return {"/": ("home", tuple(pages)), **pages, **hidden}


def set_traps(pages: Site, some: Callable[[], list[tuple[int, str]]], *names: str) -> Site:
    """Add pages that are no copies; return what only some of them lead to."""
    valued, elsewhere, rarely, hides = names
    # A parameter of which one value does not matter; one that tells pages apart elsewhere, or of
    # some pages; one that leads where nothing else leads; and what shows one page at many addresses.
    for number, url in some():
        pages[extended(url, f"{valued}=0")] = pages[url]
        pages[extended(url, f"{valued}={number}0")] = (f"{url} from {number}0 on", ())
    for number, url in some():
        pages[extended(url, f"{elsewhere}={number}")] = pages[url]
        pages[f"/offer/show?{elsewhere}={number % 7}"] = (f"offer {number % 7}", ())
    for number, url in some():
        other = (f"{url} again", ())
        pages[extended(url, f"{rarely}=1")] = other if number % 9 == 4 else pages[url]
    hidden: Site = {f"/hidden/{number}": (f"hidden {number}", ()) for number in range(26)}
    for number, url in some():
        pages[extended(url, f"{hides}=1")] = (pages[url][0], (f"/hidden/{number}",))
    for number in range(112):
        shows = f"entry {number}" if number > 99 else "under maintenance"
        pages[f"/archive/show?entry={number}"] = (shows, ())
    return hidden


class Walk:
    """A crawl of *site* by rules that are *obeyed*; *step* changes the order of its requests."""

    def __init__(self, site: Site, obeyed: Obeyed, step: int = 0) -> None:
        self.site, self.obeyed = site, obeyed
        self.shown: dict[str, str] = {}
        self.wrong: list[Counterexample] = []
        self.requests = 0
        self.visits: list[UrlVisit] = []
        self._known: set[str] = set()
        self._todo: deque[str] = deque()
        self._held: dict[str, frozenset[Rule]] = {}
        self._made: set[str] = set()
        self._contents: dict[str, int] = {}
        self._found([HOST + "/"])
        while self._todo:
            urls = []  # some are under way when the first comes back
            for _ in range(min(AT_A_TIME, len(self._todo))):
                self._todo.rotate(step)
                urls.append(self._todo.popleft())
            for url in [one for one in urls if not self._withholds(one)]:
                self._fetch(url)

    def _found(self, urls: Iterable[str]) -> None:
        for url in urls:
            if url not in self._known:
                self._known.add(url)
                self._todo.append(url)

    def _withholds(self, url: str) -> bool:
        page = None if url in self._made else self.obeyed.page_for(url, "")
        if page:
            self._held[url] = page.rules
        return page is not None

    def _fetch(self, url: str) -> None:
        self.requests += 1
        shown, paths = self.site[url.removeprefix(HOST)]
        first = self.shown.setdefault(shown, url)
        shows = (self._contents.setdefault(shown, len(self._contents)),)
        links = [HOST + path for path in paths]
        self.visits.append(UrlVisit(url, shows, links))
        self._found(links)
        normal = self.obeyed.rules.normal
        stands = first == url or normal(first)[0] == normal(url)[0]
        self.wrong += self.obeyed.learn([url], "", shows, links, counts=stands)
        for held, rules in list(self._held.items()):
            if not rules <= self.obeyed.rules.all:
                del self._held[held]
                self._made.add(held)
                self._todo.append(held)


@pytest.mark.parametrize(
    "seed", [0, 7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 28))]
)
def test_rules_save_copies_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    """Rules are used that two crawls in a row have proposed."""
    site = drawn(seed)
    truth = Walk(site, Obeyed())
    with SQLiteIndex(tmp_path / "pages.db") as index:
        book = UrlRules(index.store)
        for run in range(1, 5):
            accepted = {one.rule: one for one in book.accepted("site")}
            rules = accepted.keys() - book.wrong().keys()
            walk = Walk(site, Obeyed(rules, run), 13 * run)
            assert walk.shown.keys() == truth.shown.keys()
            book.note_wrong(run, walk.wrong)
            proposed = {one.rule: one for one in propose(walk.visits)}
            proposed |= {rule: accepted[rule] for rule in walk.obeyed.rules.all}
            book.propose(run, "site", proposed.values())
    assert len(rules) >= 3
    assert truth.requests - walk.requests >= 30


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_that_is_not_true_any_more_loses_nothing(seed: int) -> None:
    chance = random.Random(seed)  # a parameter meant nothing, and now does on a third of the pages
    site: Site = {f"/p{number}": (f"page {number}", ()) for number in range(150)}
    for number in range(150):
        other = " other" if chance.random() < 0.34 else ""
        site[f"/p{number}?sid={number}"] = (f"page {number}{other}", ())
    site["/"] = ("home", tuple(site))
    walk = Walk(site, Obeyed([Rule("a.example", "?sid")], seed))
    assert {shows for shows, _ in site.values()} == walk.shown.keys()
    assert walk.wrong
    assert not walk.obeyed.rules.all
