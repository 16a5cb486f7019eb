"""Every sequence of addresses ends; what brings something new goes on, and parts with an end are complete."""

import pickle
from collections.abc import Callable, Iterable
from functools import partial
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.prints.fingerprinter import sample_of
from dedup.urls import budget
from dedup.urls.budget import FIRST_LOOKS, HOST_SHARE, NEWS, Budgets, Leaves, Link, News
from tests.support.budget import examples
from tests.support.pages import text

HOST = "a.example"
SITE = f"http://{HOST}"

segments = st.sampled_from(["a", "b", "shop", "1", "22", "8f2c", "x.html", "q w", "é", "", "*", "a;b=1"])
names = st.sampled_from(["sid", "sort", "p1", "", "a=b", "ü"])
queries = st.lists(names, max_size=3).map(lambda found: "?" * bool(found) + "=1&".join(found))
paths = st.builds("/{}{}".format, st.lists(segments, max_size=6).map("/".join), queries)


def word(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


def limit(met: int) -> float:
    return FIRST_LOOKS + budget.LOOKS_PER_DOUBLING * log2(1 + met)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(paths, st.integers(0, 9)), min_size=1, max_size=60), st.integers(1, 30))
def test_looks_are_bounded_by_news_and_the_logarithm(pages: list[tuple[str, int]], times: int) -> None:
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
    assert found[0] <= limit(100) + budget.LOOKS_OF_A_KIND
    assert found[1] <= limit(10_000) + budget.LOOKS_OF_A_KIND


def test_patterns_together_are_bounded_by_the_host() -> None:
    a = [chr(97 + n) for n in range(26)]
    urls = [f"{SITE}/{a[n % 26]}{a[n // 26 % 26]}/{a[n // 676]}" for n in range(10_000)]
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
    budgets, urls = Budgets(), [f"{SITE}/calendar/{number}" for number in range(100)]
    looked_at(budgets, urls)
    name = budgets.ask(urls[-1], is_met=True)
    assert name == "a.example/calendar/#"
    filled = budgets.credit(urls[0])
    assert filled[name] == int(limit(100))
    assert looked_at(budgets, urls) >= filled[name]


def test_patterns_and_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = Budgets()
    for number in range(5_000):
        name = word(number)
        budgets.ask(f"{SITE}/{name}/{name}?{name}=1")
        budgets.credit(f"{SITE}/{name}/{name}/x")
    assert sum(map(len, budgets._hosts.values())) <= budget.MAX_PATTERNS
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
    again = pickle.loads(pickle.dumps(budgets))
    assert [again.ask(SITE + path) for path in after] == [budgets.ask(SITE + path) for path in after]


@given(st.text())
def test_any_address_has_patterns(some: str) -> None:
    for url in (some, SITE + "/" + some, f"{SITE}?{some}"):
        patterns, kind = budget.patterns_of_url(url)
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
    assert budget.patterns_of_url(SITE + one) == budget.patterns_of_url(SITE + other)


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
    assert budget.beyond(SITE + path, depth) == excess


def test_patterns_are_chosen_by_their_names_or_as_a_shell_does() -> None:
    chosen = "*/x/*", "a.example/y/#"
    found = [budget.is_chosen(f"{SITE}/{path}", "", chosen) for path in ("x/1", "y/1", "z")]
    assert found == [True, True, False]


def crawled(
    names: Callable[[str], Iterable[str]],
    looks: int = FIRST_LOOKS,
    most: int = 20_000,
    new: str = "?new",
) -> int:
    """Return how many pages are visited of a site where, after so many *looks*, few have any *new*."""
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
            found = pickle.loads(pickle.dumps(found))
    return visited


def lists(path: str, *, start: str, page: str) -> list[str]:
    """Return the links of a site of lists with thirty pages each; *start* and *page* are their addresses."""
    starts = [start.format(word(one)) for one in range(5)]
    if path not in starts:
        return starts * (path == "/")
    return [page.format(word(100 + starts.index(path) * 30 + place)) for place in range(30)]


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
    if path.startswith("/product/"):
        return [path.replace("/product/", "/cart?add=")]
    return lists(path, start="/list/{}.html", page="/product/{}.html")


@pytest.mark.parametrize(
    ("names", "new", "visited"),
    [(homing, "/list-", 157), (paged, "?new", 311), (with_leaves, "?new", 306)],
)
def test_what_whole_pages_name_is_met(names: Callable[[str], list[str]], new: str, visited: int) -> None:
    assert crawled(names, new=new) == visited


def last(path: str) -> int:
    digits = path.removesuffix(".html").rpartition("-" if "-" in path else "/")[2]
    return int(digits) if digits.isdecimal() else 0


def items(path: str) -> list[str]:
    """The home page names many, which name others."""
    more = (last(path) + 10_000, last(path) + 20_000)
    return [f"/item/{one}" for one in (range(1, 5_001) if path == "/" else more)]


def months(path: str) -> list[str]:
    """Months name their days, which name nothing, and the next month."""
    days = [f"/day/{last(path) * 28 + one}" for one in range(28 * (path != "/"))]
    return [] if path.startswith("/day/") else [f"/month/{last(path) + 1}", *days]


@pytest.mark.parametrize(
    ("names", "most"),
    [
        # Each page names the next one, or two.
        (lambda path: [f"/months/{last(path) + 1}"], FIRST_LOOKS),
        (lambda path: [f"/live/{2 * last(path) + 1}", f"/live/{2 * last(path) + 2}"], FIRST_LOOKS),
        (items, FIRST_LOOKS),
        # One names the next of two parts.
        (lambda path: [f"/{'b' if path.startswith('/a/') else 'a'}/{last(path) + 1}"], 2 * FIRST_LOOKS),
        (months, 2 * FIRST_LOOKS),
    ],
)
def test_what_names_new_ones_for_ever_is_not_met(names: Callable[[str], list[str]], most: int) -> None:
    assert crawled(names) <= 1 + most


def test_a_host_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [f"/item/{one}" for one in range(900)]
    assert budget.MOST_LEAVES < 10_000
    monkeypatch.setattr(budget, "MOST_LEAVES", 40)
    assert crawled(lambda path: items if path == "/" else []) == 1 + FIRST_LOOKS + 40


def test_an_address_of_unknown_origin_counts_against_its_part() -> None:
    found = Leaves()
    for number in range(FIRST_LOOKS):
        found.named(Link(f"{SITE}/item/{number}", 2, f"{SITE}/item/{number}"))
        found.in_vain(f"{SITE}/item/{number}", 2)
    assert not found.chosen(lambda: [Link(f"{SITE}/item/99", 2, f"{SITE}/list/1")])


def test_the_memory_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_MOST_PARTS", 50)
    found = Leaves()
    for number in range(500):
        found.in_vain(f"{SITE}/{word(number)}/", 1)
        found.named(Link(f"{SITE}/{word(number)}/x", 2, f"{SITE}/{word(number)}/"))
    assert all(len(part) <= 50 for part in vars(found).values())


def sample(page: str) -> bytes:
    found = sample_of(alone := budget.ALONE.sub("0", page))
    assert found == fingerprint(Page.from_text(alone)).sample
    return found


def test_an_article_is_new_once_a_host_and_a_page_without_words_never() -> None:
    assert News().of(HOST, b"") == 0
    news = News()
    first, again = news.of(HOST, sample(text(1))), news.of(HOST, sample(text(1)))
    assert first >= NEWS > again == 0
    assert news.of("b.example", sample(text(1))) == first


@pytest.mark.parametrize("seed", range(5))
def test_numbers_and_names_in_a_known_frame_are_not_new(seed: int) -> None:
    news = News()
    page = "Nothing is planned for the day {0}. 3. {0}. See the month {0} or the year {0}, or call us."
    for number in range(10 * seed, 10 * seed + 3):
        news.of(HOST, sample(page.format(number)))
    assert news.of(HOST, sample(page.format(10 * seed + 9))) == 0


def test_of_a_changed_page_what_stands_beside_the_change_is_new() -> None:
    news = News()
    news.of(HOST, sample(text(1)))
    assert news.of(HOST, sample(f"{text(1)} and a few more words")) < NEWS
    assert news.of(HOST, sample(f"{text(1)} {text(2)}")) >= NEWS


def test_memory_is_bounded_and_what_was_learned_can_be_saved() -> None:
    news = News()
    size = len(pickle.dumps(news))
    for seed in range(50):
        news.of(HOST, sample(text(seed, 300)))
    assert len(pickle.dumps(news)) == size
    assert pickle.loads(pickle.dumps(news)).of(HOST, sample(text(49, 300))) == 0
