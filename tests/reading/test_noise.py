"""What moves between two answers of one address, as lines of places, and what is left of a page."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Page
from dedup.model.marks import Exceptions, Said
from dedup.prints.fingerprinter import sentences_digest
from dedup.reading import noise
from dedup.reading.noise import (
    Evidence,
    Gap,
    Gaps,
    Noise,
    SiteLists,
    left_out_of,
    lines_of,
    places_shown,
)
from tests.support.pages import text

FRAME = "<h1>The site</h1><p>Words that stand on each of its pages, so many that it is a text.</p>"
VIEWS = [f"Views: {n * 7}" for n in range(8)]


def page(said: str, title: str = "", number: int = 0) -> Page:
    body = said if said.startswith("<") else f"<p>{said}</p>"
    html = f"<html><head><title>{title}</title></head><body>{FRAME}{body}</body></html>"
    return Page.from_html(html, url=f"http://a.example/{number}", with_places=True)


def learned(first: Iterable[str], second: Iterable[str], noise: Noise | None = None) -> Noise:
    found = noise or Noise()
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        found.learn(page(one, number=number), page(other, number=number))
    return found


def left(noise: Noise, said: str) -> str:
    masked, _ = noise.gaps.masked(page(said))
    return masked.text.removeprefix(page("").text).strip()


@pytest.mark.parametrize(
    ("template", "rest"),
    [
        ("Views: {0}", "Views:"),
        ("By Fred Ferro, 8 min read, {0} reading now", "By Fred Ferro, 8 min read, reading now"),
        ("{0} queries in 0.{1} seconds", "queries in seconds"),
        ("页面生成时间 0.{0} 秒", "页面生成时间 秒"),
        ("浏览次数：{0}次", "浏览次数：次"),
        ("Printed: 2026-11-27 06:50:{0}", "Printed:"),
        ("打印时间：2026年11月27日 06:{0}", "打印时间："),
        ("Opened {0} seconds ago by ann", "Opened by ann"),
        ("<table><tr><th>Views</th><td>{0}</td></tr></table>", "Views"),
        ("Users online: ann{0}, bob{1} and {2} guests", "Users online: and guests"),
        ("<h3>You may also like</h3><ul><li>a{0} b<li>c{1} d<li>e{2}</ul>", "You may also like"),
        ("<div class='promo'><p>Buy a{0} b{1} c{2}</p></div>", ""),
        ("<div class='sig'><p>____</p><p>a{0} b{1} c{2}</p></div>", ""),
        # Beside a date, or a name before a number sign, though no two pages have the same one.
        ("Ann, {own} May 202{own} {0} views {1} likes", "Ann, {own} May 202{own} views likes"),
        ("Ann, 202{own}-01-1{own} {0} views {1} likes", "Ann, 202{own}-01-1{own} views likes"),
        ("Ann, 202{own}年1月1{own}日 {0} views {1} likes", "Ann, 202{own}年1月1{own}日 views likes"),
        ("No {own} by a{0} b{1} today, as ever", "No {own} by today, as ever"),
        (
            "<h2>Story {own}</h2><p class='upd'>Updated {0} minutes ago · {1} shares</p>",
            "Story {own}\nUpdated shares",
        ),
        ("Ann{own} Bee{own} {0} hours ago", "Ann{own} Bee{own}"),
    ],
)
def test_what_moves_is_left_out_and_the_words_beside_it_stay(template: str, rest: str) -> None:
    now = Random(1)
    moving = [[now.randint(1000, 9999) for _ in range(3)] for _ in range(10)]
    shown = [template.format(*it, own=own) for it, own in zip(moving, (0, 1, 2, 3, 7) * 2, strict=True)]
    first, second = shown[:5], shown[5:]
    assert left(learned(first[:4], second[:4]), first[4]) == rest.format(own=7)


def test_only_a_number_is_left_out_where_numbers_move() -> None:
    ten, more = ([f"{name} #{n} today" for name in ("Ann", "Bob", "Cay", "Dan")] for n in (10, 31))
    noise = learned(ten, more)
    assert left(noise, "Eve #99 today") == "Eve # today"
    assert left(noise, "Eve #tide today") == "Eve #tide today"


@pytest.mark.parametrize(
    ("now", "later"),
    [("Modified {} seconds ago", "Modified 3 hours ago"), ("修改于 {} 秒前", "修改于 3 小时前")],
)
def test_an_age_is_left_out_in_whatever_unit_it_is_told(now: str, later: str) -> None:
    noise = learned(map(now.format, range(10, 14)), map(now.format, range(20, 24)))
    assert left(noise, later) == left(noise, now.format(59)) != ""


def test_a_page_is_wanted_if_something_has_moved_once_that_it_has_too() -> None:
    noise = learned(["Views: 10"], ["Views: 12"])
    assert [noise.is_wanted(page(said)) for said in ("Views: 7", "Seen 7 times")] == [True, False]
    early, late = ([f"Ann, 1{day} May 2026 {views} views" for day in range(4)] for views in (10, 31))
    assert not learned(early, late).is_wanted(page("Ann, 18 May 2026 9 views"))


@pytest.mark.parametrize(
    "template",
    [
        "Number {own}, price {now}",
        "<p>Number {own}</p><p>Views {now}</p>",
        "<div class='q'><p>Said {own} by one</p></div><div class='q'><p>It {now} is {now}</p></div>",
        "<h3>Sayings</h3><p>Said {own} by one</p><p>It {now} is {now}</p>",
        "<table><tr><th>Level</th><td>{own}</td></tr><tr><th>Flow</th><td>{now}</td></tr></table>",
        "<p>{own}</p><p class='x'>{now}</p>",
        "<p>Score {own} : {own}</p><p>{now} online</p>",
        "Views: {now} | Year: {own} | Pages: 90",
        "Report ({own}), comments ({now})",
        "Leeds | {own} | {now} views",
        "<p>Seen {now} minutes ago</p><p>Built {own} years ago</p>",
        "编号：{own}，阅读：{now}，页数：3",
        "<h3>About</h3><ul><li>red<li>of {own}<li>{now} a<li>{now} b<li>{now} c</ul>",
    ],
)
def test_what_stays_tells_pages_apart(template: str) -> None:
    now = Random(2)

    def answer(own: int) -> str:
        return template.format(own=f"{1000 + own}", now=now.randint(10_000, 99_999))

    noise = learned(map(answer, range(6)), map(answer, range(6)))
    rests = [left(noise, answer(own)) for own in range(40)]
    assert len(set(rests)) == 40
    assert all(str(1000 + own) in rest for own, rest in enumerate(rests))


def test_a_line_of_its_own_stays_where_other_pages_have_but_a_counter() -> None:
    said = "<h2>Story {0}</h2>{1}<p class=x>a{0}b{2} c{2}</p>".format
    noise = learned((said(n, "", 10 + n) for n in range(6)), (said(n, "", 30 + n) for n in range(6)))
    assert "serial 17" in left(noise, said(7, "<p class=x>serial 17</p>", 8))


@pytest.mark.parametrize(("seconds", "rest"), [(1.1, "9 here"), (5.0, "here"), (60.0, "here")])
def test_what_takes_long_to_move_does_not_stay_for_a_moment(seconds: float, rest: str) -> None:
    """It moves on all of four pages that are asked for so much later, and stays on the others."""
    noise, pages = Noise(), [page(f"{n} here", number=8) for n in range(4)]
    for n in range(16):
        first, second = (page(f"{7 + late} here", number=n) for late in (0, n % 4 == 0))
        noise.learn(first, second, 1.1 if n % 4 else seconds)
    assert left(noise, "9 here") == rest
    assert noise.audit(noise.acting, pages) == (noise.acting, frozenset())
    assert noise.audit(noise.acting, pages[:1] * 4) == (frozenset(), noise.acting)
    takes = noise.seconds(noise.acting)
    for n in range(20, 26):  # they have it not
        noise.learn(page("a", number=n), page("b c", number=n), 1.1)
    assert noise.seconds(noise.acting) == takes


def test_a_heading_that_stays_names_what_is_drawn_though_a_box_of_the_same_kind_goes() -> None:
    """The second answer has no box of what a session has seen; a list of a page's own is like both."""
    box = "<h3>{}</h3><h4>{}</h4><b class=p>${}.50 net</b><h4>{}</h4><b class=p>${}.00 net</b>".format
    steady, now = box("Best", "a lamp", 9, "a chair", 58), Random(3)

    def drawn(name: str) -> str:
        said = (f"{letter}{now.randint(10, 99)} x{now.randint(10, 99)} y" for letter in "abcdefgh")
        return box(name, next(said), now.randint(10, 99), next(said), now.randint(10, 99))

    first = [f"<div class=c>{steady}{drawn('Also')}{drawn('Seen')}</div>" for _ in range(8)]
    noise = learned(first, [f"<div class=c>{steady}{drawn('Also')}</div>" for _ in range(8)])
    said = left(
        noise, f"<div class=c>{steady}{drawn('Also')}{box('Ours', 'c1 x2 y', 3, 'd4 x5 y', 8)}</div>"
    )
    of_it = ["Ours", "c1 x2 y", "$3.50 net", "d4 x5 y", "$8.00 net"]
    assert said.split("\n") == ["Best", "a lamp", "$9.50 net", "a chair", "$58.00 net", "Also", *of_it]


def test_two_pages_must_have_moved() -> None:
    noise = Noise()
    assert not noise.learn(page(VIEWS[0]), page(VIEWS[1]))
    assert noise.learn(page(VIEWS[2], number=2), page(VIEWS[3], number=2))
    assert left(noise, VIEWS[4]) == "Views:"


def test_what_stays_on_half_of_the_pages_is_no_noise() -> None:
    first = ("1 : 0", "2 : 2", "0 : 3", "4 : 1")
    second = ("1 : 1", "3 : 2", "0 : 3", "4 : 1")
    noise = learned(map("Score {}".format, first), map("Score {}".format, second))
    assert left(noise, "Score 2 : 5") == "Score 2 : 5"


def test_a_page_most_of_which_is_another_teaches_nothing() -> None:
    long = [" ".join(f"w{n * k}" for k in range(1, 60)) for n in range(3, 9)]
    assert not learned(long[:3], long[3:]).evidence


def test_what_is_switched_off_stays_off() -> None:
    noise = learned(VIEWS[:3], VIEWS[3:6])
    (*_, gap) = noise.acting
    noise.switch_off(noise.acting)
    noise.learn(page(VIEWS[6]), page(VIEWS[7]))
    assert gap not in noise.acting
    assert gap not in Noise(noise.aged()).acting


def test_a_name_that_was_drawn_before_is_nobodys_own() -> None:
    names, now = ["ann", "bob", "eve", "dan"], Random(5)
    online = "Users online: {}".format
    shown = [f"{', '.join(now.sample(names, 2))} and {now.randint(100, 999)} guests" for _ in range(12)]
    noise = learned(map(online, shown[:6]), map(online, shown[6:]))
    (gap,) = (gap for gap in noise.acting if (gap.before, gap.after) == (("online", ":"), ("and",)))
    said = ["ann, bob and 7 guests", "eve, ann and 5 guests", "ann, dan and 9 guests"]
    again, own = (
        [page(online(one)) for one in each]
        for each in (said, [one.replace("ann", "zoe") for one in said])
    )
    assert not noise.audit([gap], again)[1]
    assert noise.audit([gap], own)[1] == {gap}
    # The next crawl does not remember who was drawn: it is not certain before it has asked for some pages.
    after = Noise(noise.aged())
    assert not after.audit([gap], again)[1]
    assert not after.audit([gap], own)[1]
    learned(map(online, shown[:3]), map(online, shown[3:6]), after)
    assert after.audit([gap], own)[1] == {gap}


def test_words_that_each_page_has_there_are_nobodys_own() -> None:
    now = Random(5)
    verses = [[f"w{now.randint(10, 999)}" for _ in range(6)] for _ in range(26)]
    poems = [f"A poem: {' '.join(one)} by {' '.join(by)}" for one, by in pairwise(verses)]
    assert left(learned(poems[:6], poems[6:12]), poems[12]) == "A poem:"


def test_a_place_is_the_same_on_each_kind_of_page() -> None:
    views = [f"<p class='views'>{n * 7}</p>" for n in range(8)]
    gaps = learned(views[:4], views[4:]).gaps
    other = "<html><body class='list home'><p class='views'>3</p></body></html>"
    of_list = Page.from_html(other, url="http://a.example/list", with_places=True)
    assert gaps.masked(page(views[0]))[1] == gaps.masked(of_list)[1] != frozenset()


def test_what_stays_for_a_while_is_no_value_where_it_moves_later() -> None:
    noise = learned(["It is 7"] * 4, ["It is 7"] * 4)
    learned(["It is 7"] * 4, map("It is {}".format, range(8, 12)), noise)
    assert left(noise, "It is 9") == "It is"


def variant(gaps: list[Gap], said: str, *paths: str) -> str:
    """Return what tells a page apart, its lines at *paths*, by a mark on *gaps*."""
    marks = Exceptions.of([Said("", "", "different", "a", noise.place_name(gaps))])
    made = replace(Page.from_text(said, url="http://a/"), places=paths)
    return noise.MarkedPlaces(marks).obeyed(made).variant


def test_a_mark_tells_the_same_in_each_layout_and_is_of_its_path_where_a_page_has_it() -> None:
    """A page for print says a day at another path; products beside one have prices of the same class."""
    days = [Gap(f"{path}>dd", heading="Day") for path in ("dl", "main>dl")]
    said = ("dl", "Monday"), ("main>dl", "Monday"), ("dl", "Friday")
    told = (variant(days, f"Day\n{day}", f"{path}>dt", f"{path}>dd") for path, day in said)
    monday, printed, friday = told
    assert "" != monday == printed != friday
    price = Gap("div>b.price", ("EUR",), ("$", "$"))
    both = (f"EUR {own}\nEUR {other}" for own, other in ((9, 5), (9, 7), (8, 5)))
    one, reloaded, another = (variant([price], said, "div>b.price", "ul>li>b.price") for said in both)
    assert "" != one == reloaded != another


def test_what_does_not_matter_is_left_out_with_its_label_in_each_layout() -> None:
    gap = Gap("div>p.at", ("Printed", "on"), ("$", "$"))
    said = Exceptions.of([Said("", "", "copy", "a", noise.place_name([gap]))])
    texts = "A tide table\nPrinted on 1 May\nNot printed on 2 May"
    for place, left in ("main>p.at", (0, 2)), ("p.on", (0, 1, 2)):
        made = replace(Page.from_text(texts, url="http://a/"), places=(place,) * 3)
        lines = noise.MarkedPlaces(said).obeyed(made).text.split("\n")
        assert lines[: len(left)] == [texts.split("\n")[number] for number in left]


def test_evidence_lasts_for_some_crawls() -> None:
    crawls = [learned(VIEWS[:3], VIEWS[3:6])]
    for _ in range(4):
        crawls.append(Noise(crawls[-1].aged()))
    acts = [bool(noise.acting) for noise in crawls]
    assert acts[:2] == [True, True]
    assert not acts[-1]
    assert acts == sorted(acts, reverse=True)


def test_a_gap_is_a_value_that_tells_what_it_is_and_when_it_acts() -> None:
    gap = Gap("body>p", ("^", "Views"), ("$", "$"))
    assert gap.shown() == "Views #"
    assert Evidence(moved=2, stayed=1).acts(gap)
    for evidence in (Evidence(moved=2, stayed=2), Evidence(moved=9, is_off=True)):
        assert not evidence.acts(gap)
    assert not Evidence(moved=9).acts(Gap("body>p"))


def between(before: str, after: str) -> Gap:
    return Gap("p", tuple(before.split()), tuple(after.split()))


@pytest.mark.parametrize(
    ("gaps", "line", "shown"),
    [
        ([between("读 ：", "次")], "阅读：17次", "阅读：[17]次"),
        ([between("online :", ", lena")], "online: max, lena", "online: [max], lena"),
        ([Gap("p", ("^",), ("$",), is_number=True)], "Likes 17", "Likes 17"),
        ([between("by", ","), between(",", "views")], "by 9, 17 views", "by [9], [17] views"),
        ([Gap("p", heading="Online"), between("a", "$")], "a 7", "Online: [a 7]"),
        ([Gap("p", heading="Online")], "", "Online: #"),
        ([between("and", ","), between("1 ,", "$")], "and 1, 2", "and [1], [2]"),
        ([between("and", "of"), between("1", "3")], "and 1 2 of 3", "and [1 2 of] 3"),
        ([between("第", "次")], f"{'访' * 99}第123次{'问' * 99}", f"…{'访' * 19}第[123]次{'问' * 34}…"),
        (
            [between("no", "of")],
            f"{'word ' * 30}no 7 of{' then' * 30}",
            f"…{'word ' * 3}no [7] of{' then' * 7}…",
        ),
    ],
)
def test_a_place_is_shown_by_what_moves_in_its_line(gaps: list[Gap], line: str, shown: str) -> None:
    evidence = [Evidence().with_page(gap, [line], has_moved=True) for gap in gaps]
    (place,) = places_shown(dict(zip(gaps, evidence, strict=True)))
    assert place == f"p “{shown}” (1 page)"


PARTS = ["one", "two", "3", "44", "views", ":", "the", "人", "在", "5.5"]
lines = st.lists(st.lists(st.sampled_from(PARTS), max_size=6).map(" ".join), min_size=1, max_size=5)
htmls = lines.map(lambda said: "".join(f"<p class='a'>{one}</p>" for one in said))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(htmls, htmls), min_size=1, max_size=4), htmls)
def test_leaving_out_only_takes_away(pairs: list[tuple[str, str]], said: str) -> None:
    noise, whole = learned([one for one, _ in pairs], [other for _, other in pairs]), page(said)
    masked, out = noise.gaps.masked(whole)
    assert out <= noise.acting
    assert (masked == whole) or out
    rest = iter("".join(whole.text.split()))
    assert all(sign in rest for sign in "".join(masked.text.split()))
    assert Gaps(()).masked(whole) == (whole, frozenset())


@pytest.mark.parametrize("seed", range(12))
def test_in_brackets_are_the_words_that_are_left_out(seed: int) -> None:
    """Of a place where others stand that stay, as the cells of a table."""
    made = Random(seed)
    parts = ["{1} guests, {2} members", "Seen {1} times", "by {0}, {2}", "{1}", "The board", "The site"]
    said = "".join(
        made.choice(("<p>{}</p>", "<h4>{}</h4>")).format(made.choice(parts)) for _ in range(9)
    )
    shown = (
        f"<p>Seen {{1}} times</p>{said}".format(made.choice("abc"), *made.choices(range(10, 99), k=2))
        for _ in range(12)
    )
    pairs = [*zip(shown, shown, strict=True)]
    noise, whole = learned([one for one, _ in pairs], [other for _, other in pairs]), page(pairs[0][0])
    rest, lines = noise.gaps.masked(whole)[0].text.split("\n"), whole.text.split("\n")
    told = "\n".join(places_shown(left_out_of(lines_of(whole), noise.evidence)))
    examples = re.findall("“(?:The [a-z]+: )?(.*)”", told)
    for one in examples or [""]:
        line, left = re.sub(r"[][]", "", one), " ".join(re.sub(r"\[.+?\]", "", one).split())
        assert left in rest if left and line in lines else rest.count(line) < lines.count(line)


def test_each_line_has_its_place_whatever_pages_were_read_before() -> None:
    found = lines_of(page("<div id='a'><p class='b c1'>One<p>Two <b>words</b><br>three</div>", "T"))
    places = ["body>div#a>p.b", "body>div#a>p", "body>div#a>p"]
    assert [line.place for line in found[-3:]] == places
    assert found[0] == ("title", "T")
    for html, place in (
        ('<body><section class="article" id="dd"><p>tide</p></section>', "body>section#dd.article>p"),
        ("<body><section><article><dd>The tide turns.</dd></article></section>", "section>article>dd"),
        (f"<body><ul><li class='b {'c' * 56} d'>The tide turns.</ul>", "body>ul>li.b.d"),
    ):
        assert Page.from_html(html, with_places=True).places[0] == place


def test_a_line_has_its_own_place_though_the_frame_has_the_same_line_before_it() -> None:
    words = "".join(f"<p>The tide of day {day} turns and the boats come home.</p>" for day in range(9))
    html = f"<body><nav><p>Tides</p></nav><main><h1>Tides</h1>{words}</main></body>"
    found = Page.from_html(html, with_places=True)
    assert found.text.startswith("Tides")
    assert found.places[0] == "body>main>h1"


# Lists of the site

ROWS = {
    "table": "<tr><td>{}<td>{}",
    "table class=facts": "<tr><th>{}<td>{}",
    "dl": "<dt>{}<dd>{}",
    "ul": "<li>{} {}",
    "div": "<p>{}<p>{}",
}


class Days:
    """A site, drawn by *now*: facts from small sets beside what all pages show, another thing each day."""

    def __init__(self, now: Random) -> None:
        self.now, self.around = now, now.choice([*ROWS])
        self.values = [[f"{name}{n}" for n in range(now.randint(2, 5))] for name in "abcd"]
        self.facts = [[*map(now.choice, self.values)] for _ in range(now.randint(12, 24))]
        self.beside = now.choice(["row", "line", "list", "list", "bare list"])
        self.below = now.choice(["", "<li>Day {} by Ann</li>"])  # each link of a list

    def page(self, number: int, day: int) -> Page:
        rows = [*zip("ABCD", self.facts[number], strict=True), ("Day", f"Dec {day}")]
        facts = "".join(ROWS[self.around].format(*row) for row in rows[: 4 + (self.beside == "row")])
        news = "".join(f"<li>{one}</li>{self.below.format(day)}" for one in self.links(day))
        beside = {"row": "", "line": f"<p>Weather {day}</p>", "bare list": f"<ul>{news}</ul>"}
        more = beside.get(self.beside, f"<h3>Latest</h3><ul>{news}</ul>")
        own = f"<p>{text(number, 60)}</p><h3>Facts</h3><{self.around}>{facts}</{self.around.split()[0]}>"
        return page(f"<div>{own}</div><div>{more}</div>", f"Item {number}", number)

    def links(self, day: int) -> list[str]:
        return [text(900 + day * 4 + n, 6) for n in range(6)]

    def changed(self) -> set[int]:
        """Change some facts of none, few or half of the pages, and return which."""
        numbers, changed = range(len(self.facts)), set[int]()
        for number in self.now.sample(numbers, self.now.choice([0, 2, len(numbers) // 2])):
            before, at = list(self.facts[number]), self.now.randrange(4)
            self.facts[number][at] = self.now.choice(self.values[at])
            changed |= {number} if before != self.facts[number] else set()
        return changed


def delivered(days: Iterable[Iterable[tuple[int, Page, Collection[str]]]]) -> Iterator[set[int]]:
    """Yield which of the pages of each day, with the texts of their links, are not as they were."""
    known, last, before = dict[Gap, Evidence](), dict[int, Page](), dict[int, bytes]()
    for pages in days:
        lists, changed = SiteLists(known), set[int]()
        for number, now, links in pages:
            on = lists.on(now)
            digest = sentences_digest((lists.own(now, on) or now).text)
            if number in last and (own := lists.own_before(last[number], on)):
                before[number] = sentences_digest(own.text)
            changed |= {number} if digest != before.get(number) else set()
            if number in last and lists.wants(is_changed=number in changed):
                lists.learn(now, last[number] if number in changed else now, links)
            if number in changed:
                last[number], before[number] = now, digest
        known = lists.evidence
        yield changed


def missed_and_delivered(seed: int) -> tuple[int, int, int]:
    """Return how many changes four days miss, and what the second and last deliver for nothing."""
    site, changed = Days(Random(seed)), list[set[int]]()

    def days() -> Iterator[list[tuple[int, Page, list[str]]]]:
        for day in range(5):
            changed.append(site.changed())
            order = site.now.sample(range(len(site.facts)), len(site.facts))
            yield [(number, site.page(number, day), site.links(day)) for number in order]

    found = [*zip(delivered(days()), changed, strict=False)][1:]
    told, missed = [len(came - own) for came, own in found], sum(len(own - came) for came, own in found)
    return missed, told[0], told[-1] if site.beside == "list" else 0


def test_a_list_of_the_site_is_no_change_of_a_page_and_no_other_change_is_missed() -> None:
    missed, first, last = map(sum, zip(*map(missed_and_delivered, range(16)), strict=True))
    assert missed == 0
    assert last < first / 8


def box(history: str, number: int, day: int) -> tuple[list[str], object]:
    """Return the lines of a box beside a page, and what of it is the page's own."""
    if history == "sizes":  # other ones of each model, one more each day
        count = 3 + (number // 6 < day)
        return [f"Size {size}" for size in range(count)], count
    news, is_other = [text(900 + day * 4 + n, 6) for n in range(6)], number in {7, 9}
    if history == "a line" and number > 11:
        return [f"Sold: {day > 1}"], day > 1
    if history == "other links" and is_other:
        return [text(700 + number + n, 6) for n in range(6 - (day > 1))], day > 1
    is_gone = history == "gone" and day == 2 and is_other
    return [] if is_gone else news, day * (history == "alone" and is_other) or is_gone


@pytest.mark.parametrize("history", ["gone", "a line", "sizes", "other links", "alone"])
def test_a_list_that_is_a_pages_own_is_a_change(history: str) -> None:
    def day_of(day: int) -> Iterator[tuple[int, Page, list[str]]]:
        for number in sorted(range(24), key=lambda number: number // 6 != day - 1):
            lines, is_alone = box(history, number, day)[0], history == "alone" and number in {7, 9}
            more = f"<h3>Box</h3><ul>{''.join(map('<li>{}'.format, lines))}</ul>"
            said = f"<div><p>{text(number, 60 * (not is_alone))}</p>{more}</div>"
            yield number, page(said, f"Item {number}", number), lines if history != "sizes" else []

    for day, found in enumerate(delivered(map(day_of, range(5)))):
        own = [[box(history, number, at)[1] for at in (day - 1, day)] for number in range(24)]
        assert {number for number, (was, now) in enumerate(own) if was != now} <= found


@pytest.mark.parametrize("of_few", [True, False])
def test_lists_of_links_of_few_pages_and_of_each_are_not_the_sites(of_few: bool) -> None:
    lists = SiteLists()
    for number in range(30):
        links = [text((not of_few) * number * 9 + n, 6) for n in range(9)]
        has_changed = number > 20 or not of_few
        now, before = (
            page(
                f"<p>{text(number, 90)}</p><ul class=a>{''.join(map('<li>{}'.format, some))}</ul>",
                f"{number}",
            )
            for some in (links[:5], links[4 * has_changed :][:5])
        )
        assert not lists.learn(now, before, links)


def test_the_law_of_lists_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what has changed on three pages is left out, whatever the pages beside them show."""

    def of_site(gap: Gap, pages: list[noise._Shown]) -> Evidence | None:
        changed = sum(gap in one.now and one.now[gap] != one.before.get(gap) for one in pages)
        return Evidence(changed, is_of_site=True) if changed > 2 else None

    def repeated(_: object, page: Page, gaps: Gaps) -> frozenset[Gap]:
        return frozenset(gaps.leave_out(lines_of(page)).out)

    monkeypatch.setattr(noise, "_of_site", of_site)
    monkeypatch.setattr(noise._LastSeen, "repeated", repeated)
    assert sum(missed_and_delivered(seed)[0] for seed in range(16))
