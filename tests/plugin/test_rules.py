"""Rules for URLs in real crawls: what is withheld, what never is, and what is made after all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy import version_info

from dedup import SQLiteIndex
from dedup.index.url_rules import UrlRules, WithheldRequest, seen_of
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import RuleStanding, State, Tally
from dedup.urls.learner import RuleRecord
from dedup.urls.rule import Rule
from dedup.values.verdict import Outcome
from tests.crawling import Crawl, crawl
from tests.plugin.rule_spiders import HOST
from tests.plugin.trapsite import TrapSite, shown

# Without a network Scrapy 2.13 asks for all pages before it looks at one, so no page is known in time.
sees_pages_in_time = pytest.mark.skipif(version_info < (2, 14), reason="Scrapy 2.13 asks sooner")
SID = Rule("small.example", Edit(Form.PARAMETER, "sid"))
SMALL: dict[str, Any] = {
    "DEDUP_RULES": "use",
    "DOWNLOADER_MIDDLEWARES": {"tests.plugin.rule_spiders.Answering": 950},
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_ITEMS": 1,
    "RETRY_ENABLED": False,
}
SITE: dict[str, Any] = {
    # The next request is asked about while a page is still on its way through the pipelines.
    "/": ["home", ["/p", "/other", "/more", "/p?sid=1", "/p?sid=2", "/p?sid=3", "/q?sid=4"]],
    "/other": ["other page", []],
    "/more": ["more", []],
    "/p": ["page", []],
    "/p?sid=1": ["page", []],
    "/p?sid=2": ["page", []],
    "/p?sid=3": ["page", []],
    "/p?sid=9": ["page", []],
    "/q?sid=4": ["other", []],
}


def pin(folder: Path, *rules: Rule, standing: RuleStanding = RuleStanding.PINNED) -> None:
    with SQLiteIndex(folder / "pages.db") as index:
        for rule in rules:
            UrlRules(index.store).set_standing(RuleRecord(rule, standing=standing))


def small(
    folder: Path, site: Any = None, spider: str = "SmallSpider", how: str = "", **settings: Any
) -> Crawl:
    arguments = {"site_json": json.dumps(SITE if site is None else site), "how": how}
    return crawl(folder, f"tests.plugin.rule_spiders.{spider}", {**SMALL, **settings}, arguments)


def held(folder: Path) -> list[WithheldRequest]:
    with SQLiteIndex(folder / "pages.db") as index:
        assert index.problems() == []
        return UrlRules(index.store).withheld_requests()


def fetched(done: Crawl) -> set[str]:
    return {name.removeprefix("fetched/") for name in done.stats if name.startswith("fetched/")}


@sees_pages_in_time
def test_copies_are_not_fetched_and_all_is_listed(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    done = small(tmp_path)
    # The first two matches are looked at; nothing was kept that /q?sid=4 could be a copy of.
    assert fetched(done) == {"/", "/p", "/other", "/more", "/p?sid=1", "/p?sid=2", "/q?sid=4"}
    assert shown(done.items) == {"home", "page", "other", "other page", "more"}
    (one,) = held(tmp_path)
    assert (one.url, one.page, one.rules) == (f"{HOST}/p?sid=3", f"{HOST}/p", (SID.id,))
    assert json.loads(one.request)["callback"] == "parse"
    counts = done.dedup()
    assert counts["rules/withheld"] == 1
    assert counts["rules/explored"] == counts["rules/predicted_right"] == 2
    assert counts["rules/no_representative"] == 1
    assert "Withheld: <http://small.example/p?sid=3> is <http://small.example/p> again" in done.log
    assert done.log.count("ERROR") == 0


ALL_AT_ONCE: dict[str, Any] = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
COPIES = {f"/p?sid={number}": ["page", []] for number in range(1, 6)}


def test_a_copy_waits_for_a_page_that_is_under_way(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {"/": ["home", ["/p", *COPIES]], "/p": ["page", []], **COPIES}
    done = small(tmp_path, site, **ALL_AT_ONCE)
    assert fetched(done) == {"/", "/p", "/p?sid=1", "/p?sid=2"}  # the first two matches are looked at
    assert {(one.url, one.page) for one in held(tmp_path)} == {
        (f"{HOST}{path}", f"{HOST}/p") for path in list(COPIES)[2:]
    }
    assert "rules/no_representative" not in done.dedup()


def test_no_more_than_half_of_all_requests_wait(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {"/": ["home", ["/p", *COPIES]], "/p": ["page", []], **COPIES}
    counts = small(tmp_path, site, **ALL_AT_ONCE | {"CONCURRENT_REQUESTS": 6}).dedup()
    assert counts["rules/no_representative"] == 2
    assert counts["rules/explored"] == 2
    assert counts["rules/withheld"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("found", [None, "/r", False], ids=["not found", "redirected", "failed"])
@pytest.mark.parametrize("retries", [True, False])
def test_nobody_waits_for_a_page_that_does_not_come(
    tmp_path: Path, found: object, *, retries: bool
) -> None:
    pin(tmp_path, SID)
    site = {"/": ["home", ["/p", *COPIES]], "/p": found, "/r": ["elsewhere", []], **COPIES}
    done = small(tmp_path, site, RETRY_ENABLED=retries, RETRY_TIMES=1, **ALL_AT_ONCE)
    assert fetched(done) >= set(COPIES)
    assert held(tmp_path) == []
    assert (done.dedup()["rules/waited"], done.dedup().get("rules/waited_in_vain")) == (5, None)
    assert shown(done.items) >= {"home", "page"}


def test_a_page_whose_items_repeat_each_other_stands_for_others(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {"/": ["home", ["/p", *COPIES]], "/p": ["page", []], **COPIES}
    done = small(tmp_path, site, "TwiceSpider", **ALL_AT_ONCE)
    assert {one.url for one in held(tmp_path)} == {f"{HOST}{path}" for path in list(COPIES)[2:]}
    assert shown(done.items) == {"home", "page"}


def test_nobody_waits_for_a_page_whose_callback_fails(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {"/": ["home", ["/p", *COPIES]], "/p": ["broken", []], **COPIES}
    done = small(tmp_path, site, "FailingSpider", **ALL_AT_ONCE)
    assert fetched(done) >= set(COPIES)
    assert (done.dedup()["rules/waited"], done.dedup().get("rules/waited_in_vain")) == (5, None)
    assert shown(done.items) == {"home", "page"}


@sees_pages_in_time
@pytest.mark.parametrize("rules", ["learn", "off"])
def test_learning_changes_nothing(tmp_path: Path, rules: str) -> None:
    pin(tmp_path, SID)
    done = small(tmp_path, DEDUP_RULES=rules)
    assert fetched(done) == {path for path in SITE if path != "/p?sid=9"}
    assert held(tmp_path) == []
    assert done.dedup().get("rules/predicted_right", 0) == (3 if rules == "learn" else 0)
    assert ("would have saved up to 3 requests" in done.log) is (rules == "learn")


def test_a_dry_run_withholds_nothing(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    assert "/p?sid=3" in fetched(small(tmp_path, DEDUP_DRY_RUN=True))


@sees_pages_in_time
def test_an_errback_hears_of_it_and_the_request_is_only_listed(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    done = small(tmp_path, how="errback")
    assert done.stats["heard/RequestWithheld"] == 1
    assert [one.request for one in held(tmp_path)] == [""]


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        "callback",
        "cookiejar",
        "rendering",
        "headers",
        "arguments",
        "dont_filter",
        "exempt",
        "post",
        "verbatim",
    ],
)
def test_what_is_exempt_is_fetched(tmp_path: Path, how: str) -> None:
    pin(tmp_path, SID)
    spider = "ArgumentSpider" if how == "arguments" else "SmallSpider"
    done = small(tmp_path, how=how, spider=spider)
    assert fetched(done) >= {"/p?sid=1", "/p?sid=2", "/p?sid=3"}
    assert held(tmp_path) == []


def test_a_request_from_inside_of_a_callback_is_fetched(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    done = small(tmp_path, spider="InlineSpider")
    assert "/p?sid=9" in fetched(done)
    assert done.log.count("ERROR") == 0


def test_a_page_that_was_lost_stands_for_nothing(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    done = small(tmp_path, ITEM_PIPELINES={"tests.plugin.rule_spiders.Losing": 900})
    # The first of its copies that comes through does.
    assert "/p?sid=1" in fetched(done)
    assert "page" in shown(done.items)


REDIRECTS = {
    "slash": (
        {"/": ["home", ["/a", "/b/"]], "/a": f"{HOST}/a/", "/a/": ["page", []], "/b/": ["b", []]},
        Form.SLASH,
        "",
    ),
    "www": (
        {
            "/": ["home", ["/a"]],
            "/a": "http://www.small.example/a",
            "http://www.small.example/a": ["page", []],
        },
        Form.ALIAS,
        "www",
    ),
    "bare": (
        {
            "/": ["home", ["http://www.small.example/a"]],
            "http://www.small.example/a": f"{HOST}/a",
            "/a": ["page", []],
        },
        Form.ALIAS,
        "www",
    ),
    "scheme": (
        {
            "/": ["home", ["/a"]],
            "/a": "https://small.example/a",
            "https://small.example/a": ["page", []],
        },
        Form.SCHEME,
        "",
    ),
}


@pytest.mark.parametrize("name", REDIRECTS)
def test_a_redirect_target_is_never_lost(tmp_path: Path, name: str) -> None:
    site, form, edit = REDIRECTS[name]
    hosts = ("small.example", "www.small.example")
    pin(tmp_path, *(Rule(host, Edit(form, edit)) for host in hosts))
    assert "page" in shown(small(tmp_path, site).items)
    assert "page" in shown(small(tmp_path, site).items)


def test_another_run_is_no_reason(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    small(tmp_path)
    only = {"/": ["home", ["/p?sid=5"]], "/p?sid=5": ["page", []]}
    assert "/p?sid=5" in fetched(small(tmp_path, only))


def test_what_was_restored_is_fetched(tmp_path: Path) -> None:
    small(tmp_path, DEDUP_RULES="off")
    pin(tmp_path, SID)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert index.ledger.restore_url_copies(f"{HOST}/p?sid=3")
    assert "/p?sid=3" in fetched(small(tmp_path))


def proven() -> RuleRecord:
    """Return a rule that acts by its evidence."""
    numbers = tuple((number, number) for number in range(10))
    return RuleRecord(SID, own=Tally(groups=numbers, right=tuple(range(10)), since=30, rights=30))


def prove(folder: Path) -> None:
    with SQLiteIndex(folder / "pages.db") as index:
        run = index.begin_run("earlier")
        UrlRules(index.store).save(run.id, [seen_of(proven())])
        index.end_run(run, "finished")


def turning(copies: int) -> dict[str, Any]:
    """Return a site where a parameter did not matter, but on the last pages it does."""
    paths = [f"/p{number}" for number in range(copies)]
    links = [*paths, *(f"{path}?sid=1" for path in paths)]
    pages = {path: [path, []] for path in paths}
    turned = {
        f"{path}?sid=1": [path + (" other" if number >= copies // 3 else ""), []]
        for number, path in enumerate(paths)
    }
    return {"/": ["home", links], **pages, **turned}


@sees_pages_in_time
def test_what_was_withheld_is_made_after_all_when_its_rule_was_wrong(tmp_path: Path) -> None:
    prove(tmp_path)
    site = turning(60)
    done = small(tmp_path, site)
    counts = done.dedup()
    assert counts["rules/withheld"] == counts["rules/resumed"] > 2
    assert counts["rules/explored_wrong"] >= 1
    assert {found[0] for found in site.values()} == shown(done.items)  # nothing is lost
    assert all(one.was_made for one in held(tmp_path))
    assert fetched(done) == set(site)
    assert "acts no more (suspended)" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        (record,) = [one for one in UrlRules(index.store).records() if one.rule == SID]
        assert record.state in (State.SUSPENDED, State.RETIRED)
        assert index.book.forget(2)
        (record,) = [one for one in UrlRules(index.store).records() if one.rule == SID]
        assert record.state is State.ACTIVE
    assert held(tmp_path) == []


@sees_pages_in_time
def test_a_paused_job_makes_what_its_first_part_withheld(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {
        **SITE,
        "/q?sid=4": ["other", ["/r"]],
        "/r": ["last", ["/p?sid=8"]],
        "/p?sid=8": ["page", []],
    }
    job = {"JOBDIR": str(tmp_path / "job")}
    first = small(tmp_path, site, CLOSESPIDER_PAGECOUNT=7, **job)
    assert first.stats["finish_reason"] == "closespider_pagecount"
    (one,) = held(tmp_path)
    assert (one.url, one.was_made) == (f"{HOST}/p?sid=3", False)
    pin(tmp_path, SID, standing=RuleStanding.OFF)
    second = small(tmp_path, site, **job)
    assert fetched(second) == {"/p?sid=3", "/r", "/p?sid=8"} | (fetched(second) & {"/q?sid=4"})
    assert all(one.was_made for one in held(tmp_path))
    assert second.dedup()["rules/resumed"] == 1


def test_a_paused_job_withholds_for_the_pages_of_its_first_part(tmp_path: Path) -> None:
    pin(tmp_path, SID)
    site = {**SITE, "/q?sid=4": ["other", ["/r"]], "/r": ["last", []]}
    links = ["/r", *(f"/p?sid={number}" for number in range(10, 16))]
    site["/r"] = ["last", links[1:]]
    site |= {link: ["page", []] for link in links[1:]}
    job = {"JOBDIR": str(tmp_path / "job")}
    small(tmp_path, site, CLOSESPIDER_PAGECOUNT=7, **job)
    second = small(tmp_path, site, **job)
    assert second.dedup()["rules/withheld"] >= 1
    assert {one.page for one in held(tmp_path)} == {f"{HOST}/p"}


TRAPS = {
    "DOWNLOADER_MIDDLEWARES": {"tests.plugin.trapsite.Answering": 950},
    "RETRY_ENABLED": False,
    "CONCURRENT_REQUESTS": 8,
    # Scrapy 2.13 makes as many tasks for each response.
    "CONCURRENT_ITEMS": 100 if version_info >= (2, 14) else 4,
}


def trapped(folder: Path, seed: int, run: int, rules: str) -> Crawl:
    folder.mkdir(exist_ok=True)
    arguments = {"seed": str(seed), "run": str(run), "order": str(seed + run)}
    settings = {**TRAPS, "DEDUP_RULES": rules}
    return crawl(folder, "tests.plugin.trapsite.TrapSpider", settings, arguments)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3 if version_info >= (2, 14) else 1))
def test_nothing_is_lost_on_a_site_full_of_traps(tmp_path: Path, seed: int) -> None:
    for run, rules in enumerate(("learn", "use", "use"), 1):
        done = trapped(tmp_path / "with", seed, run, rules)
        truth = trapped(tmp_path / f"without{run}", seed, run, "off")
        site = TrapSite(seed, run)
        listed = {site.answer(one.url).shows for one in held(tmp_path / "with") if not one.was_made}
        lost = shown(truth.items) - shown(done.items)
        assert not lost - listed
        requests, all_requests = (one.stats["downloader/request_count"] for one in (done, truth))
        if run == 1:
            assert requests == all_requests
        elif version_info >= (2, 14):
            assert requests < 0.9 * all_requests
        assert done.log.count("ERROR") == 0


def test_withheld_rows_need_confirmed_rows_of_their_run(tmp_path: Path) -> None:
    small(tmp_path, DEDUP_RULES="off")
    with SQLiteIndex(tmp_path / "pages.db") as index:
        book = UrlRules(index.store)
        rows = {row.sighting.url: row for row in index.rows()}
        row = rows[f"{HOST}/p"]
        one = WithheldRequest(row.sighting.run, row.id, f"{HOST}/p?sid=77", f"{HOST}/p", (SID.id,))
        assert row.outcome is Outcome.CONFIRMED
        assert book.withhold(one, [row.id])
        assert not book.withhold(one, [])
        assert not book.withhold(one, [row.id, 999])
        assert not book.withhold(WithheldRequest(7, row.id, one.url, one.page, one.rules), [row.id])
        index.book.forget(row.sighting.run)
        assert not book.withhold(one, [row.id])
        assert book.withheld_requests() == []


def test_a_copy_of_a_page_elsewhere_stands_for_nothing(tmp_path: Path) -> None:
    """A wall stands before the page on its bare URL only."""
    pin(tmp_path, SID)
    site = {
        **SITE,
        "/": ["home", ["/login", *SITE["/"][1]]],
        "/login": ["login", []],
        "/p": ["login", []],
    }
    done = small(tmp_path, site)
    assert "page" in shown(done.items)
