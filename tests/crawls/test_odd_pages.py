"""Short, empty and odd pages: what is dropped, what is kept, and what is lost for want of text.

The rule looks at equal bytes and at the words that a reader sees, not at what they link to or embed.
"""

from collections.abc import Callable, Sequence

import pytest

from dedup import Detector, MemoryIndex, Page
from tests.support.pages import edited, text

NEW, NEAR, EXACT, NOT_JUDGED = "new", "near_duplicate", "exact_duplicate", "not_judged"
NOT_FOUND = "<h1>Not found</h1><p>We looked everywhere, but the page you asked for is not on this server any more.</p>"
FERRY, MAPS, PIERS, CONSENT = (
    text(seed, words).translate(str.maketrans("0123456789", "abcdefghij"))
    for seed, words in enumerate((61, 59, 89, 76))
)
LONG = f"{FERRY} {MAPS} {PIERS}"
PHOTO = "<h1>Pictures of the village fair</h1>"
IMPRINT = f"<div class='imprint'>{' '.join(PIERS.split()[:30])}</div>"
TOOLS = "spades rakes hoes forks shears saws hammers files chisels"
DRINKS = "tea coffee cocoa milk water juice cider beer wine"
SHELVES = "".join(f'<a href="/{number}">Shelf {number}</a> | ' for number in range(200))


def reasons(pages: Sequence[str]) -> list[str]:
    """Return the verdicts on *pages*, crawled one after the other at addresses of their own."""
    with Detector(MemoryIndex()) as detector:
        read = (Page.from_html(page, url=f"https://site.example/{n}") for n, page in enumerate(pages))
        return [detector.check(page).reason.value for page in read]


def document(body: str, title: str = "Untitled") -> str:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def on_site(content: str, title: str = "Untitled") -> str:
    frame = f"<header><a href='/'>The reading room</a></header><nav>{SHELVES}</nav>"
    return document(f"{frame}<main>{content}</main><footer>Open from nine to noon</footer>", title)


def login(number: int) -> str:
    return document(
        "<h1>Please sign in</h1><p>Members of the reading room can borrow two volumes a week.</p>"
        f'<form action="/login?next=/volume/{number}"><input type="hidden" value="{number * 7919:x}">'
        '<label>Name <input name="name"></label><label>Password <input type="password"></label>'
        "<button>Sign in</button></form>",
        f"Sign in to see /volume/{number}",
    )


def with_banner(article: str, tag: str = "div") -> str:
    return document(f"<{tag} class='consent'>{CONSENT}</{tag}><p>{article}</p>")


def misplaced(tag: str, article: str) -> str:
    """Return a page whose whole text is in an element for something else, beside 30 common words."""
    return document(f"<{tag}><a href='/'>Home</a><p>{article}</p></{tag.split(maxsplit=1)[0]}>{IMPRINT}")


def menu(words: str, rest: str = "") -> str:
    links = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in words.split())
    return document(f"<nav><ul>{links}</ul></nav>{rest}")


def pictures(frame: str) -> list[str]:
    """Return pages with pictures that say texts of thirty words."""
    said = (" ".join(one.split()[:30]) for one in (FERRY, MAPS, PIERS, FERRY))
    return [document(f"<p>{frame}</p><img src='{n}.png' title='{one}'>") for n, one in enumerate(said)]


# What a crawler wants: the pages, and the verdicts on them in their order.
CASES: dict[str, tuple[list[str], list[str]]] = {
    "nothing at all is not judged": (["", " \n ", ""], [NOT_JUDGED] * 3),
    "pages without words are copies only byte by byte": (
        ["<html></html>", "<html><body></body></html>", "<html></html>"],
        [NEW, NEW, EXACT],
    ),
    "one to three words say too little": (
        [document("<h1>Page not found</h1>", name) for name in ("a", "b", "a")],
        [NEW, NEW, EXACT],
    ),
    "four equal words in order are enough": (
        [document(f"<{tag}>Closed until next Monday") for tag in ("p", "h1")],
        [NEW, NEAR],
    ),
    "of four words one other makes another page": (
        [document(f"<p>Closed until next {day}") for day in ("Monday", "Friday")],
        [NEW, NEW],
    ),
    "not found, with the address in the text": (
        [document(f"{NOT_FOUND}<p>Address: /{name}</p>") for name in ("tea", "cups", "pots/iron")],
        [NEW, NEW, NEW],  # a record of few words may differ in no more
    ),
    "a login wall before many pages": ([*map(login, range(1, 5))], [NEW, NEAR, NEAR, NEAR]),
    # Nothing tells it from the page of a record that differs from the others in one number.
    "a wall that names each address": ([on_site(login(n), f"Title {n}") for n in range(5)], [NEW] * 5),
    "other articles under one cookie banner": ([with_banner(FERRY), with_banner(MAPS)], [NEW, NEW]),
    "a long article with and without a cookie banner": (
        [document(f"<p>{LONG}</p>"), with_banner(LONG)],
        [NEW, NEW],  # of the site nothing is known that would tell a banner from an article
    ),
    "an article and its copy in a marked banner": (
        [document(f"<p>{FERRY}</p>"), with_banner(FERRY, "aside"), with_banner(MAPS, "aside")],
        [NEW, NEAR, NEW],
    ),
    "menus and nothing else": (
        [
            *map(menu, (DRINKS, TOOLS, " ".join(reversed(DRINKS.split())))),
            menu(DRINKS) + "<!-- cached -->",
        ],
        [NEW, NEW, NEW, NEAR],
    ),
    "pictures that say a long text, on short pages": (
        pictures(" ".join(CONSENT.split()[:50])),
        [NEW, NEW, NEW, NEAR],
    ),
    "pictures that say a long text, on long pages": (
        pictures(f"{CONSENT} {CONSENT}"),
        [NEW, NEW, NEW, NEAR],
    ),
    # Pages of their own that are dropped today, since what tells them apart is little or no text.
    "lost: pictures under one caption": (
        [document(f"{PHOTO}<img src='{n}.jpg' alt='Picture {n}'>") for n in range(2)],
        [NEW, NEAR],
    ),
    # Signs count as words beside words, so these say five.
    "lost: pictures under three words with bars between them": (
        [document(f"<p>Home | Pictures | Next</p><img src='{n}.jpg'>") for n in range(2)],
        [NEW, NEAR],
    ),
    "lost: short texts in a wrong element beside common words": (
        [misplaced("aside", FERRY), misplaced("aside", MAPS)],
        [NEW, NEAR],
    ),
    "lost: lists of links in a marked menu beside common words": (
        [menu(first, f"<main>{IMPRINT}</main>") for first in ("boat mast sail keel", "salt fish nets")],
        [NEW, NEAR],
    ),
}


@pytest.mark.parametrize(("pages", "expected"), CASES.values(), ids=CASES)
def test_odd_pages(pages: list[str], expected: list[str]) -> None:
    assert reasons(pages) == expected


# What a site shows instead of a page, inside its frame; each at many addresses.
WALLS: dict[str, Callable[[int], str]] = {
    "nothing": lambda _: "",
    "one word": lambda _: "<h1>Forbidden</h1>",
    "three words": lambda _: "<h1>Page not found</h1>",
    "the address": lambda number: f"<h1>Page not found</h1><p>There is no /{number}.</p>",
    "a sentence": lambda _: NOT_FOUND,
    "login in few words": lambda number: f"<form action='/login?{number}'>Sign in <button>Go</button>",
    "consent": lambda number: f"<p>{CONSENT}</p><a href='/agree?to={number}'>Agree</a>",
}
# Fewer than four words are no text: under titles of their own, such pages may be all that there is.
# What names something is a record, as "Kent is a county" would be.
KEPT = {"nothing", "one word", "three words", "login in few words", "the address"}


@pytest.mark.parametrize("wall", WALLS)
def test_a_wall_before_many_pages_is_kept_once_unless_titles_say_more(wall: str) -> None:
    titled = [on_site(WALLS[wall](number), f"Title {number}") for number in range(20)]
    assert reasons(titled) == [NEW] + [NEW if wall in KEPT else NEAR] * 19
    if wall != "the address":
        first, *others = reasons([on_site(WALLS[wall](number), "Sign in") for number in range(20)])
        assert first == NEW
        assert NEW not in others


@pytest.mark.parametrize("words", [24, 34, 50])
def test_short_pages_in_a_long_frame_are_pages_of_their_own(words: int) -> None:
    pages = [on_site(f"<p>{text(number, words)}</p>") for number in range(20)]
    assert reasons(pages) == [NEW] * 20
    assert reasons([pages[0], on_site(f"<h2>{text(0, words)}</h2>", "Other")]) == [NEW, NEAR]


@pytest.mark.parametrize("tag", ["aside", "header", "nav", "footer", "div role=complementary"])
def test_a_text_in_a_wrong_element_is_told_from_others(tag: str) -> None:
    pages = [misplaced(tag, text(number, 300)) for number in range(5)]
    assert reasons([*pages, misplaced(tag, edited(3, 5, 300))]) == [*[NEW] * 5, NEAR]
