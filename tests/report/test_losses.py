"""What is lost is counted by stored texts, and grouped by the places in which copies differ."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex
from dedup.index import Index
from dedup.index.notes import SiteNoise, put_noise
from dedup.model.marks import Exceptions, Said
from dedup.reading.fields import FieldRule, raw_page_of, unjudged_of
from dedup.reading.noise import Evidence, Gap, MarkedPlaces, place_name
from dedup.report.clusters import AMBER, GREEN, RED, Report
from dedup.report.diff import BOTH, COPY
from dedup.report.html import page_of
from dedup.report.losses import LostLine, Place
from dedup.report.text import lines as text_lines
from tests.report.reports import judged
from tests.support.commands import run
from tests.support.pages import checked, text

SAID, OTHER = text(1, 150), text(2, 150)


def index_of(*ends: str, of_ropes: Sequence[str] = (), original: int = 99) -> Index:
    """Return an index of hats, and coats that end so; somebody calls those after an *original* copies."""
    others = [(f"Hat {n}", text(9 + n, 150), f"<p class=a>Hat {n}") for n in range(8)]
    pages = [("Coat", SAID, end) for end in ends] + [("Rope", OTHER, end) for end in of_ropes]
    body = "<title>{0}</title><h1>{0}</h1><p>{1}</p>{2}"
    urls = [f"http://a.example/{8 + number}" for number in range(len(ends))][original:]
    said = Exceptions.of(Said(url, urls[0], "copy") for url in urls[1:])
    return stored(enumerate(body.format(*one) for one in (*others, *pages)), exceptions=said)


def stored(pages: Iterable[tuple[object, str]], index: Index | None = None, **how: Any) -> Index:
    """Return an index with the texts of *pages*, each what its URL ends with, and its HTML."""
    made = (Page.from_html(body, url=f"http://a.example/{end}", with_places=True) for end, body in pages)
    checked(index := index or MemoryIndex(), made, DedupConfig(store_pages=True, **how))
    return index


def told(index: Index) -> tuple[str, list[str]]:
    report = Report(index)
    return report.colour, [shown(place) for place in report.losses.places]


def shown(place: Place) -> str:
    return f"{place.shown} ({place.where}){place.means}"


ADDED = [f"by hand<p class=b>seen {visitor} by us" for visitor in "abc"]
DATED, SHOWING = "http://a.example/2026/11/{0}/{0}x.html", "198 results - showing # to #"


@pytest.mark.parametrize(
    ("ends", "colour", "places"),
    [
        (["", ""], GREEN, []),
        (["Size S, red", "Size M, red"], RED, ["Size #, red"]),
        (["Size S, red", "Size M, blue"], RED, ["Size #, #"]),
        (["made by hand", "made by foot"], AMBER, ["made by #"]),
        # What the page kept says otherwise comes before what is added, on however many copies.
        (["by hand", "by foot", *ADDED], AMBER, ["by #", "seen # by us"]),
        (["see the hat", "see the Coat"], AMBER, ["see the #"]),  # a name of both titles
        ([f"<dl><dt>Made by<dd>{it}</dl>" for it in ("hand", "foot")], RED, ["Made by: #"]),
        ([f"<h4>Made by</h4><p>{it}" for it in ("hand", "foot")], AMBER, ["Made by: #"]),
        (["", "printed from https://a.example/17"], AMBER, ["printed from https://a.example/17"]),
        # All that may be records say something else in a place of theirs.
        (["", "printed in 2026 by us"], AMBER, ["printed in 2026 by us"]),
        (["printed in 2025", "printed in 2026"], RED, ["printed in #"]),
        (["3 look, 5 minutes ago", "9 look, 1 hour ago"], AMBER, ["# look, # ago"]),
        # What of a list is shown, and an address with a date in it.
        (["198 results - showing 1 to 20", "198 results - showing 21 to 40"], AMBER, [SHOWING]),
        (["Coats 1-20 of 198 coats", "Coats 21-40 of 198 coats"], AMBER, ["Coats # of 198 coats"]),
        (["", "阅读 1329 次", "阅读 1339 次"], AMBER, ["阅读 # 次"]),
        ([f"From {DATED.format(day)} today" for day in (10, 11, 12)], AMBER, ["From # today"]),
        (["for 5 years", "for 2 years"], RED, ["for # years"]),
        (["from 2026-05-04 on", "from 2026-06-02 on"], RED, ["from # on"]),
    ],
)
def test_a_place_is_what_stays_around_changes(ends: list[str], colour: str, places: list[str]) -> None:
    lines = (end and f"<p class=a>{end}" for end in ends)
    found, shown = told(index_of(*lines, original=0))
    assert (found, [place.split(" (")[0] for place in shown]) == (colour, places)


def test_what_differs_between_other_words_is_another_place_among_the_same_elements() -> None:
    """To mark it decides for all pages that differ there, and for no other one."""
    sizes = [f"<p class=a>Size {size}, red" for size in "SML"]
    lengths = [f"<p class=a>Length: {metres} metres" for metres in (5, 10, 20)]
    report = Report(index_of(*sizes, of_ropes=lengths))
    assert [(place.shown, len(place.copies), bool(place.name)) for place in report.losses.places] == [
        ("Size #, red", 2, True),
        ("Length: # metres", 2, True),
    ]


def test_a_cell_of_a_table_goes_by_the_one_before_it_and_each_is_a_place() -> None:
    cells = "<table><tr><td>Colour<td>{}<tr><td>Size<td>{}<tr><td>Item no.<td>{}-{}</table>"
    coats = [cells.format(*said) for said in (("Red", "M", "CO", 1), ("Blue", "S", "CO", 2))]
    ropes = [cells.format(*said) for said in (("tarred", "M", "RO", 3), ("white", "S", "RO", 4))]
    colour, places = told(index_of(*coats, of_ropes=ropes))
    names = [place.split(" (")[0] for place in places]
    assert (colour, names) == (RED, ["Colour: #", "Size: #", "Item no.: #"])


@pytest.mark.parametrize("before", ["More news", "Ann has it.", "我们一起去海边散步。"])
def test_a_label_names_the_list_below_it_and_a_sentence_does_not(before: str) -> None:
    name = "More news: #" if before == "More news" else "ul.m > li “zeta”, …"
    pairs = ("alpha", "beta"), ("gamma", "delta"), ("zeta", "eta")
    lists = [f"<p class=k>{before}</p><ul class=m><li>{a}<li>{b}</ul>" for a, b in pairs]
    assert told(index_of(*lists))[1] == [f"{name} (2 pages, a.example)"]


def test_what_a_byline_stands_above_goes_by_its_own_words_and_only_what_is_named_can_be_marked() -> None:
    body = "<title>{0}</title><h1>{0}</h1><p>By Ann, {0} May{2}<p>{1}".format
    pages = (body(n, text(n, 150), end) for n in (1, 2, 3, 4) for end in ("", "<p>Courier mobile"))
    (place,) = Report(stored(enumerate(pages))).losses.places
    assert (place.shown, len(place.copies), place.name) == ("Courier mobile", 3, "")


def test_what_a_mark_tells_apart_is_no_merged_record_though_it_differs_elsewhere_too() -> None:
    body = "<p class=s>Size {}</p><p class=o>Order number {}</p>".format
    index = index_of(body("M", 17), body("L", 28))
    assert page_of(Report(index)).count('<section class="card place"') == 2
    places = {place.shown: place for place in Report(index).losses.places}
    marks = Exceptions.of([places["Size #"].mark._replace(says="different")])
    report = Report(index, config=DedupConfig(exceptions=marks))
    assert (Report(index).colour, report.colour) == (RED, AMBER)


def test_what_one_copy_alone_loses_is_told_before_frames_and_counters() -> None:
    views, printed = "<p class=v>{} views".format, "<p class=c>Printed from the web site of the shop."
    ends = [printed + views(n) for n in (21, 22, 23)]
    of_coats = (views(3), f"<p class=d>By hand in town{views(3)}", *ends[:2])
    index = index_of(*of_coats, of_ropes=(views(3), *ends))
    names = [place.shown for place in Report(index).losses.places]
    assert names == ["By hand in town", "Printed from the web site of the shop.", "# views"]


def test_lines_that_have_nothing_in_common_are_no_place_together() -> None:
    """What one copy alone loses is a place by what is lost, and so is a sentence beside a version."""
    sentence = "From here on it floats, whatever the tide may be."
    index = index_of("<p>Version 1", *(f"<p>Version {n}<p>{sentence}" for n in (2, 3)), "<p>Version 4")
    body = "<title>{0}</title><p>{1}<h3>On {0} May</h3><p>{2}"
    ends = [(n, end) for n, last in enumerate(["Home", "Home", "Help", "By hand"]) for end in ("", last)]
    stored(((f"may/{n}{end}", body.format(n, text(30 + n, 150), end)) for n, end in ends), index)
    shown = [(place.shown, {*map(lost_in, place.examples)}) for place in Report(index).losses.places]
    names = [(sentence, {sentence}), ("Home", {"Home"}), ("By hand", {"By hand"})]
    assert shown == [("Version #", {*"234"}), *names]


@pytest.mark.parametrize(
    ("part", "is_place"), [("raw | blob", True), ("blob | diff", False), ("lob", True)]
)
def test_a_line_that_is_in_one_of_the_page_kept_is_no_place(part: str, is_place: bool) -> None:
    whole = "blob | diff | raw | diff to current"
    ends = of_list(whole, whole, whole) + "<h5>by hand", of_list(part, whole, whole) + "<h5>by foot"
    places = Report(index_of(*ends, original=0)).losses.places
    assert [place.shown for place in places] == ["by #", part][: 1 + is_place]


def test_a_line_that_stands_in_other_elements_of_the_page_kept_is_no_place() -> None:
    views = ("<h2>About hats</h2>", "<h3 class=b>About hats</h3><p class=c>Printed for you")
    assert [one.shown for one in Report(index_of(*views, original=0)).losses.places] == [
        "Printed for you"
    ]


def test_places_where_only_pages_of_another_one_differ_are_one_with_it() -> None:
    printed = "<p class=c>Printed from our shop<p class=d>Close this page".format
    index = index_of("", *(printed() + f"<p>{n} views" for n in (3, 4)), original=0)
    report = Report(index)
    assert [[len(one.copies) for one in group] for group in report.losses.groups] == [[2, 2, 2]]
    assert report.verdict.startswith("Look at this place: 2 copies lose ")


def lost_in(example: LostLine) -> str:
    return " ".join(span.text.strip() for span in example.line if span.of == COPY)


def test_what_only_print_views_say_is_one_place_that_can_be_marked() -> None:
    """Its elements and addresses may differ; what it says says no copy is another record."""
    pages, views = [], {"div": "", "article": "h6", "main": "h5", "section": "h5"}
    for number, (tag, at) in ((n, view) for n in range(3) for view in views.items()):
        said = "".join(f"<{tag}><p>{text(9 * number + part, 40)}</p></{tag}>" for part in range(4))
        end = f"<{at}>As seen on http://a.example/{number}?as={tag} at 9:0{number}</{at}>" * bool(at)
        pages.append((f"{number}{tag}", f"<title>{number}</title>{said}{end}"))
    (place,) = Report(index := stored(pages)).losses.places
    assert shown(place) == "As seen on # at # (8 pages, a.example)"
    for says in "copy", "different":
        marks = DedupConfig(exceptions=Exceptions.of([place.mark._replace(says=says)]))
        assert Report(index, config=marks).losses.places == []


def said_to_be_copies(*bodies: str) -> Index:
    said = Exceptions.of([Said("http://a.example/1", "http://a.example/0", "copy")])
    return stored(enumerate(bodies), exceptions=said)


def test_the_title_and_the_address_of_a_page_are_not_lost_where_a_view_for_print_shows_them() -> None:
    said = f"<title>A coat of wool</title><p>{SAID}"
    view = f"{said}<p>A coat of wool<p>http://a.example/0<p>http://a.example/1"
    assert told(said_to_be_copies(said, view)) == (GREEN, [])


def test_places_tell_also_what_keeps_pages_that_are_much_like_others() -> None:
    coat = f"<title>Coat</title><h1>Coat</h1><p>{SAID}".__add__
    pages = [coat(f"<p class=a>Price {n}.50") for n in range(3)]
    pages += [coat(f"<p class=b>Views {n}<p class=a>Price 1.50") for n in range(3, 8)]
    report = Report(stored(enumerate([*pages, f"<title>Hat</title><p>{OTHER}"])))
    told = "Pages were kept though much like others, as they differ from these in 2 places"
    shown = [line for _, line in text_lines(report)]
    assert shown[shown.index(f"{told}:") + 1] == "  1. Views # (5 pages, a.example)"
    assert f"<h2>{told}</h2>" in page_of(report)


def test_a_cell_beside_its_label_can_be_marked() -> None:
    body = "<title>Coat</title><p>{}<table><tr><td>Size<td>{}<tr><td>Price<td>{}</table>".format
    bodies = [body(SAID, size, price) for size, price in (("S", "5"), ("M", "7"), ("M", "5"))]
    places = Report(said_to_be_copies(*bodies[:2])).losses.places
    [name] = (place.name for place in places if place.shown == "Price: #")
    marked = MarkedPlaces(Exceptions.of([Said("", "", "different", "a.example", name)]))
    pages = [Page.from_html(one, url="http://a.example/", with_places=True) for one in bodies]
    one, other, same = (marked.obeyed(page).variant for page in pages)
    assert one == same != other


def test_a_word_that_a_view_adds_is_no_part_of_a_longer_one() -> None:
    said = f"<title>A</title><div><p>Printers are slow: {SAID}</p></div>"
    view = said.replace("div", "main") + "<h6>Print</h6>"
    (place,) = Report(said_to_be_copies(said, view)).losses.places
    assert (place.shown, [*map(lost_in, place.examples)]) == ("Print", ["Print"])


def test_lines_that_each_have_a_value_are_compared_value_by_value() -> None:
    """However much of the page these lines are: it is no other view of it."""
    lines = "".join(f"<p>{text(n, 12)} ref {{0}} of {text(9 + n, 12)}" for n in range(4))
    colour, (place,) = told(said_to_be_copies(*map(lines.format, ("26/310", "26/311"))))
    assert (colour, " ref # of " in place) == (RED, True)


@pytest.mark.parametrize("seed", range(12))
def test_a_mark_on_a_line_is_about_all_that_differs_in_it_on_any_copy(seed: int) -> None:
    rng = Random(seed)
    lines = [
        f"<p class=a>Who is online: {rng.randint(1, 5)} members and {rng.randint(2, 60)} guests: "
        f"{', '.join(rng.sample(['anna', 'bert', 'carl', 'dora', 'emil', 'fred', 'gina'], 3))}"
        for _ in range(8)
    ]
    index = index_of(*lines)
    (place,) = Report(index).losses.places
    assert place.shown.startswith("Who is online: # members and # guests: ")
    said = Exceptions.of([place.mark._replace(says="copy")])
    report = Report(index, config=DedupConfig(exceptions=said))
    assert not report.losses.places
    (mark,) = re.findall('<li data-mark="(.*)"', page_of(report))  # and can be taken back
    assert json.loads(unescape(mark))["place"] == place.name


def test_a_mark_is_about_all_that_its_card_shows_though_signs_alone_stay_between() -> None:
    dates = "Saturday, 10 April 2027, 20:00. Hall.", "Sunday, 2 May 2027, 17:00. Hall."
    (place,) = Report(index_of(*(f"<p class=a>{date}" for date in dates), original=0)).losses.places
    assert place.mark.place == place_name([Gap("html>body>p.a")])


KNOWN = ["Mr. Ames, room A12", "Mr. Bell, room B34", "costs 42.50 crowns", "build 8779618532 of May"]


@pytest.mark.parametrize(
    ("kept", "copy", "colour"),
    [
        # A list of what stands on other pages, too; names and codes that no other page has.
        (["Mr. Ellis, room E90"] * 2, KNOWN[:2], AMBER),
        (["Mr. Ellis, room E90"] * 2, ["Mr. Coyle, room C56", "Mr. Drew, room D78"], RED),
        # A price may be that of another page, and is lost all the same; an identifier is not.
        (["costs 85.00 crowns"], KNOWN[2:3], RED),
        (["build 1234567890 of May"], KNOWN[3:], AMBER),
    ],
)
def test_what_another_page_kept_has_is_no_record(kept: list[str], copy: list[str], colour: str) -> None:
    index = index_of(*(of_list(*lines) for lines in ([*KNOWN, text(3, 99)], kept, copy)), original=1)
    assert told(index)[0] == colour


def of_list(*lines: str) -> str:
    return "".join(f"<p class=a>{line}</p>" for line in lines)


def test_what_moved_is_no_record_and_what_changes_at_each_load_is_no_loss() -> None:
    """It may have moved between the same words at another place."""
    index, shown = index_of(*(f"<p class=a>sold {n} pieces" for n in (12, 345))), "sold # pieces"
    own, other = (Gap(at, ("sold",), ("pieces",), is_number=True) for at in ("html>body>p.a", "ul>li"))
    for scope, host, gaps, colour in (
        ("", "b.example", {other: Evidence(moved=1)}, RED),
        ("", "a.example", {other: Evidence(moved=1)}, AMBER),
        ("", "a.example", {own: Evidence(moved=1, stayed=4)}, AMBER),
        ("", "a.example", {own: Evidence(moved=5)}, GREEN),
        ("other", "a.example", {}, GREEN),  # of another spider
    ):
        put_noise(index.store, SiteNoise(scope, host, 1, gaps))
        records = ": these may be records" * (colour == RED)
        assert told(index) == (colour, [f"{shown} (1 page, a.example){records}"] * (colour != GREEN))


@pytest.mark.parametrize("tags", [("p", "h5"), ("h5", "p")])
def test_what_is_left_out_of_one_page_is_not_said_by_the_other_alone(tags: tuple[str, str]) -> None:
    ends = (f"<{tag}>{SAID}</{tag}><{tag}>They closed it at 16:30.</{tag}>" for tag in tags)
    index = stored((n, f"<title>Coat</title>{end}<p>by {n}") for n, end in enumerate(ends))
    gap = Gap("html>body>p", ("at",), (".", "$"))
    put_noise(index.store, SiteNoise("", "a.example", 1, {gap: Evidence(moved=5)}))
    (texts,) = Report(index).losses.texts.values()
    spans = [span for _, line in texts.lines for span in line]
    assert (texts.lost, [span.text for span in spans if span.of != BOTH]) == (1, [" 0", " 1"])


COUNTERS = [
    *(
        "当前{}人在线：anna{}, bert{}",
        "版权所有 海港日报 第{}次访问",
        "阅读：{} 次",
        "今日投票：{} 人参加",
    ),
    *("{} readers online: anna{}, bert{}", "12 May, {} views", "Served {} times, visitor no. {}"),
    *("{} results, 1 to 20 are shown", "Advertisement Hotel {} stars from 49"),
    *("anna, posts: {}, joined in May", "{} people are looking at this, see B{}-4"),
    "Who is online: {} guests, anna{}",
    "it is kept.<p>Tags: reading<p>{} views, {} likes<p>",
]
NO_COUNTERS = [
    *("第{}次会议 在市政府召开", "帐篷 可住 {} 人", "Thread {} of the rope"),
    *("this recipe serves {} people", "order it online as number {}"),
]


@pytest.mark.parametrize("line", COUNTERS + NO_COUNTERS)
def test_what_counts_visitors_never_alarms(line: str) -> None:
    said = f"<p class=a>{line} {text(7, 9)}"
    index = index_of(*(said.format(*([number] * 3)) for number in (17, 283)), original=0)
    assert told(index)[0] == (AMBER if line in COUNTERS else RED)


def test_what_may_be_records_is_looked_at_first() -> None:
    size, others = "<p class=a>Size S, red</p>", "<p class=b>made by hand, here in town, for you</p>"
    report = Report(index_of(size, size + others, "<p class=a>Size M, red</p>"))
    lost = {row: found.lost for row, found in report.losses.texts.items()}
    ((_, members),) = report.ranked
    assert (members, list(lost.values())) == ([11, 10], [8, 1])
    assert report.losses.records == {11}


@pytest.mark.parametrize("store", [0, 10, None])
def test_what_no_text_can_tell_is_not_called_checked(tmp_path: Path, store: int | None) -> None:
    config = DedupConfig(store_pages=store is None, store_first=store or 0)
    index = SQLiteIndex(tmp_path / "pages.db")
    with index, Detector(index, config) as detector:
        for number in range(20):
            body = f"<h1>Coat</h1><p>{SAID}<p>Item {number}-17"
            detector.check(Page.from_html(body, url=f"http://a/{number}", with_places=True))
        report = Report(index)
        left = report.counts.lose["words"] - len(report.losses.texts)
        said = f" {left} copies that lose words were not checked for merged products or events: not all texts are"
    assert report.counts.lose["words"] == 19
    assert (left, said in report.verdict) == ({0: 19, 10: 10, None: 0}[store], store is not None)


# Other fields: copies of one text that differ in what was not judged are not called safe
OF_TEXT = FieldRule(text_fields=("text",))
RULES = [OF_TEXT, FieldRule(text_fields=("text", "html")), FieldRule(key_fields=("key",))]


def fill(path: Path, items: list[dict[str, Any]], rule: FieldRule) -> None:
    found = [raw_page_of(item, rule) for item in items]
    assert all(found)
    judged(path, *(Page.of_raw(raw).of_record(raw) for raw in found if raw))


def printed(path: Path, *arguments: str) -> list[str]:
    return run(*arguments, path).output.splitlines()


def product(number: int, **fields: Any) -> dict[str, Any]:
    said = text(1)
    html = f"<html><p>{said}</p></html>"
    return {"url": f"http://shop.example/{number}", "text": said, "html": html, "sku": "a", **fields}


@pytest.mark.parametrize("rule", RULES, ids=["text", "html", "found"])
def test_a_copy_with_another_price_is_not_called_safe(path: Path, rule: FieldRule) -> None:
    items = [product(1, price=80.0), product(2, price=80.0), product(3, price=85.0), product(4)]
    fill(path, items, rule)
    lines = printed(path, "report")
    assert lines[0].startswith("Records may have been merged: 1 copy differs in numbers, codes or")
    assert lines[1].endswith("Of 3 copies, 1 loses nothing, 2 differ in other fields.")
    assert "  1. field price: # (2 pages): 1 of these may be records" in lines
    assert {"    price 85.0 for 80.0", "    price none for 80.0"} <= {*lines}
    said = "  differs  price 85.0 for 80.0", "  place    field price: #: it may be a record"
    assert {*said} <= {*printed(path, "explain", "http://shop.example/3")}


@pytest.mark.parametrize("seed", range(3))
def test_safe_is_only_what_differs_in_no_field(tmp_path: Path, seed: int) -> None:
    drawn, path = Random(seed), tmp_path / "pages.db"
    items = [product(n, price=drawn.choice("ab"), size=drawn.choice([1, 2, None])) for n in range(20)]
    fill(path, items, OF_TEXT)
    kept, *copies = [(item["price"], item["size"]) for item in items]
    other = sum(copy != kept for copy in copies)
    told = f"Of 19 copies, {19 - other} lose nothing, {other} differ in other fields."
    assert printed(path, "report")[1].endswith(told)


def test_a_title_beside_its_page_is_no_other_field() -> None:
    index, long = MemoryIndex(), "an evening at the theatre by the sea, and all that came of it later"
    with Detector(index) as detector:
        for site in ("The Courier", "The Mirror"):
            title = f"{long} - {site}"
            fields = unjudged_of({"title": f" {long} -\n  {site}\n", "about": f"{long} {site}"}, ())
            made = Page.from_text(SAID, url=f"http://{site[4:]}.example/")
            detector.check(replace(made, title=title, unjudged=fields))
    assert told(index) == (RED, ["field about: # (1 page): these may be records"])


def test_long_values_and_many_fields_are_bounded_and_stay_different() -> None:
    long = {"a": "x" * 1_000_000}
    assert len(unjudged_of(long, ())) < 200
    assert unjudged_of(long, ()) != unjudged_of({"a": long["a"] + "y"}, ())
    many = {f"field {number}": number for number in range(10_000)}
    assert len(unjudged_of(many, ())) < 200
    assert json.loads(unjudged_of(many, ())) != json.loads(unjudged_of(many | {"field 7": 8}, ()))
    assert unjudged_of({"text": "x", "none": None, "empty": []}, ["text"]) == ""


def test_what_is_counted_or_said_in_other_words_is_no_record(path: Path) -> None:
    items = []
    for number in range(6):
        byline, title = f"By Ann Lee, {number + 1} May", f"<title>News {number}</title>"
        html = f"<html>{title}<p>{text(number, 150)}</p><p>{byline}</p></html>"
        printed_view, address = html.replace(byline, "Ann Lee"), f"http://news.example/{number}"
        items.append({"url": address, "html": html, "byline": byline, "words": 157 + number})
        beside = {"byline": "Ann Lee", "words": 155 + number}
        items.append({"url": f"{address}/print", "html": printed_view, **beside})
    fill(path, items, FieldRule())
    first, *lines = printed(path, "report")
    told = [sum(said in line for line in lines) for said in (" (6 pages)", " 6 of these pages also: ")]
    assert (first[:7], told) == ("Nothing", [1, 1])


@pytest.mark.parametrize("names", [("name", "model"), ("colour", "size")])
def test_any_other_value_of_a_field_may_be_that_of_a_record(path: Path, names: tuple[str, str]) -> None:
    items = []
    for seed in range(2):
        variants = [("red", "S"), ("red", "M"), ("blue", "S"), ("blue", "M")]
        for number, variant in enumerate(variants[:: 1 - 2 * seed]):
            given = ("Coat", f"c{seed}-10{number}") if "model" in names else variant
            fields = dict(zip(names, given, strict=True)) | {"price": f"{number + 1}2.90"}
            item = {"url": f"http://a/{seed}/{number}", "text": text(seed, 150), **fields}
            items.append(item)
    fill(path, items, OF_TEXT)
    first, *lines = printed(path, "report")
    shown = {line.split("field ")[1] for line in lines if "field " in line}
    records = {f"{name}: #: these may be records" for name in ({*names, "price"} - {"model", "name"})}
    top = ("price", "model")["model" in names]
    assert shown - records == {f"{top}: # (6 pages): these may be records"}
    assert first.endswith("or name a field that tells them apart in DEDUP_KEY_FIELDS.")
