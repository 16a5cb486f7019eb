"""Edits of long pages are dropped early, parts of a series never: each has a text of its own."""

from __future__ import annotations

from random import Random

import pytest

from dedup import Detector, MemoryIndex, Page
from dedup.rule.site import COMMON_PAGES
from tests.rule.test_records import FRAME, words

LONG = pytest.param(150, marks=pytest.mark.slow)


def document(title: str, content: str, url: str) -> Page:
    return Page.from_html(f"<title>{title}</title><p>{FRAME[0]} {content} {FRAME[1]}", url=url)


@pytest.mark.parametrize("known", [20, 60, LONG])
@pytest.mark.parametrize("has_titles", [True, False])
def test_edits_of_long_pages_are_dropped_from_page_20_on(known: int, has_titles: bool) -> None:
    rng, kept = Random(known), 0
    with Detector(MemoryIndex()) as detector:
        pages = [(f"Text {number}" if has_titles else "", words(rng, 480)) for number in range(known)]
        for number, (title, content) in enumerate(pages):
            assert detector.check(document(title, content, f"http://a.example/{number}")).kept
        for number, (title, content) in enumerate(pages[:20]):
            edited = content.split()
            place = rng.randrange(40, 400)
            edited[place : place + 25] = words(rng, 25).split()
            kept += detector.check(
                document(title, " ".join(edited), f"http://a.example/edit/{number}")
            ).kept
    assert kept <= 2


def test_nothing_is_known_of_a_site_of_few_pages() -> None:
    rng = Random(1)
    with Detector(MemoryIndex()) as detector:
        for number in range(COMMON_PAGES - 1):
            detector.check(document("Texts", content := words(rng, 480), f"http://a.example/{number}"))
        edited = f"{content.rsplit(' ', 25)[0]} {words(rng, 25)}"
        assert detector.check(document("Texts", edited, "http://a.example/edit")).kept


@pytest.mark.parametrize("title", ["Part {}", "Series", ""])
@pytest.mark.parametrize("others", [0, 30, LONG])
def test_parts_of_a_series_are_kept(title: str, others: int) -> None:
    rng, shared, kept = Random(others), words(Random(4), 440), 0
    with Detector(MemoryIndex()) as detector:
        for number in range(others):
            detector.check(document(f"Text {number}", words(rng, 300), f"http://a.example/{number}"))
        for number in range(60):
            part = document(
                title.format(number), f"{shared} {words(rng, 30)}", f"http://a.example/part/{number}"
            )
            kept += detector.check(part).kept
    # Until five are kept, three edits of each.
    assert kept >= 60 - 3 * 4


@pytest.mark.parametrize(
    ("titles", "classes", "kept"),
    [
        ("{} Class Reference", 4, [True, True, True, True]),
        # Under one title nothing tells the others from edits.
        ("Reference", 4, [True, False, False, False]),
        ("Release {}", 2, [True, True]),
    ],
)
def test_classes_that_inherit_the_same_members_are_a_series(
    titles: str, classes: int, kept: list[bool]
) -> None:
    rng, inherited, names = Random(8), words(Random(9), 1_500), ["Brush", "Kettle", "Ladder", "Oar"]
    with Detector(MemoryIndex()) as detector:
        for number in range(100):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        assert kept == [
            detector.check(
                document(
                    titles.format(name),
                    f"{words(rng, 25)} {inherited}",
                    f"http://a.example/classes/{name}",
                )
            ).kept
            for name in names[:classes]
        ]


@pytest.mark.parametrize(("title", "kept", "printed"), [("{} - Functions", 40, 0), ("Functions", 40, 0)])
def test_each_function_has_its_page_and_each_name_no_other(title: str, kept: int, printed: int) -> None:
    """Two functions share a description, and differ in their names."""
    rng = Random(3)
    functions = [(words(rng, 1).capitalize(), text) for _ in range(20) for text in [words(rng, 40)] * 2]
    with Detector(MemoryIndex()) as detector:
        for number in range(100):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))

        def kept_of(title: str, folder: str) -> int:
            return sum(
                detector.check(
                    document(title.format(name), f"{name} {text}", f"http://a.example/{folder}/{name}")
                ).kept
                for name, text in functions
            )

        assert kept_of(title, "functions") == kept
        assert kept_of("{} for print - Functions", "print") == printed


@pytest.mark.parametrize(("code", "kept"), [("SS{}1", 40), ("rev{}", 40), ("{}c0ffee", 0)])
def test_a_product_with_a_code_of_its_own_is_kept(code: str, kept: int) -> None:
    rng = Random(5)
    product = "Part {} socket outlet of two pins packed by the dozen"
    with Detector(MemoryIndex()) as detector:
        for number in range(100):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        detector.check(document("Socket", product.format("none"), "http://a.example/socket"))
        found = [
            detector.check(
                document("Socket", product.format(code.format(n)), f"http://a.example/socket/{n}")
            )
            for n in range(10, 50)
        ]
    assert sum(verdict.kept for verdict in found) == kept


@pytest.mark.parametrize(
    ("record", "kept"), [("stock N{}614", 28), ("shown on 3 May 20{} by Ann", 28), ("seen {} times", 1)]
)
def test_what_is_new_again_and_again_is_no_edit(record: str, kept: int) -> None:
    """The works of one hand: each page has a life of 240 words, and a line about the work."""
    rng, life = Random(6), words(Random(4), 240)
    with Detector(MemoryIndex()) as detector:
        for number in range(30):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        detector.check(document("Works", f"{life} a print", "http://a.example/works"))
        found = [
            detector.check(
                document("Works", f"{life} a print {record.format(n)}", f"http://a.example/w/{n}")
            )
            for n in range(10, 50)
        ]
    assert sum(verdict.kept for verdict in found) == kept


def test_records_without_numbers_are_kept_once_their_frame_is_known() -> None:
    rng, kept = Random(1), 0
    with Detector(MemoryIndex()) as detector:
        for number in range(60):
            name, coach = words(rng, 2), words(rng, 2)
            record = f"member {name} of {words(rng, 1)} group {words(rng, 1)} coach {coach}"
            kept += detector.check(document(name, record, f"http://a.example/{number}")).kept
    assert kept >= 50
