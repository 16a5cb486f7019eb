"""Records in a large frame are pages, however little of their own they say; so are the parts of a series."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from dedup import Detector, MemoryIndex, Page
from dedup.reading.fields import RawPage
from tests.pages import text

WORDS = text(0, 2000).replace("word", "w").translate(str.maketrans("0123456789", "abcdefghij")).split()
Record = Callable[[Random], tuple[str, str]]


def words(rng: Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


FRAME = words(Random(1), 60), words(Random(2), 55)
ARTICLE = words(Random(3), 150)
STANDINGS = " ".join(f"{place} {words(Random(place), 1)} {200 - 3 * place}" for place in range(1, 25))


def profile(rng: Random) -> tuple[str, str]:
    name = words(rng, 2)
    numbers = rng.randrange(900), rng.randrange(99), rng.randrange(99), rng.randrange(1990, 2026)
    record = "player {} town {} rank {} wins {} losses {} since {}".format(name, words(rng, 1), *numbers)
    return name, f"{FRAME[0]} {record} {FRAME[1]}"


def match(rng: Random) -> tuple[str, str]:
    score = f"{words(rng, 1)} {rng.randrange(9)} : {rng.randrange(9)} {words(rng, 1)}"
    day = f"{rng.randrange(1, 29)} May {rng.randrange(1990, 2026)} attendance {rng.randrange(99_999)}"
    return "The league", f"{FRAME[0]} {score} played on {day} {FRAME[1]}"


def beside_a_table(rng: Random) -> tuple[str, str]:
    title, content = match(rng)
    return title, f"{content} gates {rng.randrange(300, 999)} and {rng.randrange(300, 999)} {STANDINGS}"


def product(rng: Random) -> tuple[str, str]:
    model = f"{words(rng, 1)} {rng.randrange(100, 999)}"
    price = f"{rng.randrange(99, 2999)}.{rng.randrange(10)}0 euro {rng.randrange(20, 99)} kg"
    return model, f"{FRAME[0]} freezer {model} {ARTICLE} price {price} {FRAME[1]}"


def part(rng: Random) -> tuple[str, str]:
    shared = words(Random(4), 440)
    return words(rng, 2), f"{shared} {words(rng, 30)}"


def kept_of(record: Record, records: int, others: int, seed: int = 1) -> float:
    """Return which share of *records* is kept, crawled among *others*: texts in the same frame."""
    rng = Random(seed)
    pages = [(True, *record(rng)) for _ in range(records)]
    pages += [(False, f"Text {n}", f"{FRAME[0]} {words(rng, 250)} {FRAME[1]}") for n in range(others)]
    rng.shuffle(pages)
    kept = 0
    with Detector(MemoryIndex()) as detector:
        for number, (is_record, title, content) in enumerate(pages):
            html = f"<title>{title}</title><table><tr><td>{content}</table>"
            verdict = detector.check(Page.from_html(html, url=f"http://a.example/{number}"))
            kept += is_record and verdict.kept
    return kept / records


NIGHTLY = [pytest.mark.slow, pytest.mark.nightly]


@pytest.mark.parametrize("record", [profile, match, beside_a_table, product, part])
@pytest.mark.parametrize(
    ("records", "others"),
    [(60, 10), *(pytest.param(*sizes, marks=NIGHTLY) for sizes in ((60, 0), (200, 60)))],
)
def test_records_are_kept(record: Record, records: int, others: int) -> None:
    assert kept_of(record, records, others) >= 0.95
    assert sum(kept_of(record, records, others, seed) for seed in (2, 3)) >= 1.94


def test_copies_of_a_record_are_not() -> None:
    def clock(rng: Random) -> tuple[str, str]:
        return "Fog", f"{FRAME[0]} {ARTICLE} now {rng.randrange(24)}:{rng.randrange(60)} {FRAME[1]}"

    assert kept_of(clock, 40, 30) <= 2 / 40


def test_a_record_that_its_html_names_is_one_though_all_that_its_other_fields_say_is_known() -> None:
    stock = ARTICLE.split()
    texts = [" ".join(stock[start : start + 120]) for start in (0, 14)]

    def item(number: int, name: str, said: str) -> Page:
        raw = RawPage(f"<p>{name}", url=f"http://a.example/{number}", beside=(said,))
        return Page.of_raw(raw).of_record(raw)

    def is_kept(page: Page, *others: Page) -> bool:
        with Detector(MemoryIndex()) as detector:
            assert all(detector.check(other).kept for other in others)
            return detector.check(page).kept

    lists = item(1, words(Random(5), 120), texts[0]), item(2, texts[1], "")
    for others in (lists, [item(1, texts[0], "")], [item(1, "Blue Lantern Bay", texts[0])]):
        assert is_kept(item(3, "Red Lantern Bay", texts[0]), *others)
        assert is_kept(item(3, f"Red Lantern Bay {texts[0]}", ""), *others)
    assert not is_kept(item(3, "Red Lantern Bay", texts[0]), item(1, "Red Lantern Bay", texts[0]))


@pytest.mark.parametrize("said", ["", "<p>Back</p>", "<h1>{}</h1>"])
@pytest.mark.parametrize("frame", ["", "<nav><a href=/>Home</a></nav>", f"<nav>{FRAME[0]}</nav>"])
def test_what_has_only_a_title_is_known_by_it(frame: str, said: str) -> None:
    names = ["About us", "Contact", "Legals", "Team", "About us", "Contact"]
    bodies = [f"<title>{name} - Sea</title>{frame}{said.format(name)}" for name in names]
    with Detector(MemoryIndex()) as detector:
        pages = [Page.from_html(html, url=f"http://a.example/{at}") for at, html in enumerate(bodies)]
        assert [detector.check(page).kept for page in pages] == [True] * 4 + [False] * 2


def shop(seed: int, form: str, *, has_prints: bool = False) -> tuple[int, int]:
    """Return how many of 24 variants are kept, and how many copies of them: 6 products in 4 `SIZES`.

    Each variant has an address, which is asked for with a session id, too; and before that, if the shop
    *has_prints*, one of a page for print without an id.
    """
    rng = Random(seed)
    kept, copies = set(), 0
    with Detector(MemoryIndex()) as detector:
        for product in range(6):
            name, described = words(rng, 3), words(rng, 90)
            for size in rng.sample([*SIZES], len(SIZES)):
                for query in (*["?print"] * has_prints, "", "?session=1"):
                    told = "none" if query == "?print" else form
                    html = variant(name, described, size, told, views=rng.randrange(10**6))
                    url = f"http://shop.example/{product}-{size}{query}"
                    is_kept = detector.check(Page.from_html(html, url=url)).kept
                    copies += is_kept and (product, size) in kept
                    kept.update([(product, size)] * is_kept)
    return len(kept), copies


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", ["json", "microdata"])
def test_no_variant_that_names_its_id_is_lost_and_copies_of_it_are_dropped(form: str, seed: int) -> None:
    """But for the copies of the first product: nothing is known of the site by then."""
    kept, copies = shop(seed, form)
    assert kept == 24
    assert copies <= 4


@pytest.mark.parametrize("seed", range(5))
def test_nor_is_one_lost_for_the_print_view_of_another(seed: int) -> None:
    assert shop(seed, "json", has_prints=True)[0] == 24


SIZES = {"S": "19.90", "M": "19.90", "L": "21.50", "XL": "23.00"}


def variant(name: str, described: str, size: str, form: str, *, views: int) -> str:
    """Return a page that differs from those of other sizes in a size, a price and an id."""
    sku = f"{name.replace(' ', '')}-{size}"
    told = {
        "json": f'<script type="application/ld+json">{{"@type": "Product", "sku": "{sku}"}}</script>',
        "microdata": f'<meta itemprop="sku" content="{sku}">',
    }
    return (
        f"<html><head><title>{name}</title>{told.get(form, '')}</head><body><h1>{name}</h1>"
        f"<p>{described}</p><p>Size {size}, {SIZES[size]} euro.</p><p>Views: {views}</p></body></html>"
    )
