"""Rules for URLs in real crawls: what is withheld, what never is, and what is asked for after all."""

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, version_info
from scrapy.http.request import NO_CALLBACK

from dedup import SQLiteIndex
from dedup.index.notes import UrlRules
from dedup.plugin.requests import LINK, is_of_link, signature_of
from dedup.urls.rule import Proposal, Rule, add_rules
from tests.plugin.spiders import HOST, SmallSpider
from tests.support.crawling import Crawl, crawl

pytestmark = pytest.mark.nightly  # what is slow here says once more, in larger crawls, what others say

# Before 2.18 Scrapy asks for all pages before it looks at one where it needs no network.
sees_pages_in_time = pytest.mark.skipif(version_info < (2, 18), reason="Scrapy asks sooner")
SID = Rule("small.example", "?sid")
SMALL: dict[str, Any] = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_ITEMS": 1, "RETRY_ENABLED": False}
SMALL["DOWNLOADER_MIDDLEWARES"] = {"tests.plugin.storages.Answering": 950}
SITE: dict[str, Any] = {f"/p?sid={number}": ["page", []] for number in (1, 2, 3, 9)}
SITE |= {"/p": ["page", []], "/other": ["other page", []], "/more": ["more", []]}
SITE["/q?sid=4"] = ["other", []]
# The next request is asked about while a page is still on its way through the pipelines.
SITE["/"] = ["home", ["/p", "/other", "/more", "/p?sid=1", "/p?sid=2", "/p?sid=3", "/q?sid=4"]]


def accept(folder: Path, *rules: Rule) -> None:
    add_rules(folder / "rules.toml", [Proposal(rule, 0, 0, ()) for rule in rules])


def small(folder: Path, site: Any = None, **settings: Any) -> Crawl:
    arguments, file = {"site_json": json.dumps(SITE if site is None else site)}, folder / "rules.toml"
    obeyed = {"DEDUP_RULES": str(file)} if file.exists() else {}
    jobs = {"JOBDIR": str(folder / "job")}
    chosen = {**SMALL, **obeyed, **jobs, **settings}
    return crawl(folder, "tests.plugin.spiders.SmallSpider", chosen, arguments)


def held(folder: Path) -> list[dict[str, str]]:
    file = folder / "job" / "not-visited.jsonl"
    return list(map(json.loads, file.read_text().splitlines())) if file.exists() else []


def urls(folder: Path) -> set[str]:
    return {one["url"].removeprefix(HOST) for one in held(folder)}


def shown(items: list[dict[str, Any]]) -> set[str]:
    return {str(item["shows"]) for item in items}


def fetched(done: Crawl) -> set[str]:
    return {name.removeprefix("fetched/") for name in done.stats if name.startswith("fetched/")}


@sees_pages_in_time
def test_copies_are_not_fetched_and_all_is_listed(tmp_path: Path) -> None:
    accept(tmp_path, SID)
    done = small(tmp_path)
    # The first two matches are looked at; nothing was kept that /q?sid=4 could be a copy of.
    assert fetched(done) == {"/", "/p", "/other", "/more", "/p?sid=1", "/p?sid=2", "/q?sid=4"}
    assert shown(done.items) == {"home", "page", "other", "other page", "more"}
    (one,) = held(tmp_path)
    assert (one["url"], one["why"]) == (f"{HOST}/p?sid=3", "rule small.example ?sid *")
    assert done.dedup()["rules/withheld"] == done.dedup()["not_visited"] == 1
    assert "Withheld: <http://small.example/p?sid=3> is <http://small.example/p> again" in done.log
    assert "1 addresses not visited:" in done.log
    assert done.log.count("ERROR") == 0


META = {"depth": 1, LINK: HOST}
LINKED = Request(HOST, meta=META)


@pytest.mark.parametrize(
    "change",
    [
        {"dont_filter": True},
        {"method": "POST"},
        {"body": b"a"},
        {"meta": {}},
        {"meta": META | {"dedup": False}},
        {"meta": META | {"verbatim_url": True}},
        {"meta": META | {LINK: f"{HOST}/other"}},
        {"callback": NO_CALLBACK},
    ],
)
def test_rules_speak_of_no_other_requests_than_those_of_links(change: dict[str, Any]) -> None:
    assert is_of_link(LINKED)
    assert not is_of_link(LINKED.replace(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"callback": SmallSpider(name="a").parse_other},
        {"meta": {"depth": 1, "cookiejar": 7}},
        {"headers": {"Accept-Language": "de"}},
        {"cookies": {"a": "b"}},
        {"cb_kwargs": {"extra": "1"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_pages_that_depend_on_more_than_their_urls_are_not_compared(change: dict[str, Any]) -> None:
    assert signature_of(LINKED) == "parse"
    assert signature_of(LINKED.replace(**change)) != "parse"


def test_a_page_that_was_lost_stands_for_nothing(tmp_path: Path) -> None:
    accept(tmp_path, SID)
    done = small(tmp_path, ITEM_PIPELINES={"tests.plugin.storages.LosingPage": 900})
    # The first of its copies that comes through does.
    assert "/p?sid=1" in fetched(done)
    assert "page" in shown(done.items)


@pytest.mark.parametrize(
    ("led_to", "ignore"),
    [(f"{HOST}/a/", "/"), ("http://www.small.example/a", "www."), ("https://small.example/a", "http:")],
)
def test_a_redirect_target_is_never_lost(tmp_path: Path, led_to: str, ignore: str) -> None:
    accept(tmp_path, *(Rule(host, ignore) for host in ("small.example", "www.small.example")))
    site = {"/": ["home", ["/a"]], "/a": led_to, led_to.removeprefix(HOST): ["page", []]}
    assert "page" in shown(small(tmp_path, site).items)


def test_what_was_restored_is_fetched(tmp_path: Path) -> None:
    small(tmp_path, DEDUP_RULES="off", JOBDIR="")
    accept(tmp_path, SID)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert index.ledger.restore(url=f"{HOST}/p?sid=3")
    assert "/p?sid=3" in fetched(small(tmp_path))


def turning(copies: int) -> dict[str, Any]:
    """Return a site where a parameter did not matter, but on the last pages it does."""
    paths = [f"/p{number}" for number in range(copies)]
    links, pages = [*paths, *(f"{path}?sid=1" for path in paths)], {path: [path, []] for path in paths}
    turned = {
        f"{path}?sid=1": [path + (" other" if number >= copies // 3 else ""), []]
        for number, path in enumerate(paths)
    }
    return {"/": ["home", links], **pages, **turned}


@sees_pages_in_time
def test_what_was_withheld_is_asked_for_when_its_rule_was_wrong(tmp_path: Path) -> None:
    accept(tmp_path, SID)
    site = turning(36)
    done = small(tmp_path, site)
    counts = done.dedup()
    assert counts["rules/withheld"] == counts["rules/asked_again"] > 2
    assert {found[0] for found in site.values()} == shown(done.items)  # nothing is lost
    assert fetched(done) == set(site)
    assert held(tmp_path) == []
    assert "A rule is switched off: small.example: the parameter ?sid does not matter; but" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert UrlRules(index.store).wrong()[SID].reason == "they show two pages"
    # It stays off in later crawls, until somebody takes back what was against it.
    again = small(tmp_path, site, JOBDIR="")
    assert "A rule stays switched off" in again.log
    assert fetched(again) == set(site)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert index.runs.forget(1)
        assert UrlRules(index.store).wrong() == {}


@sees_pages_in_time
def test_a_page_that_leads_on_switches_a_rule_off(tmp_path: Path) -> None:
    accept(tmp_path, SID)
    done = small(tmp_path, {**SITE, "/p?sid=2": ["page", ["/hidden"]], "/hidden": ["hidden", []]})
    assert "only one leads to http://small.example/hidden" in done.log
    assert "hidden" in shown(done.items)
    assert done.dedup()["rules/switched_off"] == 1


@sees_pages_in_time
def test_a_paused_job_asks_for_what_its_first_part_withheld(tmp_path: Path) -> None:
    accept(tmp_path, SID)
    site = {**SITE, "/q?sid=4": ["other", ["/r"]], "/r": ["end", ["/p?sid=8"]], "/p?sid=8": ["page", []]}
    first = small(tmp_path, site, CLOSESPIDER_PAGECOUNT=7)
    assert first.stats["finish_reason"] == "closespider_pagecount"
    assert urls(tmp_path) == {"/p?sid=3"}
    second = small(tmp_path, site, DEDUP_RULES="propose")
    assert fetched(second) == {"/p?sid=3", "/r", "/p?sid=8"} | (fetched(second) & {"/q?sid=4"})
    assert held(tmp_path) == []
    assert second.dedup()["rules/asked_again"] == 1


def test_a_copy_of_a_page_elsewhere_stands_for_nothing(tmp_path: Path) -> None:
    """A wall stands before the page on its bare URL only."""
    accept(tmp_path, SID)
    links = ["/login", *SITE["/"][1]]
    site = {**SITE, "/": ["home", links], "/login": ["login", []], "/p": ["login", []]}
    assert "page" in shown(small(tmp_path, site).items)


def copied(pages: int = 12, more: str = "") -> dict[str, Any]:
    """Return a site of which each page has two copies, which say *more*."""
    paths = [f"/{chr(97 + number)}" for number in range(pages)]
    links = [*paths, *(f"{path}?sid={number}" for number in range(2) for path in paths)]
    shown = {link: link.partition("?")[0] + (more if "?" in link else "") for link in links}
    return {"/": ["home", links], **{link: [shows, []] for link, shows in shown.items()}}


@sees_pages_in_time
def test_what_two_crawls_propose_is_used(tmp_path: Path) -> None:
    site = copied()
    for run in range(1, 5):
        done = small(tmp_path, site, DEDUP_RULES="use", JOBDIR="")
        assert shown(done.items) == (shown(done.items) if run > 1 else {one[0] for one in site.values()})
        # In the third and the fourth, what is looked at: the first two, and every tenth.
        assert len(site) - len(fetched(done)) == (0 if run < 3 else done.dedup()["rules/withheld"])
        assert (done.dedup().get("rules/withheld", 0) > 15) is (run > 2)
        assert done.dedup()["rules/proposed"] == 1
        assert done.log.count("ERROR") == 0


@sees_pages_in_time
def test_what_takes_away_words_is_proposed_and_not_used(tmp_path: Path) -> None:
    site = copied(more="+ printed by hand")
    for _ in range(3):
        done = small(tmp_path, site, DEDUP_RULES="use", JOBDIR="")
        assert fetched(done) == site.keys()
        assert done.dedup()["rules/proposed"] == 1


def test_a_file_that_cannot_be_read_ends_the_crawl_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[rule]]\nhost = "a.example"\n')
    done = small(tmp_path)
    assert "rules.toml: each [[rule]] has host and ignore" in done.log
    assert fetched(done) == set()
