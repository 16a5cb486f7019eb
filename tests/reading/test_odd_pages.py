"""Short, empty and odd pages: what is dropped, what is kept, and what is lost for want of text.

The rule looks at nothing but the words a reader sees and equal bytes.  So a page without words is kept
unless all its bytes are those of another one, and pages that say the same are one page, whatever they
link to or embed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from dedup import Detector, MemoryIndex, Page
from tests.pages import edited, text

NEW, NEAR, EXACT, NOT_JUDGED = "new", "near_duplicate", "exact_duplicate", "not_judged"


def document(body: str, title: str = "Untitled") -> str:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def reasons(pages: Sequence[str]) -> list[str]:
    """Return the verdicts on *pages*, crawled one after the other at addresses of their own."""
    with Detector(MemoryIndex()) as detector:
        found = [
            detector.check(Page.from_html(page, url=f"https://site.example/{number}"))
            for number, page in enumerate(pages)
        ]
    return [verdict.reason.value for verdict in found]


NOT_FOUND = "<h1>Not found</h1><p>We looked everywhere, but the page you asked for is not on this server any more.</p>"
FERRY, MAPS, PIERS, CONSENT = (
    text(seed, words).translate(str.maketrans("0123456789", "abcdefghij"))
    for seed, words in enumerate((61, 59, 89, 76))
)
LONG = f"{FERRY} {MAPS} {PIERS}"


def first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


def login(target: str, token: str) -> str:
    return document(
        "<h1>Please sign in</h1><p>Members of the reading room can borrow two volumes a week.</p>"
        f'<form action="/login?next={target}"><input type="hidden" name="csrf" value="{token}">'
        '<label>Name <input name="name"></label><label>Password <input type="password"></label>'
        "<button>Sign in</button></form>",
        f"Sign in to see {target}",
    )


def with_banner(article: str, tag: str = "div") -> str:
    return document(f"<{tag} class='consent'>{CONSENT}</{tag}><p>{article}</p>")


SITE = (
    '<header><a href="/">The reading room</a></header><nav>'
    + "".join(f'<a href="/{number}">Shelf {number}</a> | ' for number in range(200))
    + "</nav>"
)
IMPRINT = f"<div class='imprint'>{first_words(PIERS, 30)}</div>"


def on_site(content: str, title: str = "Untitled") -> str:
    return document(f"{SITE}<main>{content}</main><footer>Open from nine to noon</footer>", title)


def misplaced(tag: str, article: str) -> str:
    """Return a page whose whole text is in an element for something else, beside 30 common words."""
    return document(f"<{tag}><a href='/'>Home</a><p>{article}</p></{tag.split(maxsplit=1)[0]}>{IMPRINT}")


def links(words: str) -> str:
    return "".join(f'<li><a href="/{word}">{word}</a></li>' for word in words.split())


def menu(words: str) -> str:
    return document(f"<nav><ul>{links(words)}</ul></nav>")


PHOTO = "<h1>Pictures of the village fair</h1>"
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
    "not found, with other titles": (
        [document(NOT_FOUND, f"Not found: /{name}") for name in ("tea", "cups", "pots")],
        [NEW, NEAR, NEAR],
    ),
    "not found, with the address in the text": (
        [document(f"{NOT_FOUND}<p>Address: /{name}</p>") for name in ("tea", "cups", "pots/iron")],
        [NEW, NEW, NEW],  # a record of few words may differ in no more
    ),
    "a login wall before many pages": (
        [login(f"/volume/{number}", f"{number * 7919:x}") for number in range(1, 5)],
        [NEW, NEAR, NEAR, NEAR],
    ),
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
            menu("tea coffee cocoa milk water juice cider beer wine"),
            menu("spades rakes hoes forks shears saws hammers files chisels"),
            menu("wine beer cider juice water milk cocoa coffee tea"),
            menu("tea coffee cocoa milk water juice cider beer wine") + "<!-- cached -->",
        ],
        [NEW, NEW, NEW, NEAR],
    ),
    **{
        f"pictures that say a long text, on pages of {len(frame.split())} words": (
            [
                document(f"<p>{frame}</p><img src='{n}.png' title='{first_words(words, 30)}'>")
                for n, words in enumerate((FERRY, MAPS, PIERS, FERRY))
            ],
            [NEW, NEW, NEW, NEAR],
        )
        for frame in (first_words(CONSENT, 50), f"{CONSENT} {CONSENT}")
    },
}

# Pages of their own that are dropped today, since what tells them apart is little or no text.
LOST: dict[str, tuple[list[str], list[str]]] = {
    "pictures under one caption": (
        [document(f"{PHOTO}<img src='{n}.jpg' alt='Picture {n}'>") for n in range(2)],
        [NEW, NEAR],
    ),
    # Signs count as words beside words, so these say five.
    "pictures under three words with bars between them": (
        [document(f"<p>Home | Pictures | Next</p><img src='{n}.jpg'>") for n in range(2)],
        [NEW, NEAR],
    ),
    "short texts in a wrong element beside common words": (
        [misplaced("aside", FERRY), misplaced("aside", MAPS)],
        [NEW, NEAR],
    ),
    "lists of links in a marked menu beside common words": (
        [
            document(f"<nav>{links(first)}</nav><main>{IMPRINT}</main>")
            for first in ("boat mast sail keel", "salt fish nets rope")
        ],
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
    "login in few words": lambda number: (
        f"<form action='/login?next={number}'>Sign in <button>Go</button>"
    ),
    "consent": lambda number: f"<p>{CONSENT}</p><a href='/agree?to={number}'>Agree</a>",
}


# Fewer than four words are no text: under titles of their own, such pages may be all that there is.
SPEECHLESS = {"nothing", "one word", "three words", "login in few words"}


# One that names each address is a record under a title of many, see below.
@pytest.mark.parametrize("wall", sorted(WALLS.keys() - {"the address"}))
def test_a_wall_before_many_pages_is_kept_once(wall: str) -> None:
    pages = [on_site(WALLS[wall](number), "Sign in") for number in range(20)]
    assert reasons(pages)[0] == NEW
    assert NEW not in reasons(pages)[1:]


@pytest.mark.parametrize("wall", WALLS)
def test_under_other_titles_it_is_unless_it_says_hardly_a_word(wall: str) -> None:
    pages = [on_site(WALLS[wall](number), f"Title {number}") for number in range(20)]
    assert reasons(pages) == [NEW] + [NEW if wall in SPEECHLESS else NEAR] * 19


def test_a_wall_that_names_each_address_is_kept_like_a_record() -> None:
    """Nothing tells it from the page of a record that differs from the others in one number."""
    walls = [login(f"/volume/{number}", f"{number * 7919:x}") for number in range(5)]
    assert reasons([on_site(wall, f"Title {n}") for n, wall in enumerate(walls)]) == [NEW] * 5


@pytest.mark.parametrize("words", [24, 34, 50])
def test_short_pages_in_a_long_frame_are_pages_of_their_own(words: int) -> None:
    pages = [on_site(f"<p>{text(number, words)}</p>") for number in range(20)]
    assert reasons(pages) == [NEW] * 20
    assert reasons([pages[0], on_site(f"<h2>{text(0, words)}</h2>", "Other")]) == [NEW, NEAR]


@pytest.mark.parametrize("tag", ["aside", "header", "nav", "footer", "div role=complementary"])
def test_a_text_in_a_wrong_element_is_told_from_others(tag: str) -> None:
    pages = [misplaced(tag, text(number, 300)) for number in range(5)]
    assert reasons(pages) == [NEW] * 5
    assert reasons([*pages, misplaced(tag, edited(3, 5, 300))])[-1] == NEAR


@pytest.mark.parametrize(("pages", "expected"), LOST.values(), ids=LOST)
def test_known_limits(pages: list[str], expected: list[str]) -> None:
    assert reasons(pages) == expected
