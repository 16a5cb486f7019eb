"""Addresses asked twice: what moves is left out, what stays tells pages apart, and nobody is harmed."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler
from itertools import count, islice
from pathlib import Path
from random import Random
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy

from crawler.example import running
from dedup import Detector, MemoryIndex, Page, SQLiteIndex
from dedup.index.notes import SiteNoise, all_noise, put_noise
from dedup.model.verdict import Outcome
from dedup.plugin import probes as module
from dedup.reading.noise import Evidence, Gap, Noise
from tests.plugin.spiders import Moving, Site, moving_site
from tests.support.crawling import KNOBS, NOTHING, PAUSE, Crawl, crawl, document
from tests.support.pages import text

ARTICLES, TURNS = 30, 3

# Until 2.14 Scrapy waits a tenth of a second before each callback: twenty pages of these sites.
AT_ONCE = {} if scrapy.version_info >= (2, 15) else {"scrapy.utils.defer._DEFER_DELAY": 0}


def addresses(articles: int = ARTICLES, turns: int = TURNS, seed: int = 1) -> list[str]:
    found = [f"/{number}/{turn}" for number in range(articles) for turn in range(turns)]
    Random(seed).shuffle(found)
    return found


def run(
    folder: Path, answer: Moving, paths: Sequence[str], *, spider: str = "ListedSpider", **settings: Any
) -> tuple[Crawl, Mapping[str, int]]:
    with moving_site(answer) as (site, asked):
        return visited(folder, site, paths, spider=spider, **settings), asked


def visited(
    folder: Path, site: str, paths: Sequence[str], spider: str = "ListedSpider", **settings: Any
) -> Crawl:
    urls = json.dumps([site + path for path in paths])
    knobs = {KNOBS: AT_ONCE | settings.pop(KNOBS, {})}
    # One item a page: Scrapy makes as many tasks for each as may be under way.
    given = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_ITEMS": 1, **settings, **knobs}
    return crawl(folder, f"tests.plugin.spiders.{spider}", given, {"urls": urls})


def numbers(done: Crawl) -> list[int]:
    return [int(item["url"].split("/")[3]) for item in done.items]


@pytest.mark.parametrize("source", ["item", "response"])
def test_copies_are_dropped_whatever_moves_on_them(tmp_path: Path, source: str) -> None:
    done, asked = run(tmp_path, Site(), addresses(), DEDUP_SOURCE=source)
    assert set(numbers(done)) == set(range(ARTICLES))
    # Half of the pages came before enough addresses had been asked for twice.
    met: set[str] = set()
    kept = {item["url"].split("/", 3)[3] for item in done.items}
    late = [path for place, path in enumerate(addresses()) if place >= 45 and path[1:] in kept]
    for path in addresses():
        if path.split("/")[1] in met:
            assert path not in late, path
        met.add(path.split("/")[1])
    assert "left out, as it changes by itself, on 127.0.0.1: " in done.log
    twice = sum(asked.values()) - ARTICLES * TURNS
    assert 3 <= twice == done.dedup()["asked_twice"] <= module.FEWEST
    with SQLiteIndex(tmp_path / "pages.db") as index:
        (site,) = all_noise(index.store)
        shown = {gap.shown() for gap, evidence in site.gaps.items() if evidence.acts(gap)}
    assert "Staff, # reading now" in shown
    assert any("秒" in one for one in shown)


def test_nothing_is_learned_of_what_is_ignored(tmp_path: Path) -> None:
    done, _ = run(tmp_path, Site(), addresses(), DEDUP_IGNORE="p.meta, p.meta ~ div, p.meta ~ div ~ p")
    assert sorted(numbers(done)) == [*range(ARTICLES)]
    assert "when a page is asked for again\n" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert not any(site.gaps for site in all_noise(index.store))


def test_each_named_element_of_a_page_is_counted_as_long_as_there_is_room() -> None:
    host, page = module._Host("a.example"), Page("http://a.example/b/1", b"", "", language="de")
    pages = ("ul.a>li", "ul.a>li", "body>p"), ("body>p", "b"), ("ul.a>li", "b")
    found = [host.elements_of(replace(page, places=places)) for places in pages]
    assert [[one.pages for one in elements] for elements in found] == [[3, 2], [3, 1, 1], [3, 2]]
    for number in range(module._MOST_TEXTS):
        host.elements_of(replace(page, places=(f"p#{number}",)))
    assert len(host.elements) == module._MOST_TEXTS


@pytest.mark.parametrize("other", ["language", "element"])
def test_each_named_element_is_asked_for_twice_in_each_language(tmp_path: Path, other: str) -> None:
    """Printed pages come when nothing has moved for long; what moves there is found all the same."""
    now = Random(5)

    def answer(path: str, before: int) -> str:
        number, turn = map(int, path.strip("/").split("/"))
        noise = f"Printed {now.randint(1, 10**6)}" if turn else "Read by all"
        body = f"<p>{text(number, 60)}</p><ul class={other if turn else 'all'}><li>{noise}</ul>"
        page = document("Printed" if turn else "Article", f"<main>{body}</main>")
        return page.replace("<html", f'<html lang="{"de" if turn and other == "language" else "en"}"')

    paths = [*(f"/{n}/0" for n in range(170)), *(f"/{n}/{m}" for n in range(170, 200) for m in (1, 2))]
    done, _ = run(tmp_path, answer, paths, KNOBS={PAUSE: 0.0})
    assert set(numbers(done)) == set(range(200))
    assert f"left out, as it changes by itself, on 127.0.0.1: ul.{other} > li “Printed [" in done.log
    assert len(done.items) < 220  # of 230


def test_pages_that_are_others_than_in_the_last_crawl_are_asked_for_twice(tmp_path: Path) -> None:
    """Of a kind of few pages none is asked for, until a counter on them has changed."""
    now, paths = Random(6), [*(f"/{n}/0" for n in range(60)), *(f"/{n}/1" for n in range(60, 64))]

    def answer(path: str, before: int) -> str:
        number, turn = map(int, path.strip("/").split("/"))
        said, count = text(number, 60), now.randint(1, 10**6)
        article = f"<p>{said}<ul><li>{count} views</ul>"
        event = f"<main><div><dl><dd>{said}<dd>{count} people are interested</dl></div></main>"
        return document("Event" if turn else "Article", event if turn else article)

    with moving_site(answer) as (site, _):
        days = [numbers(visited(tmp_path, site, paths, DEDUP_UNCHANGED="drop")) for _ in range(4)]
    assert [len(one) for one in days[2:]] == [0, 0]


def test_what_is_known_is_asked_for_less_and_kinds_with_many_pages_are_asked_for(tmp_path: Path) -> None:
    """Threads come last, after articles whose clock is known soon, and after pages of many other kinds."""
    now = Random(8)
    kinds = ("dl dd", "ol li", "table td", "figure figcaption", "section h5", "details h4")

    def answer(path: str, before: int) -> str:
        kind, number = path.strip("/").split("/")
        words = text(int(number) + 1000 * len(kind), 60)
        if kind in map(str, range(len(kinds))):
            around, each = kinds[int(kind)].split()
            first = 90 * int(kind) + int(number)
            said = "".join(f"<{each}><b>{text(first + n, 9)}</b>" for n in range(6))
            return document("Other", f"<{around}>{said}</{around}>")
        noise = f"<p class={kind}>{kind} {now.randint(1, 10**6)} now</p>"
        around = "<div><ul><li><div>{}</div></ul></div>" if kind == "thread" else "<main>{}</main>"
        return document(kind, around.format(f"<p>{words}</p>{noise}"))

    paths = [f"/article/{n}" for n in range(80)]
    paths += [f"/{kind}/{n}" for kind in range(len(kinds)) for n in range(4)]
    paths += [f"/thread/{n}" for n in range(40)]
    with moving_site(answer) as (site, asked):
        twice = list[int]()
        for crawls in range(1, 4):
            done = visited(tmp_path, site, paths, DEDUP_UNCHANGED="drop", KNOBS={PAUSE: 0.0})
            assert bool(done.items) == (crawls == 1)
            assert "p.thread “thread [" in done.log
            twice.append(sum(asked.values()) - len(paths) * crawls - sum(twice))
    assert max(twice) < module.FEWEST, twice


def test_a_clock_that_stays_for_a_while_is_met_later(tmp_path: Path) -> None:
    def answer(path: str, before: int) -> str:
        own = text(int(path.split("/")[1]), 60)
        return document("", f"<p>{own}</p><p>It is {monotonic() // 0.8:.0f}</p>")

    knobs = {PAUSE: 0.0, "dedup.plugin.probes._APART": 0.1, "dedup.reading.noise._QUICK": 1}
    paths = [f"/{number}/0" for number in range(300)]
    done, asked = run(tmp_path, answer, paths, KNOBS=knobs, DOWNLOAD_DELAY=0.015)
    assert "“It is [" in done.log
    assert max(asked.values()) == 2


@pytest.mark.parametrize(
    "given", [{"DEDUP_PROBES": 0}, {"spider": "TextSpider", "DEDUP_TEXT_FIELDS": ["text"]}], ids=str
)
def test_nothing_is_asked_twice_in_vain(tmp_path: Path, given: dict[str, Any]) -> None:
    done, asked = run(tmp_path, Site(), addresses(), **given)
    assert set(asked.values()) == {1}
    assert (len(done.items) > ARTICLES * (TURNS - 1)) == ("DEDUP_PROBES" in given)


def test_no_record_is_lost_whose_counters_move(tmp_path: Path) -> None:
    class Records(Site):
        def body(self, number: int) -> str:
            return f"<p>Number {1000 + number}, price now {self.now.randint(1, 99)}.50</p>"

    done, _ = run(tmp_path, Records(), addresses(60, 2))
    kept = numbers(done)
    assert set(kept) == set(range(60))
    assert len(kept) < 80


@pytest.mark.parametrize("titled", [False, True])
def test_what_nothing_but_noise_tells_apart_is_kept(tmp_path: Path, titled: bool) -> None:
    now = Random(3)

    def answer(path: str, before: int) -> str:
        said = f"<p>{text(7, 60)}</p><p>Value: {now.randint(1, 10**6)}</p>"
        return document(f"Sensor {path}" if titled else "Sensor", said)

    done, _ = run(tmp_path, answer, addresses(60, 1))
    # The second page of a site, of which nothing is known yet, may lose its value.
    assert len(done.items) >= 59


def test_what_nothing_but_noise_tells_apart_is_kept_if_it_comes_later(tmp_path: Path) -> None:
    site = Site()

    def answer(path: str, before: int) -> str | int:
        if int(path.split("/")[1]) < 40:
            return site(path, before)
        above, below = site.noise()
        return document("The site", f"<p>{text(999, 40)}</p>{above}<p>A sensor</p>{below}")

    done, _ = run(tmp_path, answer, [f"/{number}/0" for number in range(80)])
    assert set(numbers(done)) >= set(range(40))
    assert len(done.items) == 80


def test_a_counter_that_moves_acquits_nothing_else(tmp_path: Path) -> None:
    now = Random(6)

    def answer(path: str, before: int) -> str:
        number, views = int(path.split("/")[1]), f"<p>Views: {now.randint(1, 9999)}</p>"
        if number < 40:
            score = f"<p>Score {now.randint(0, 9)} : {now.randint(0, 9)}</p>"
            return document("Games", f"<p>{text(number, 60)}</p>{views}{score}")
        if number < 200:
            return document("Games", f"<p>{text(number, 60)}</p>{views}")
        return document("Games", f"<p>The final result</p><p>Score {number % 7} : {number // 7}</p>")

    articles = [f"/{number}/{turn}" for number in range(100, 140) for turn in range(2)]
    mixed = articles + [f"/{number}/0" for number in range(200, 220)]
    Random(7).shuffle(mixed)
    done, _ = run(tmp_path, answer, [*(f"/{number}/0" for number in range(40)), *mixed])
    assert set(numbers(done)) == {*range(40), *range(100, 140), *range(200, 220)}


def test_a_real_text_beside_one_that_moves_is_no_noise(tmp_path: Path) -> None:
    now = Random(4)

    def answer(path: str, before: int) -> str:
        own, drawn = text(int(path.split("/")[1]), 12), text(now.randrange(500, 540), 12)
        quotes = "".join(f"<div class='quote'><p>{each}</p></div>" for each in (own, drawn))
        return document("Quotations", f"<h3>All quotations</h3>{quotes}<p>{text(999, 60)}</p>")

    done, _ = run(tmp_path, answer, addresses(60, 1))
    assert len(done.items) == 60


def test_what_an_audit_does_not_confirm_is_given_back(tmp_path: Path) -> None:
    """At first only pages with adverts come; then, at the same place, lists that are their own."""
    adverts = count(500)

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        seeds = islice(adverts, 4) if number < 80 else range(number, number + 4)
        items = "".join(f"<li>{text(seed * 7, 6)}</li>" for seed in seeds)
        own = text(number if number < 80 else 81, 60)
        said = f"<p>{own}</p><h3>Also here</h3><ul>{items}</ul><p>{text(999, 40)}</p>"
        return document("The shop", said)

    paths = [f"/{number}/0" for number in range(80)] + [f"/{number}/0" for number in range(100, 160)]
    done, _ = run(tmp_path, answer, paths)
    assert set(numbers(done)) == {*range(80), *range(100, 160)}
    assert "No longer left out on 127.0.0.1: ul > li “Also here: [" in done.log
    assert "left out, as it changes by itself" not in done.log


def test_a_place_that_often_stays_is_asked_for_until_that_is_no_chance(tmp_path: Path) -> None:
    """On one page of four it stays at three requests, as two guests do."""

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        seed = f"{path} {before}" if number % 4 else f"{path} {before // 3}"
        guests = Random(seed).randint(1, 10**6)
        return document("The town", f"<p>{text(number, 60)}</p><p>Now reading: {text(guests, 8)}</p>")

    most = 0
    for turn in range(5):  # which pages are audited is a matter of time
        (folder := tmp_path / str(turn)).mkdir()
        done, asked = run(folder, answer, addresses(), KNOBS={PAUSE: 0.0})
        most = max(most, *asked.values())
        assert set(numbers(done)) == {*range(ARTICLES)}
        assert "left out, as it changes by itself, on 127.0.0.1: " in done.log
        assert "No longer left out" not in done.log
        if most > 3:
            break
    assert most > 3


def test_a_place_is_certain_by_what_earlier_crawls_and_this_one_have_seen() -> None:
    """Not by this one alone: where it has not moved before, only an audit acquits what was dropped."""
    gap, other = Gap("p", ("read",), ("times",)), Gap("p", ("score",), ("goals",))
    earlier = {gap: Evidence(moved=1, crawls=1)}
    host = module._Host("a.example", Noise(earlier), known=earlier)
    evidence, seen = host.noise.evidence, []
    for has_moved in (True, True, False):
        for one in (gap, other):
            found = evidence.get(one, Evidence())
            evidence[one] = found.with_page(one, ["read 7 times"], has_moved=has_moved)
        seen.append((host.seen(frozenset({gap})), host.seen(frozenset({gap, other}))))
    assert seen == [(2, 0), (3, 0), (1, 0)]


def test_what_a_stopped_crawl_could_not_check_is_told_and_kept_by_the_next(tmp_path: Path) -> None:
    done, _ = run(tmp_path, Site(), addresses(), CLOSESPIDER_PAGECOUNT=60)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        restored = [row for row in index.rows() if row.outcome is Outcome.RESTORED]
    assert len(restored) == done.dedup()["unaudited"] > 0
    assert f"{len(restored)} copies not checked for that before the crawl was stopped" in done.log


def test_what_stays_uncertain_is_given_back_and_not_asked_for_again_and_again(tmp_path: Path) -> None:
    now = Random(5)

    def answer(path: str, before: int) -> str:
        number, words = int(path.split("/")[1]), [f"w{now.randint(10, 10**6)}" for _ in range(20)]
        if number >= 40:
            words[10] = f"own{chr(97 + number % 26)}{chr(97 + number // 26)}"
        return document("", f"<p>{text(number, 60)}</p><p>A poem: {' '.join(words)}</p>")

    paths = [f"/{number}/{turn}" for number in range(70) for turn in range(2)]
    done, _ = run(tmp_path, answer, paths, DEDUP_PROBES=90)
    assert "are kept, as nothing confirmed that this changes by itself: " in done.log
    assert "requested_again" not in done.dedup()
    assert set(numbers(done)) == set(range(70))
    assert done.dedup()["asked_twice"] < 60  # of 126


def test_what_repeats_another_page_as_it_came_needs_no_audit(tmp_path: Path) -> None:
    """A quotation is drawn at random at first, and then stays for long."""
    drawn = count(500)

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        quotation = text(next(drawn) if number < 40 else 7, 9)
        said = f"<p>{text(number, 60)}</p><h3>Now</h3><p class=q>{quotation}</p><!--{path}-->"
        return document("", said)

    later = [f"/{number}/{turn}" for number in range(40, 70) for turn in range(2)]
    done, _ = run(tmp_path, answer, [*(f"/{number}/0" for number in range(40)), *later])
    assert sorted(numbers(done)) == [*range(70)]
    assert "given_back" not in done.dedup()


def test_a_page_on_which_stays_what_moves_on_others_like_it_is_not_lost(tmp_path: Path) -> None:
    """Articles have a voice drawn at random, pages of members each its own."""
    now, drawn = Random(6), count(1000)

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        voice = text(next(drawn) if number < 40 else number + 500, 12)
        own = text(number, 60) if number < 40 else f"Joined in {number // 3}. {text(999, 20)}"
        return document("Society", f"<p>{own}</p><h3>Voices</h3><p class=voice>{voice}</p>")

    paths = [*addresses(40, 2), *(f"/{number}/0" for number in range(40, 100))]
    now.shuffle(paths)
    done, _ = run(tmp_path, answer, paths)
    assert set(numbers(done)) == {*range(100)}


def test_what_is_left_out_makes_no_other_version_of_a_record() -> None:
    """A list on all pages is not known to be common where it is left out of them."""
    with Detector(MemoryIndex()) as detector:
        for number in range(8):
            detector.check(Page.from_text(text(number, 60), url=f"http://a.example/{number}"))
        said = [f"{text(999, 20)} {text(number, 12)}" for number in (500, 501)]
        kept, page = (Page.from_text(f"{one} {text(300, 200)}", url="http://a.example/") for one in said)
        seen = detector.sighting(Page.from_text(text(999, 20), url="http://a.example/"))
        prints = detector.fingerprint(kept), detector.fingerprint(page)
        assert not module._repeats(*prints, seen, "a.example", detector)
        assert module._repeats(prints[0], prints[0], seen, "a.example", detector)


LOGIN = document("Log in", "<form><input name=user><input type=password name=p></form>")


@pytest.mark.parametrize("second", [429, 404, 500, LOGIN], ids=["busy", "gone", "broken", "login"])
def test_a_site_that_refuses_is_asked_no_more(tmp_path: Path, second: int | str) -> None:
    site = Site()

    def answer(path: str, before: int) -> str | int:
        return second if before else site(path, before)

    done, asked = run(tmp_path, answer, addresses(20))
    assert sum(asked.values()) - 60 <= 5  # those under way
    assert set(numbers(done)) == set(range(20))


@pytest.mark.parametrize(("failing", "status"), [({1, 2}, 500), ({3, 4}, NOTHING), ({6, 7}, 500)])
def test_a_failed_request_is_as_if_not_made(tmp_path: Path, failing: set[int], status: int) -> None:
    site, second = Site(), count(1)

    def answer(path: str, before: int) -> str | int:
        return status if before and next(second) in failing else site(path, before)

    done, asked = run(tmp_path, answer, addresses())
    assert sum(asked.values()) - ARTICLES * TURNS == done.dedup()["asked_twice"] <= module.FEWEST
    assert set(numbers(done)) == set(range(ARTICLES))
    assert len(done.items) < ARTICLES * (TURNS - 1)
    assert "given_back" not in done.dedup()


@pytest.mark.parametrize(("probes", "most"), [(5, 1), (0, 60)])
def test_a_crawl_begins_with_what_the_first_has_learned(tmp_path: Path, probes: int, most: int) -> None:
    """What it learns itself is left out of what the first has seen, too."""

    class Changing(Site):
        is_later = False

        def body(self, number: int) -> str:
            more = f"<p>Correction: {text(700, 25)}</p>" if self.is_later and number == last else ""
            return super().body(number) + more

    site, paths = Changing(), addresses(articles=90, turns=1)
    last = int(paths[-1].split("/")[1])
    with moving_site(site) as (address, _):
        first = visited(tmp_path, address, paths, DEDUP_PROBES=probes)
        site.is_later = True
        second = visited(tmp_path, address, paths, DEDUP_UNCHANGED="drop")
    assert len(first.items) == 90
    assert last in numbers(second)[:most]
    assert second.dedup()["asked_twice"] >= 3  # what it drops for is looked at again


def test_what_moved_in_earlier_crawls_is_believed_where_no_more_may_be_asked(tmp_path: Path) -> None:
    """Each page has three of eight counters, so there are more sets of these than may be asked for."""
    now, names = Random(5), "Views Likes Shares Votes Readers Guests Clicks Copies".split()

    def answer(path: str, before: int) -> str:
        own = Random(path).sample(names, 3)
        counters = "".join(f"<p>{name}: {now.randint(1, 10**6)}</p>" for name in own)
        return document("Page", f"<p>{text(int(path[1:]), 60)}</p>{counters}")

    with moving_site(answer) as (site, _):
        given: Any = {"CONCURRENT_REQUESTS": 16, "DEDUP_UNCHANGED": "drop", KNOBS: {PAUSE: 0.0}}
        paths = [f"/{page}" for page in range(150)]
        kept = [len(visited(tmp_path, site, paths, **given).items) for _ in range(6)]
    assert kept[2:] == [0, 0, 0, 0], kept


@pytest.mark.parametrize(("header", "is_of_files"), [("Expires", False), ("Server-Timing", True)])
def test_of_files_few_are_asked_for_twice(tmp_path: Path, header: str, is_of_files: bool) -> None:
    """A server of files dates each; a program that dates its pages says how long they may be stored."""

    class Server(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header(header, self.date_time_string())
            super().end_headers()

    (tmp_path / "site").mkdir()
    for number in range(80):
        tags = [f"<{tag}>{text(number, 9)}</{tag}>" for tag in ("p", "h3", "pre", "b")[: number % 4 + 1]]
        page = document("File", "".join(tags * (1 + 3 * (number % 8))))
        (tmp_path / "site" / f"{number}.html").write_text(page, "utf-8")
    with running(partial(Server, directory=str(tmp_path / "site"))) as site:
        done = visited(tmp_path, site, [f"{number}.html" for number in range(80)], KNOBS={PAUSE: 0.0})
    assert (done.dedup()["asked_twice"] == 3) is is_of_files


def test_pages_that_come_together_leave_requests_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request counts when it is planned: others do not begin before the next turn of the loop."""
    monkeypatch.setattr(module, "probe_of", lambda _: "a request")

    async def asked() -> list[bool]:
        probes: Any = module.Probes.__new__(module.Probes)
        probes._tasks, probes._budget, probes._compare = set(), lambda _: 4, lambda *_: asyncio.sleep(0)
        host, met = SimpleNamespace(asked=0, under_way=0, is_closed=False), SimpleNamespace(response="")
        found = [probes._ask_again(host, met) for _ in range(3)]
        host.left_out, gaps = {None: module._LeftOut(drops=9)}, None
        host.left_out[gaps].last += [(8, met), (9, met)]
        probes._audit(host, gaps)  # of what may not be asked now there is still what the end asks for
        return [*found, len(host.left_out[gaps].last) == 2, probes._ask_again(host, met, left=0)]

    assert asyncio.run(asked()) == [True, True, False, True, True]


def test_what_is_left_out_no_more_makes_no_page_another_one(tmp_path: Path) -> None:
    """Nor is it missed if it has changed since: texts are stored as they came."""
    day, gap = 0, Gap("html>body>p.c", ("^",), ("readers",), is_number=True)

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        count = number + 1000 * (day == 3 and number == 7)
        return document(f"Article {number}", f"<p>{text(number, 60)}</p><p class=c>{count} readers</p>")

    found = []
    with moving_site(answer) as (site, _):
        for day in range(4):
            with SQLiteIndex(tmp_path / "pages.db") as index:
                known = Evidence(moved=9, is_off=day == 3)
                put_noise(index.store, SiteNoise("listed", "127.0.0.1", day, {gap: known}))
            how: dict[str, Any] = {"DEDUP_UNCHANGED": "drop", "DEDUP_PROBES": 5 * (day != 2)}
            found.append(numbers(visited(tmp_path, site, [f"/{n}/0" for n in range(12)], **how)))
    assert found == [[*range(12)], [], [], [7]]


def test_another_list_on_all_pages_is_no_change_of_one(tmp_path: Path) -> None:
    """The latest titles stand beside each article, but not on the notes; each day some have a new word."""
    day, paths = 0, [f"/{number}/0" for number in range(60)]

    def edits(number: int, day: int) -> int:
        return sum((number - one) % 13 == 1 for one in range(1, day + 1))

    def answer(path: str, before: int) -> str:
        number = int(path.split("/")[1])
        latest = "".join(f"<li><a href=/n>{text(900 + day * 4 + n, 6)}</a>" for n in range(6))
        side = f"<div class=side><h3>Latest</h3><ul>{latest}</ul></div>" * (number % 3 > 0)
        said = f"<p>{'corrected ' * edits(number, day)}{text(number, 60)}</p>"
        return document(f"Article {number}", said + side)

    found = []
    with moving_site(answer) as (site, _):
        for day in range(3):
            done = visited(tmp_path, site, paths, DEDUP_UNCHANGED="drop", DEDUP_PROBES=2 - day)
            found.append(set(numbers(done)))
            assert ("No change of a page on 127.0.0.1, as all pages show it: " in done.log) == (day == 1)
    edited = [{n for n in range(60) if edits(n, day) > edits(n, day - 1)} for day in range(3)]
    assert edited[1] < found[1] <= edited[1] | {*range(20)}
    assert edited[2] <= found[2] <= edited[2] | {1, 2, 4, 5, 7, 8}  # the first have none before them
    with SQLiteIndex(tmp_path / "pages.db") as index:
        (known,) = all_noise(index.store)
    assert [gap.shown() for gap, one in known.gaps.items() if one.is_of_site] == ["Latest: #"]
