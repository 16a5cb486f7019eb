"""What is known of a site tells its records, the parts of a series and its edits from copies and walls."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product as combined
from random import Random

import pytest

from dedup import Detector, MemoryIndex, Page
from dedup.reading.fields import RawPage
from dedup.rule.match import COMMON_PAGES
from tests.support.pages import submit, text

WORDS = text(0, 2000).replace("word", "w").translate(str.maketrans("0123456789", "abcdefghij")).split()
Said = tuple[str, str]  # a title and what is said under it
NIGHTLY = [pytest.mark.slow, pytest.mark.nightly]
LONG = pytest.param(150, marks=pytest.mark.slow)
TEXT = "Text {}"


def words(rng: Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


FRAME = words(Random(1), 60), words(Random(2), 55)
ARTICLE = words(Random(3), 150)
SHARED = words(Random(7), 60)


def texts(rng: Random, number: int = 100, size: int = 60) -> Iterable[Said]:
    return ((TEXT.format(each), words(rng, size)) for each in range(number))


def in_html(html: Callable[[str, str], str], title: str, content: str, path: object) -> Page:
    return Page.from_html(html(title, content), url=f"http://a.example/{path}")


def document(title: str, content: str, path: object) -> Page:
    return in_html(f"<title>{{}}</title><p>{FRAME[0]} {{}} {FRAME[1]}".format, title, content, path)


def crawled(pages: Iterable[Page]) -> list[bool]:
    with Detector(MemoryIndex()) as detector:
        return [detector.check(page).kept for page in pages]


def kept_among(
    others: Iterable[Said], pages: Iterable[Said], shown: Callable[..., Page] = document
) -> list[bool]:
    before = [document(*said, f"others/{number}") for number, said in enumerate(others)]
    after = (shown(*said, f"pages/{number}") for number, said in enumerate(pages))
    return crawled([*before, *after])[len(before) :]


# Records in a large frame, however little of their own they say
def profile(rng: Random) -> Said:
    name = words(rng, 2)
    numbers = rng.randrange(900), rng.randrange(99), rng.randrange(99), rng.randrange(1990, 2026)
    record = "player {} town {} rank {} wins {} losses {} since {}"
    return name, record.format(name, words(rng, 1), *numbers)


def match(rng: Random) -> Said:
    score = f"{words(rng, 1)} {rng.randrange(9)} : {rng.randrange(9)} {words(rng, 1)}"
    day = f"{rng.randrange(1, 29)} May {rng.randrange(1990, 2026)} attendance {rng.randrange(99_999)}"
    return "The league", f"{score} played on {day}"


def beside_a_table(rng: Random) -> Said:
    standings = (f"{place} {words(Random(place), 1)} {200 - 3 * place}" for place in range(1, 25))
    gates = f"gates {rng.randrange(300, 999)} and {rng.randrange(300, 999)}"
    return match(rng)[0], f"{match(rng)[1]} {gates} {' '.join(standings)}"


def product(rng: Random) -> Said:
    model = f"{words(rng, 1)} {rng.randrange(100, 999)}"
    price = f"{rng.randrange(99, 2999)}.{rng.randrange(10)}0 euro {rng.randrange(20, 99)} kg"
    return model, f"freezer {model} {ARTICLE} price {price}"


def clock(rng: Random) -> Said:
    return "Fog", f"{ARTICLE} now {rng.randrange(24)}:{rng.randrange(60)}"


def kept_of(record: Callable[[Random], Said], records: int, others: int, seed: int = 1) -> float:
    """Return which share of *records* is kept, crawled among *others*."""
    rng = Random(seed)
    pages = [*(record(rng) for _ in range(records)), *texts(rng, others, 250)]
    order = rng.sample(range(len(pages)), len(pages))
    kept = zip(order, kept_among([], [pages[number] for number in order]), strict=True)
    return sum(is_kept for number, is_kept in kept if number < records) / records


@pytest.mark.parametrize("record", [profile, match, beside_a_table, product])
@pytest.mark.parametrize(
    ("records", "others"),
    [(60, 10), *(pytest.param(*sizes, marks=NIGHTLY) for sizes in ((60, 0), (200, 60)))],
)
def test_records_are_kept(record: Callable[[Random], Said], records: int, others: int) -> None:
    assert kept_of(record, records, others) >= 0.95
    assert sum(kept_of(record, records, others, seed) for seed in (2, 3)) >= 1.94


def test_one_line_in_the_frame_of_a_site_is_kept() -> None:
    html = f"<title>{{}}</title><nav>{FRAME[0]}</nav><main>{{}}</main><footer>{FRAME[1]}</footer>"
    rng, said = Random(4), "<h2>{0}</h2><p>{0} is a parish of the county"
    names = (words(rng, 1) for _ in range(40))
    pages = (in_html(html.format, name, said.format(name), name) for name in names)
    assert sum(crawled(pages)) >= 39


def test_the_first_page_of_each_host_is_kept() -> None:
    html = f"<title>Branch</title><p>{FRAME[0]}<p>{{}}<p>{FRAME[1]}".format
    assert all(crawled(Page.from_html(html(text(n, 9)), url=f"http://{n}.example/") for n in range(20)))


def test_copies_of_a_record_are_not() -> None:
    assert kept_of(clock, 40, 30) <= 2 / 40


def test_records_without_numbers_are_kept_once_their_frame_is_known() -> None:
    rng, pages = Random(1), []
    for _ in range(60):
        name, coach = words(rng, 2), words(rng, 2)
        pages.append((name, f"member {name} of {words(rng, 1)} group {words(rng, 1)} coach {coach}"))
    assert sum(kept_among([], pages)) >= 50


@pytest.mark.parametrize(
    ("title", "record", "others", "kept"),
    [
        ("Member", "born in {} harbour", 30, 40),
        ("Member", "born in {} harbour", 0, 40),  # however little is known of the site
        ("Member", "seen {0}42{0}1 times", 30, 40),
        # A number beside others makes a record under another title, a date under one title too.
        ("Ticket {}", "number {1} of the harbour", 30, 40),
        ("Report {}", "of 2024年{1}月1日", 30, 40),
        ("Branch meeting", "Tuesday, {1} May 2026, 7.30pm", 30, 40),
        ("Branch meeting", "Tuesday, May {1}, 2026, 7:30pm", 30, 40),
        *(("Branch meeting", f"at the pier {date}", 30, 40) for date in ("2026-05-{1}", "{1}.05.2026")),
        ("分会会议", "2026年{1}月", 30, 40),
        ("Ticket", "number tt-1607-{1} of the harbour", 30, 40),
        # A counter, though it could be a year, a page that was seen again, a clock or an id make none.
        ("Ticket", "number {1} of the harbour", 30, 1),
        *(("Sea", f"replies 57 views {century}{{1}} likes 140", 30, 1) for century in (19, 20, 21)),
        ("Ticket {}", "number of the harbour {1}:07", 30, 1),
        ("Ticket {}", "number of the harbour {1:08x}c0", 30, 1),
        ("Sea", "at {1}:{1}pm hits id {1:08x}c0", 30, 1),
    ],
)
def test_records_that_say_one_own_thing(title: str, record: str, others: int, kept: int) -> None:
    rng = Random(others)
    pages = ((title.format(n), f"{SHARED} {record.format(words(rng, 1), n)}") for n in range(10, 50))
    found = kept_among(texts(rng, others), pages)
    assert sum(found) == pytest.approx(kept, abs=2 if title == "Member" else 0)


@pytest.mark.parametrize(("others", "kept"), [(0, 39), (COMMON_PAGES, 40), (30, 40)])
def test_under_a_title_of_many_a_number_makes_a_record(others: int, kept: int) -> None:
    rng, pages = Random(2), [("Ticket", f"{SHARED} number {number} of it") for number in range(40)]
    assert sum(kept_among([("Ticket", words(rng, 60)) for _ in range(others)], pages)) == kept


@pytest.mark.parametrize("size", [60, 600])
@pytest.mark.parametrize("is_left_out", [False, True])
def test_a_number_is_no_counter_where_it_is_known_what_changes(size: int, *, is_left_out: bool) -> None:
    """Of products the variants have one title, the same words and another price, which others have, too."""
    rng, kept = Random(7), []
    with Detector(MemoryIndex()) as detector:
        for number, said in enumerate(texts(rng, 30)):
            detector.check(document(*said, number))
        for sea in range(2):
            shared = words(rng, size)
            for price in range(100, 110):
                page = document(f"Sea {sea}", f"{shared} for {price}.5 euro", f"{sea}/{price}")
                seen = detector.sighting(page)
                seen = replace(seen, fingerprint=replace(seen.fingerprint, left_out=is_left_out))
                kept.append(submit(detector, seen, confirmed=True).kept)
    assert sum(kept) == (20 if is_left_out else 2)


@pytest.mark.parametrize(
    ("code", "kept"), [("SS{}1", 40), ("rev{}", 40), ("978313{}", 40), ("{}c0ffee", 0)]
)
def test_a_product_with_a_code_of_its_own_is_kept(code: str, kept: int) -> None:
    socket = "Part {} socket outlet of two pins packed by the dozen"
    others = [*texts(Random(5)), ("Socket", socket.format("none"))]
    pages = [("Socket", socket.format(code.format(number))) for number in range(10, 50)]
    assert sum(kept_among(others, pages)) == kept


@pytest.mark.parametrize(
    ("title", "record", "kept"),
    [
        ("Works", "stock N{}614", 37),
        ("Works", "shown on 3 May 20{} by Ann", 37),
        ("Works", "seen {} times", 1),
        ("Works {}", "seen {} times", 1),
    ],
)
def test_what_is_new_again_and_again_is_no_edit(title: str, record: str, kept: int) -> None:
    """The works of one hand: each page has a life of 240 words, and a line about the work."""
    life = f"{words(Random(4), 240)} a print"
    pages = [(title.format(n), f"{life} {record.format(n)}") for n in range(10, 50)]
    assert sum(kept_among([*texts(Random(6), 30), ("Works", life)], pages)) == kept


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=NIGHTLY) for seed in (2, 3, 4))])
def test_notices_of_one_wording_are_kept_each_value_of_which_others_have(seed: int) -> None:
    rng = Random(seed)
    values = [[words(rng, 2) for _ in range(6)] for _ in range(3)]
    said = "the {} branch is closed on {} because of {} while all others are open as usual"
    pages = [(f"{one[0]} hours", said.format(*one)) for one in rng.sample([*combined(*values)], 100)]
    assert sum(kept_among(texts(rng, 10), pages)) >= 80  # but for the second under a title


def test_what_stands_on_a_page_that_was_dropped_is_kept_with_the_next_one() -> None:
    """The pairs of pages that were kept count, and of no other."""
    pages = [("Harbour", f"{SHARED} {it}") for it in ("tide tables", "tide tables", "tide mill museum")]
    assert kept_among(texts(Random(3), 30), pages) == [True, False, True]


def test_a_record_that_its_html_names_is_one_though_all_that_its_other_fields_say_is_known() -> None:
    stock = ARTICLE.split()
    first, second = (" ".join(stock[start : start + 120]) for start in (0, 14))

    def item(number: int, name: str, said: str) -> Page:
        raw = RawPage(f"<p>{name}", url=f"http://a.example/{number}", beside=(said,))
        return Page.of_raw(raw).of_record(raw)

    lists = item(1, words(Random(5), 120), first), item(2, second, "")
    for others in (lists, [item(1, first, "")], [item(1, "Blue Lantern Bay", first)]):
        for one in (item(3, "Red Lantern Bay", first), item(3, f"Red Lantern Bay {first}", "")):
            assert all(crawled([*others, one]))
    assert crawled([item(number, "Red Lantern Bay", first) for number in (1, 3)]) == [True, False]


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
    edited = f"{pages[-1][1].rsplit(' ', 25)[0]} {words(rng, 25)}"
    assert kept_among(pages, [("Texts", edited)]) == [True]


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
    functions = [(words(rng, 1).capitalize(), said) for _ in range(20) for said in [words(rng, 40)] * 2]
    pages = [
        (form.format(name), f"{name} {said}")
        for form in (title, "{} for print - Functions")
        for name, said in functions
    ]
    assert kept_among(texts(rng), pages) == [True] * 40 + [False] * 40


@pytest.mark.parametrize(
    ("title", "kept"), [("The {} library", 20), ("Library {}", 20), ("Version {n}", 8)]
)
@pytest.mark.parametrize("is_listed", [False, True])
def test_another_name_is_kept_where_its_title_says_it(title: str, kept: int, is_listed: bool) -> None:
    """As those of packages do, or of shops: about one word is lost with each; a list may show it."""
    rng = Random(5)
    said = words(rng, 300).split()

    def named(number: int) -> Said:
        name = f"lib{chr(97 + number)}{chr(97 + number)}"
        for place in (20, 150, 270):
            said[place] = name
        return title.format(name, n=number), " ".join(said)

    pages = [*map(named, range(20))]
    beside = "</p><p>".join(" ".join(re.findall(r"\w+ lib\w+ \w+", said)[:2]) for _, said in pages)
    listed = [("All", beside)] if is_listed else []
    assert sum(kept_among([*texts(rng, 30), *listed], pages)) == kept


def test_a_product_is_kept_in_each_colour_that_its_title_and_heading_name() -> None:
    rng, colours, shown = Random(5), ("red", "blue", "green", "black"), "</p><h1>{}</h1><p>{}"
    coats = [(words(rng, 2), words(rng, 150)) for _ in range(9)]
    named = [(f"{name} {colour}", said) for name, said in coats for colour in colours]
    pages = [(name, shown.format(name, said)) for name, said in named]
    assert kept_among(texts(rng, 30), pages + pages) == [True] * 36 + [False] * 36


@pytest.mark.parametrize("said", ["{} May 2027, {}", "part 978313{}", "2027-05-{}, {}", "{} seats, {}"])
def test_a_show_is_kept_with_each_value_though_lists_have_them_all(said: str) -> None:
    rng, shown = Random(5), [said.format(n, f"the {words(Random(n), 1)} hall") for n in (10, 17, 24, 31)]
    shows = [(words(rng, 2), words(rng, 150)) for _ in range(9)]
    values = "</p><p>".join(f"{one}: {name}" for name, _ in shows for one in shown)
    lists = [(title, f"{words(rng, 99)}</p><p>{values}") for title in ("Calendar", "Places")]
    pages = [(name, f"{one}</p><p>{text}") for name, text in shows for one in shown]
    views = [(name, f"{page}</p><p>printed 1 May 2026") for name, page in pages]
    assert kept_among([*texts(rng, 30), *lists], pages + views) == [True] * 36 + [False] * 36


@pytest.mark.parametrize("seed", range(3))
def test_sections_of_courses_are_kept_each_value_of_which_others_have(seed: int) -> None:
    """From the first page on, and where a number stands in the place of a name."""
    rng, pages = Random(seed), list[Said]()
    days, halls = [words(rng, 1) for _ in range(5)], [words(rng, 2) for _ in range(3)]
    for title, about in [(words(rng, 2), words(rng, 50)) for _ in range(12)]:
        rooms = [f"lab {number}" for number in rng.sample(range(1, 9), 2)]
        for day, room in zip(rng.sample(days, 3), [rng.choice(halls), *rooms], strict=True):
            pages.append((title, f"{about}</p><p>day {day} room {room} end"))
    rng.shuffle(pages)
    assert kept_among([], pages + pages) == [True] * 36 + [False] * 36


@pytest.mark.parametrize("title", ["{}", "{} (print)"])
@pytest.mark.parametrize("seed", range(4))
def test_sections_are_kept_beside_others_for_print_once_layouts_are_known(seed: int, title: str) -> None:
    rng, pages, halls = Random(seed), list[Page](), [f"hall {name}" for name in "abc"]
    days, views = (
        [words(rng, 1) for _ in range(5)],
        f"<title>{title}</title><ul><li><b>{{}}</b><p>Printed",
    )
    layouts = (views, "<title>{}</title><p>Search<p>Courses{}<p>Print view")
    for name, about in [(words(rng, 2), words(rng, 35)) for _ in range(40)]:
        rooms = rng.sample([rng.choice(halls), f"lab {rng.randrange(9)}"], 2)
        for layout, day, room in zip(layouts, rng.sample(days, 2), rooms, strict=True):
            said = f"<h1>{name}</h1><p>{about}<p>{day}<p>Room<p>{room}"
            pages.append(in_html(layout.format, name, said, len(pages)))
    assert all(crawled(pages)[20:])


def test_a_print_view_whose_title_and_headline_say_so_is_dropped() -> None:
    rng = Random(6)
    articles = [(f"{words(rng, 2)} {number}", words(rng, 300)) for number in range(30)]
    titled = ((f"Print view: {title}", said) for title, said in articles)
    views = ((title, f"</p><h1>{title}</h1><p>{said}") for title, said in titled)
    assert sum(kept_among(articles, views)) <= 1


def printed(title: str, content: str, path: object) -> Page:
    """Return a page for print, with little beside its *content*."""
    frame = "<table><tr><td><b>Printed for you at {}:07</b></td></tr></table><div><i>Close this page</i></div>"
    around = frame.format(10 + int(str(path)[6:]))
    html = f"<title>{{}}</title>{around}<section><div><p>{{}}</p></div></section>"
    return in_html(html.format, title, content, f"print/{path}")


@pytest.mark.parametrize(("new", "kept"), [(0, range(1, 9)), (3, [20])])
def test_a_short_text_for_print_is_dropped_unless_it_adds_words(new: int, kept: Iterable[int]) -> None:
    """Though both pages have more of a frame than of the article."""
    rng = Random(6)
    said = [(words(rng, 3), f"<p>{words(rng, 90)}</p>") for _ in range(20)]
    shown = [(title, f"{text}<p>{words(rng, 40)}</p>") for title, text in said]
    more = [(title, f"{text}<p>{words(rng, new)}</p>") for title, text in said]
    assert sum(kept_among([*texts(rng, 30), *shown], more, printed)) in kept


@pytest.mark.parametrize(("adds", "kept"), [("", range(9)), ("<p>{}</p>", [20]), (" - {}", [20])])
def test_a_text_for_print_is_dropped_though_its_title_says_so(adds: str, kept: Iterable[int]) -> None:
    """If it is at an address like that of its page, and adds no words and its title no name."""
    rng = Random(6)
    said = [(words(rng, 3), f"<p>{words(rng, 150)}</p>") for _ in range(20)]
    pages = [document(*one, n) for n, one in enumerate(texts(rng, 30))]
    for n, (title, own) in enumerate(said):
        name = words(rng, 3)
        shown = f"{title} - print{adds.format(name) * adds.startswith(' ')}", f"{own}{adds.format(name)}"
        pages += [replace(document(title, own, n), url=f"http://a.example/news/{n}.html")]
        pages += [replace(printed(*shown, f"print/{n}"), url=f"http://a.example/news/{n}_print.html")]
    assert sum(crawled(pages)[31::2]) in kept


@pytest.mark.parametrize(
    ("shown", "more", "kept"), [(printed, "", 0), (printed, "{1}.5 euro", 20), (document, "ask {0}", 20)]
)
def test_views_on_other_hosts_are_copies(shown: Callable[..., Page], more: str, kept: int) -> None:
    """As those for telephones are, but no pages of other shops, nor of other branches."""
    rng = Random(6)
    said = [(words(rng, 3), f"<p>{words(rng, 150)}</p><p>{more}") for _ in range(20)]
    for host, expected in (("a", 0), ("b", kept)):
        pages = [document(*one, n) for n, one in enumerate(texts(rng, 30))]
        for name, html, others in (("a", document, 0), (host, shown, 9)):
            for n, (title, own) in enumerate([*texts(rng, others), *said]):
                page = html(title, own.format(words(rng, 2), rng.randrange(100, 999)), f"there/{n}")
                pages.append(replace(page, url=f"http://{name}.example/{html.__name__}/{n}"))
        assert sum(crawled(pages)[-20:]) == expected


MENU = partial(in_html, f"<title>{{}}</title><ul>{'<li>Go' * 60}</ul>{'<div>' * 9}{{}}".format)


@pytest.mark.parametrize("frames", [(document, printed), (MENU, MENU)])
@pytest.mark.parametrize("title", ["Staff", "Print view: Staff"])
@pytest.mark.parametrize(("adds", "kept"), [("", range(COMMON_PAGES, 9)), ("room {0}", [30])])
def test_records_for_print_are_dropped_once_their_layout_is_known(
    frames: Sequence[Callable[..., Page]], title: str, adds: str, kept: Iterable[int]
) -> None:
    """If they say nothing beside it that the page before theirs, of other tags or nearly theirs, does not."""
    rng, before = Random(6), [document(*one, n) for n, one in enumerate(texts(Random(5), 30))]
    said = [f"<h1>{words(rng, 2)}</h1><p>room {n}, {words(rng, 20)}" for n in range(30)]
    pages = [frames[0]("Staff", one, f"staff/{n}") for n, one in enumerate(said)]
    said = [f"<p>{words(Random(3), 40)}</p>{one}" + adds.format(29 - n) for n, one in enumerate(said)]
    views = [frames[1](title, one, f"staff/{n}") for n, one in enumerate(said)]
    views = [replace(view, url=f"{page.url}/print") for page, view in zip(pages, views, strict=True)]
    assert sum(crawled([*before, *pages, *views])[-30:]) in kept


@pytest.mark.parametrize("value", ["size {}", "on {} May 2027", "{} edition"])
def test_variants_in_two_layouts_are_no_views_of_each_other(value: str) -> None:
    rng, pages = Random(6), [document(*one, n) for n, one in enumerate(texts(Random(5), 30))]
    for n in range(60):
        name, values = words(rng, 2), (value.format(one) for one in ("S", "M", "L"))
        for v, one in enumerate(values):
            said = f"<h1>{name}</h1><p>{one}<p>{words(Random(n), 10)}"
            page = (document, printed)[(n + v) % 2](name, said, f"shop--{n}")
            pages.append(replace(page, url=f"http://a.example/{n}?v={v}"))
    assert all(crawled(pages))


def test_in_the_structure_of_the_page_kept_it_is_no_copy_for_print() -> None:
    rng, html = Random(6), "<title>{}</title><p>Old {} Close".format
    said = [(words(rng, 3), f"</p><p>{words(rng, 90)}</p><p>") for _ in range(6)]
    assert all(kept_among([*texts(rng, 30), *said], said, partial(in_html, html)))


def test_of_a_page_there_are_so_many_copies_in_other_frames() -> None:
    """The next one under the title is a part of a series."""
    rng = Random(6)
    shown = partial(in_html, "<title>{}</title><table><tr><td><ul><li><section>{}".format)
    title, parts = words(rng, 3), [f"<p>{words(rng, 30)}</p>" for _ in range(6)]
    views = [(title, "".join(part for part in parts if part != left_out)) for left_out in parts]
    before = [*texts(rng, 30), (title, "".join(parts))]
    assert kept_among(before, views, shown)[:3] == [False, False, True]


@pytest.mark.parametrize("parts", [2, 3, 8])
def test_what_stands_in_full_on_a_longer_page_of_its_title_is_kept(parts: int) -> None:
    """As the answers to questions do, or the chapters of a book."""
    rng = Random(6)
    said = [("Questions", f"<p>{words(rng, 90)}</p>") for _ in range(parts)]
    whole = "Questions", "".join(text for _, text in said)
    assert all(kept_among([*texts(rng, 30), whole], said, printed))


def test_other_times_are_lost_though_they_are_in_no_pair() -> None:
    rng = Random(6)
    said = [(words(rng, 3), words(rng, 180)) for _ in range(20)]

    def timetable(title: str, text: str) -> Said:
        times = " ".join(f"{rng.randrange(24)}:{rng.randrange(10, 60)}" for _ in range(70))
        return title, f"<p>{text}</p><p>{times}</p>"

    kept, other = ([timetable(*one) for one in said] for _ in range(2))
    assert all(kept_among([*texts(rng, 30), *kept], other, printed))


@pytest.mark.parametrize("sizes", [(18, 6, 8), (90, 120, 0)])
def test_a_record_whose_values_stand_on_other_pages_is_no_copy_for_print(sizes: list[int]) -> None:
    rng = Random(6)
    said = [(words(rng, 3), words(rng, sizes[0]), words(rng, sizes[1])) for _ in range(20)]
    shown = [(title, f"<p>{text}</p><p>{words(rng, sizes[2])}</p>") for title, text, _ in said]
    known = [(values, f"<p>{text.split(' ', 80)[-1]} {values}</p>") for _, text, values in said]
    others = [(title, f"<p>{text} {values}</p>") for title, text, values in said]
    assert sum(kept_among([*texts(rng, 30), *shown, *known], others, printed)) >= 19


@pytest.mark.parametrize("scheme", ["", "http://"])
@pytest.mark.parametrize(
    ("host", "most"), [("a.example/{}", 1), ("b.example/p/{}", 1), ("b.example/{}", 20)]
)
def test_a_page_for_print_may_name_its_address(scheme: str, host: str, most: int) -> None:
    """But one of another host and path is something that it says."""
    rng, pages = Random(1), []
    for number in range(20):
        title, said, name = TEXT.format(number), words(rng, 60), words(rng, 1)
        source = f"<p>Printed from {scheme}{host.format(name)}</p>"
        pages += [document(title, said, name), document(title, f"{said}{source}", f"p/{name}")]
    assert sum(crawled(pages)[1::2]) == most


def test_what_stands_behind_an_address_without_a_space_is_said_all_the_same() -> None:
    said = f"{words(Random(1), 60)} 原文https://a.example/7。{{}}鞋子价格优惠"
    colours = ("红色", "蓝色", "绿色", "黑色", "白色")
    pages = [Page.from_text(said.format(one), url=f"http://a.example/{one}") for one in colours]
    assert all(crawled(pages))


@pytest.mark.parametrize("said", ["", "<p>Back</p>", "<h1>{}</h1>"])
@pytest.mark.parametrize("frame", ["", "<nav><a href=/>Home</a></nav>", f"<nav>{FRAME[0]}</nav>"])
def test_what_has_only_a_title_is_known_by_it(frame: str, said: str) -> None:
    names = ["About us", "Contact", "Legals", "Team", "About us", "Contact"]
    bodies = [f"<title>{name} - Sea</title>{frame}{said.format(name)}" for name in names]
    pages = (Page.from_html(html, url=f"http://a.example/{at}") for at, html in enumerate(bodies))
    assert crawled(pages) == [True] * 4 + [False] * 2


SIZES = {"S": "19.90", "M": "19.90", "L": "21.50", "XL": "23.00"}
FORMS = {
    "json": '<script type="application/ld+json">{{"@type": "Product", "sku": "{}"}}</script>',
    "microdata": '<meta itemprop="sku" content="{}">',
    "none": "",
}


def variant(name: str, described: str, size: str, form: str, *, views: int) -> str:
    """Return a page that differs from those of other sizes in a size, a price and an id."""
    told = FORMS[form].format(f"{name.replace(' ', '')}-{size}")
    return (
        f"<html><head><title>{name}</title>{told}</head><body><h1>{name}</h1><p>{described}</p>"
        f"<p>Size {size}, {SIZES[size]} euro.</p><p>Views: {views}</p></body></html>"
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("form", "prints"), [("json", []), ("microdata", []), ("json", ["?print"])])
def test_no_variant_with_an_id_is_lost_but_copies_drop(form: str, prints: list[str], seed: int) -> None:
    """Of six products in four sizes, also for print; copies of the first come when nothing is known."""
    rng = Random(seed)
    kept, copies = set(), 0
    with Detector(MemoryIndex()) as detector:
        for number in range(6):
            name, described = words(rng, 3), words(rng, 90)
            for size in rng.sample([*SIZES], len(SIZES)):
                for query in (*prints, "", "?session=1"):
                    told = "none" if query in prints else form
                    html = variant(name, described, size, told, views=rng.randrange(10**6))
                    url = f"http://shop.example/{number}-{size}{query}"
                    is_kept = detector.check(Page.from_html(html, url=url)).kept
                    copies += is_kept and (number, size) in kept
                    kept.update([(number, size)] * is_kept)
    assert len(kept) == 24
    assert prints or copies <= 4
