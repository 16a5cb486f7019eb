"""What moves between two answers of one address, as lines of places, and what is left of a page."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import Page
from dedup.reading.noise import Evidence, Gap, Gaps, Noise, lines_of, places_shown

FRAME = "<h1>The site</h1><p>Words that stand on each of its pages, so many that it is a text.</p>"


def page(said: str, title: str = "", url: str = "http://a.example/") -> Page:
    html = f"<html><head><title>{title}</title></head><body>{FRAME}{said}</body></html>"
    return Page.from_html(html, url=url, with_places=True)


def learned(first: list[str], second: list[str]) -> Noise:
    noise = Noise()
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        url = f"http://a.example/{number}"
        noise.learn(page(one, url=url), page(other, url=url))
    return noise


def left(noise: Noise, said: str) -> str:
    masked, _ = noise.gaps.masked(page(said))
    return masked.text.removeprefix(page("").text).strip()


@pytest.mark.parametrize(
    ("template", "rest"),
    [
        ("<p>Views: {0}</p>", "Views:"),
        ("<p>By Fred Ferro, 8 min read, {0} reading now</p>", "By Fred Ferro, 8 min read, reading now"),
        ("<p>{0} queries in 0.{1} seconds</p>", "queries in seconds"),
        ("<p>页面生成时间 0.{0} 秒</p>", "页面生成时间 秒"),
        ("<p>浏览次数：{0}次</p>", "浏览次数：次"),
        ("<p>Printed: 2026-11-27 06:50:{0}</p>", "Printed:"),
        ("<p>打印时间：2026-11-27 06:{0}</p>", "打印时间："),
        ("<p>打印时间：2026年11月27日 06:{0}</p>", "打印时间："),
        ("<p>Opened {0} seconds ago by ann</p>", "Opened by ann"),
        ("<table><tr><th>Views</th><td>{0}</td></tr></table>", "Views"),
        ("<p>Users online: ann{0}, bob{1} and {2} guests</p>", "Users online: and guests"),
        ("<h3>You may also like</h3><ul><li>a{0} b<li>c{1} d<li>e{2}</ul>", "You may also like"),
        ("<div class='promo'><p>Buy a{0} b{1} c{2}</p></div>", ""),
    ],
)
def test_what_moves_is_left_out_and_the_words_beside_it_stay(template: str, rest: str) -> None:
    now = Random(1)
    pages = [template.format(*(now.randint(1000, 9999) for _ in range(3))) for _ in range(9)]
    noise = learned(pages[:4], pages[4:8])
    assert left(noise, pages[8]) == rest


@pytest.mark.parametrize("date", ["{} May 202{}", "202{}-01-1{}", "202{}年1月1{}日"])
def test_a_counter_beside_a_date_is_left_out_though_no_two_pages_have_one_date(date: str) -> None:
    def said(day: int, views: int) -> str:
        return f"<p>Ann, {date.format(day, day)} {views} views {2 * views} likes</p>"

    noise = learned([said(day, 10) for day in range(4)], [said(day, 31) for day in range(4)])
    assert left(noise, said(7, 99)) == f"Ann, {date.format(7, 7)} views likes"
    assert not noise.is_wanted(page(said(8, 9)))


def test_a_number_is_left_out_behind_a_number_sign() -> None:
    names = [f"{name} #{{}} today" for name in ("Ann", "Bob", "Cay", "Dan", "Eve")]
    noise = learned(*([f"<p>{name.format(n)}</p>" for name in names[:4]] for n in (10, 31)))
    assert left(noise, f"<p>{names[4].format(99)}</p>") == "Eve # today"


def test_a_page_is_wanted_if_something_has_moved_once_that_it_has_too() -> None:
    noise = learned(["<p>Views: 10</p>"], ["<p>Views: 12</p>"])
    wanted = [noise.is_wanted(page(f"<p>{said}</p>")) for said in ("Views: 7", "Seen 7 times")]
    assert wanted == [True, False]


@pytest.mark.parametrize(
    ("now", "later"),
    [
        ("<p>Modified {} seconds ago</p>", "<p>Modified 3 hours ago</p>"),
        ("<p>修改于 {} 秒前</p>", "<p>修改于 3 小时前</p>"),
    ],
)
def test_an_age_is_left_out_in_whatever_unit_it_is_told(now: str, later: str) -> None:
    noise = learned(
        [now.format(10 + page) for page in range(4)], [now.format(20 + page) for page in range(4)]
    )
    assert left(noise, later) == left(noise, now.format(59)) != ""


@pytest.mark.parametrize(
    "template",
    [
        "<p>Number {own}, price {now}</p>",
        "<p>Number {own}</p><p>Views {now}</p>",
        "<div class='q'><p>Said {own} by one</p></div><div class='q'><p>It {now} is {now}</p></div>",
        "<h3>Sayings</h3><p>Said {own} by one</p><p>It {now} is {now}</p>",
        "<table><tr><th>Level</th><td>{own}</td></tr><tr><th>Flow</th><td>{now}</td></tr></table>",
        "<p>{own}</p><p class='x'>{now}</p>",
        "<p>Score {own} : {own}</p><p>{now} online</p>",
        "<p>Views: {now} | Year: {own} | Pages: 90</p>",
        "<p>Report ({own}), comments ({now})</p>",
        "<p>Leeds | {own} | {now} views</p>",
        "<p>编号：{own}，阅读：{now}，页数：3</p>",
        "<h3>About</h3><ul><li>red<li>of {own}<li>{now} a<li>{now} b<li>{now} c</ul>",
    ],
)
def test_what_stays_tells_pages_apart(template: str) -> None:
    now = Random(2)

    def answer(own: int) -> str:
        return template.format(own=f"{1000 + own}", now=now.randint(10_000, 99_999))

    noise = learned([answer(n) for n in range(6)], [answer(n) for n in range(6)])
    rests = [left(noise, answer(own)) for own in range(40)]
    assert len(set(rests)) == 40
    assert all(str(1000 + own) in rest for own, rest in enumerate(rests))


def test_two_pages_must_have_moved() -> None:
    views = [f"<p>Views: {n * 7}</p>" for n in range(6)]
    noise = Noise()
    assert not noise.learn(page(views[0]), page(views[1]))
    assert noise.learn(*(page(one, url="http://a.example/2") for one in views[2:4]))
    assert left(noise, views[4]) == "Views:"


def test_what_stays_on_half_of_the_pages_is_no_noise() -> None:
    noise = learned(
        ["<p>Score 1 : 0</p>", "<p>Score 2 : 2</p>", "<p>Score 0 : 3</p>", "<p>Score 4 : 1</p>"],
        ["<p>Score 1 : 1</p>", "<p>Score 3 : 2</p>", "<p>Score 0 : 3</p>", "<p>Score 4 : 1</p>"],
    )
    assert left(noise, "<p>Score 2 : 5</p>") == "Score 2 : 5"


def test_a_page_most_of_which_is_another_teaches_nothing() -> None:
    long = [" ".join(f"w{n * k}" for k in range(1, 60)) for n in range(3, 9)]
    noise = learned(
        [f"<p class='x'>{one}</p>" for one in long[:3]], [f"<p class='x'>{one}</p>" for one in long[3:]]
    )
    assert not noise.evidence


def test_what_is_switched_off_stays_off() -> None:
    views = [f"<p>Views: {n * 7}</p>" for n in range(8)]
    noise = learned(views[:3], views[3:6])
    (*_, gap) = noise.acting
    noise.switch_off(noise.acting)
    noise.learn(page(views[6]), page(views[7]))
    assert gap not in noise.acting
    assert gap not in Noise(noise.aged()).acting


def test_a_name_that_was_drawn_before_is_nobodys_own() -> None:
    names, now = ["ann", "bob", "eve", "dan"], Random(5)
    shown = [f"{', '.join(now.sample(names, 2))} and {now.randint(100, 999)} guests" for _ in range(12)]
    noise = learned(
        *([f"<p>Users online: {one}</p>" for one in part] for part in (shown[:6], shown[6:]))
    )
    (gap,) = (gap for gap in noise.acting if (gap.before, gap.after) == (("online", ":"), ("and",)))
    again = ["ann, bob and 7 guests", "eve, ann and 5 guests", "ann, dan and 9 guests"]
    assert not noise.audit([gap], [page(f"<p>Users online: {one}</p>") for one in again])[1]
    own = [one.replace("ann", "zoe") for one in again]
    assert noise.audit([gap], [page(f"<p>Users online: {one}</p>") for one in own])[1] == {gap}
    # The next crawl does not remember who was drawn: it is not certain before it has asked for some pages.
    after = Noise(noise.aged())
    for said in (again, own):
        answers = [page(f"<p>Users online: {one}</p>") for one in said]
        assert not after.audit([gap], answers)[1]
    for number, (one, other) in enumerate(zip(shown[:3], shown[3:6], strict=True)):
        first, second = (
            page(f"<p>Users online: {said}</p>", url=f"http://b/{number}") for said in (one, other)
        )
        after.learn(first, second)
    assert after.audit([gap], answers)[1] == {gap}


def test_words_that_each_page_has_there_are_nobodys_own() -> None:
    now = Random(5)
    verses = [[f"w{now.randint(10, 999)}" for _ in range(6)] for _ in range(26)]
    poems = [f"<p>A poem: {' '.join(one)} by {' '.join(by)}</p>" for one, by in pairwise(verses)]
    noise = learned(poems[:6], poems[6:12])
    assert left(noise, poems[12]) == "A poem:"


def test_a_place_is_the_same_on_each_kind_of_page() -> None:
    views = [f"<p class='views'>{n * 7}</p>" for n in range(8)]
    pages = [page(one) for one in views]
    other = "<html><body class='list home'><p class='views'>3</p></body></html>"
    noise = learned(views[:4], views[4:])
    of_list = Page.from_html(other, url="http://a.example/list", with_places=True)
    assert noise.gaps.masked(pages[0])[1] == noise.gaps.masked(of_list)[1] != frozenset()


def test_what_stays_for_a_while_is_no_value_where_it_moves_later() -> None:
    noise = learned(["<p>It is 7</p>"] * 4, ["<p>It is 7</p>"] * 4)
    for number in range(4):
        url = f"http://a.example/{number}"
        noise.learn(page("<p>It is 7</p>", url=url), page(f"<p>It is {8 + number}</p>", url=url))
    assert left(noise, "<p>It is 9</p>") == "It is"


def test_evidence_lasts_for_some_crawls() -> None:
    views = [f"<p>Views: {n * 7}</p>" for n in range(6)]
    crawls = [learned(views[:3], views[3:6])]
    for _ in range(4):
        crawls.append(Noise(crawls[-1].aged()))
    acts = [bool(noise.acting) for noise in crawls]
    assert acts[:2] == [True, True]
    assert not acts[-1]
    assert all(before or not after for before, after in pairwise(acts))


def test_a_gap_is_a_value_that_tells_what_it_is() -> None:
    gap = Gap("body>p", ("^", "Views"), ("$", "$"))
    assert gap.shown() == "Views #"
    assert Evidence(moved=2, stayed=1).acts(gap)
    assert not Evidence(moved=2, stayed=2).acts(gap)
    assert not Evidence(moved=9, is_off=True).acts(gap)
    assert not Evidence(moved=9).acts(Gap("body>p"))


@pytest.mark.parametrize(
    ("gaps", "line", "shown"),
    [
        ([Gap("p", ("读", "："), ("次",))], "阅读：17次", "阅读：[17]次"),
        ([Gap("p", ("online", ":"), (",", "lena"))], "online: max, lena", "online: [max], lena"),
        ([Gap("p", ("^",), ("$",), is_number=True)], "Likes 17", "Likes 17"),
        (
            [Gap("p", ("by",), (",",)), Gap("p", (",",), ("views",))],
            "by 9, 17 views",
            "by [9], [17] views",
        ),
        ([Gap("p", heading="Online"), Gap("p", ("a",), ("$",))], "a 7", "[a 7]"),
        (
            [Gap("p", ("第",), ("次",))],
            f"{'访' * 99}第1234次{'问' * 99}",
            f"…{'访' * 19}第[1234]次{'问' * 33}…",
        ),
        ([Gap("p", ("no",), ("of",))], f"{'word ' * 30}no 7 of{' then' * 30}", None),
    ],
)
def test_a_place_is_shown_by_what_moves_there_in_a_piece_of_a_line(
    gaps: list[Gap], line: str, shown: str | None
) -> None:
    evidence = [Evidence().with_page(gap, [line], has_moved=True) for gap in gaps]
    (place,) = places_shown(dict(zip(gaps, evidence, strict=True)))
    said = f"…{'word ' * 3}no [7] of{' then' * 7}…" if shown is None else shown
    assert place == f"p “{said}” (1 page)"


words = st.lists(
    st.sampled_from(["one", "two", "3", "44", "views", ":", "the", "人", "在", "5.5"]), max_size=6
).map(" ".join)
lines = st.lists(words, min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(lines, lines), min_size=1, max_size=4), lines)
def test_leaving_out_only_takes_away(pairs: list[tuple[list[str], list[str]]], said: list[str]) -> None:
    def html(texts: list[str]) -> str:
        return "".join(f"<p class='a'>{text}</p>" for text in texts)

    noise = learned([html(one) for one, _ in pairs], [html(other) for _, other in pairs])
    whole = page(html(said))
    masked, out = noise.gaps.masked(whole)
    assert out <= noise.acting
    assert (masked == whole) or out
    rest = iter(whole.text.replace("\n", " ").replace(" ", ""))
    assert all(sign in rest for sign in masked.text.replace("\n", " ").replace(" ", ""))
    assert Gaps(()).masked(whole) == (whole, frozenset())


def test_each_line_has_its_place() -> None:
    found = page("<div id='a'><p class='b c1'>One<p>Two <b>words</b><br>three</div>", "T")
    assert [line.place for line in lines_of(found)[-3:]] == [
        "body>div#a>p.b",
        "body>div#a>p",
        "body>div#a>p",
    ]
    assert lines_of(found)[0] == ("title", "T")


def test_the_place_of_a_line_is_the_same_whatever_pages_were_read_before() -> None:
    def place_in(html: str) -> str:
        return Page.from_html(html, with_places=True).places[0]

    poison = '<body><section class="article" id="dd"><p>tide</p></section>'
    assert place_in(poison) == "body>section#dd.article>p"
    assert place_in("<body><section><article><dd>The tide turns.</dd></article></section>") == (
        "section>article>dd"
    )
