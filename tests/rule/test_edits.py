"""Edits of long pages are dropped early, parts of a series never: each has a text of its own."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from dedup import Detector, MemoryIndex, Page
from dedup.rule.site import COMMON_PAGES
from tests.rule.test_records import FRAME, words

LONG = pytest.param(150, marks=pytest.mark.slow)
TEXT, TEXTS = "Text {}", 100


def document(title: str, content: str, url: str) -> Page:
    return Page.from_html(f"<title>{title}</title><p>{FRAME[0]} {content} {FRAME[1]}", url=url)


def kept_among(others: Iterable[tuple[str, str]], pages: Iterable[tuple[str, str]]) -> list[bool]:
    """Return whether each of *pages*, titles and texts, is kept after *others* of one site."""
    with Detector(MemoryIndex()) as detector:
        found = [
            [
                detector.check(document(title, content, f"http://a.example/{path}/{number}")).kept
                for number, (title, content) in enumerate(each)
            ]
            for path, each in (("others", others), ("pages", pages))
        ]
    return found[1]


def texts(rng: Random, number: int = TEXTS, size: int = 60) -> Iterable[tuple[str, str]]:
    """Yield so many pages with words and titles of their own."""
    return ((TEXT.format(each), words(rng, size)) for each in range(number))


@pytest.mark.parametrize("known", [20, 60, LONG])
@pytest.mark.parametrize("title", [TEXT, ""])
def test_edits_of_long_pages_are_dropped_from_page_20_on(known: int, title: str) -> None:
    rng = Random(known)
    pages = [(title.format(number), words(rng, 480)) for number in range(known)]

    def edited(content: str) -> str:
        found, place = content.split(), rng.randrange(40, 400)
        found[place : place + 25] = words(rng, 25).split()
        return " ".join(found)

    assert sum(kept_among(pages, ((name, edited(content)) for name, content in pages[:20]))) <= 2


def test_nothing_is_known_of_a_site_of_few_pages() -> None:
    rng = Random(1)
    pages = [("Texts", words(rng, 480)) for _ in range(COMMON_PAGES - 1)]
    assert kept_among(pages, [("Texts", f"{pages[-1][1].rsplit(' ', 25)[0]} {words(rng, 25)}")]) == [
        True
    ]


@pytest.mark.parametrize("title", ["Part {}", "Series", ""])
@pytest.mark.parametrize("others", [0, 30, LONG])
def test_parts_of_a_series_are_kept(title: str, others: int) -> None:
    rng, shared = Random(others), words(Random(4), 440)
    parts = ((title.format(number), f"{shared} {words(rng, 30)}") for number in range(60))
    # Until five are kept, three edits of each.
    assert sum(kept_among(texts(rng, others, 300), parts)) >= 60 - 3 * 4


@pytest.mark.parametrize(
    ("titles", "kept"),
    [
        ("{} Class Reference", [True, True, True, True]),
        # Under one title nothing tells the others from edits.
        ("Reference", [True, False, False, False]),
        ("Release {}", [True, True]),
    ],
)
def test_classes_that_inherit_the_same_members_are_a_series(titles: str, kept: list[bool]) -> None:
    rng, inherited, names = Random(8), words(Random(9), 1_500), ["Brush", "Kettle", "Ladder", "Oar"]
    classes = ((titles.format(name), f"{words(rng, 25)} {inherited}") for name in names[: len(kept)])
    assert kept_among(texts(rng), classes) == kept


@pytest.mark.parametrize("title", ["{} - Functions", "Functions"])
def test_each_function_has_its_page_and_each_name_no_other(title: str) -> None:
    """Two functions share a description, and differ in their names."""
    rng = Random(3)
    functions = [(words(rng, 1).capitalize(), text) for _ in range(20) for text in [words(rng, 40)] * 2]
    pages = [
        (form.format(name), f"{name} {text}")
        for form in (title, "{} for print - Functions")
        for name, text in functions
    ]
    assert kept_among(texts(rng), pages) == [True] * 40 + [False] * 40


@pytest.mark.parametrize(("code", "kept"), [("SS{}1", 40), ("rev{}", 40), ("{}c0ffee", 0)])
def test_a_product_with_a_code_of_its_own_is_kept(code: str, kept: int) -> None:
    product = "Part {} socket outlet of two pins packed by the dozen"
    others = [*texts(Random(5)), ("Socket", product.format("none"))]
    pages = [("Socket", product.format(code.format(number))) for number in range(10, 50)]
    assert sum(kept_among(others, pages)) == kept


@pytest.mark.parametrize(
    ("record", "kept"), [("stock N{}614", 28), ("shown on 3 May 20{} by Ann", 28), ("seen {} times", 1)]
)
def test_what_is_new_again_and_again_is_no_edit(record: str, kept: int) -> None:
    """The works of one hand: each page has a life of 240 words, and a line about the work."""
    life = f"{words(Random(4), 240)} a print"
    pages = [("Works", f"{life} {record.format(number)}") for number in range(10, 50)]
    assert sum(kept_among([*texts(Random(6), 30), ("Works", life)], pages)) == kept


def test_records_without_numbers_are_kept_once_their_frame_is_known() -> None:
    rng, pages = Random(1), []
    for _ in range(60):
        name, coach = words(rng, 2), words(rng, 2)
        said = f"member {name} of {words(rng, 1)} group {words(rng, 1)} coach {coach}"
        pages.append((name, said))
    assert sum(kept_among([], pages)) >= 50


@pytest.mark.parametrize(
    ("title", "kept"), [("The {} library", 20), ("Library {}", 20), ("Version {n}", 8)]
)
def test_a_text_that_says_another_name_again_is_kept_where_its_title_says_it(
    title: str, kept: int
) -> None:
    """As those of packages do, or of products with two colours: about one word is lost with each."""
    rng = Random(5)
    text = words(rng, 300).split()

    def named(number: int) -> tuple[str, str]:
        name = f"lib{chr(97 + number)}{chr(97 + number)}"
        for place in (20, 150, 270):
            text[place] = name
        return title.format(name, n=number), " ".join(text)

    assert sum(kept_among(texts(rng, 30), map(named, range(20)))) == kept


def test_a_print_view_whose_title_and_headline_say_so_is_dropped() -> None:
    rng = Random(6)
    articles = [(f"{words(rng, 2)} {number}", words(rng, 300)) for number in range(30)]
    views = (
        (f"Print view: {title}", f"</p><h1>Print view: {title}</h1><p>{text}")
        for title, text in articles
    )
    assert sum(kept_among(articles, views)) <= 1
