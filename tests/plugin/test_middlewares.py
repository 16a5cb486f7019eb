"""Responses judged before their callback, what is skipped of copies, and what stands for a page."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawler.example import served
from dedup.model.verdict import Outcome, Reason
from dedup.plugin.middlewares import one_held_back
from tests.plugin import crawls
from tests.support.crawling import EXPLORED, WAIT, Crawl, answering, crawl, serving
from tests.support.pages import edited, text

LIMIT = 60
NEW, NEAR = ("page", Reason.NEW), ("page", Reason.NEAR_DUPLICATE)
CONFIRMED, RELEASED = Outcome.CONFIRMED, Outcome.RELEASED
FAILING = {"tests.plugin.storages.FailingStorage": 300}
GUIDES = ("boats", "lights", "seabirds")
TRAP: Any = {"CLOSESPIDER_PAGECOUNT": LIMIT, "DEDUP_SOURCE": "response", "KNOBS": {EXPLORED: 0}}


def trapped(folder: Path, **settings: Any) -> Crawl:
    numbers = count(1)

    def guide(path: str) -> str | None:
        """One of three pages; all links have new session ids."""
        links = "".join(f"<a href='/guides/{name}.html?sid={next(numbers)}'>on</a>" for name in GUIDES)
        name = urlsplit(path).path.removeprefix("/guides/").removesuffix(".html")
        return f"<title>{name}</title><p>{text(len(name))}</p>{links}" if name in GUIDES else None

    with answering(guide) as url:
        spider = "crawler.spiders.site.SiteSpider"
        return crawl(folder, spider, {**TRAP, **settings}, {"url": f"{url}guides/boats.html?sid=0"})


def doors(folder: Path, *contents: str, how: str = "parse", meta: Any = None, **settings: Any) -> Crawl:
    settings = {"CONCURRENT_REQUESTS": 1, "RETRY_ENABLED": False, "DEDUP_ACTION": "skip"} | settings
    settings.setdefault("KNOBS", {EXPLORED: 0})
    # At depth 0 they would be start pages, of which nothing is skipped.
    meta = {"depth": 1, **(meta or {})}
    arguments = {"contents": json.dumps(contents), "how": how, "meta": json.dumps(meta)}
    return crawl(folder, "tests.plugin.spiders.DoorSpider", settings, arguments)


def rows(folder: Path) -> list[tuple[str, Reason, Outcome]]:
    return [(row.sighting.kind, row.verdict.reason, row.outcome) for row in crawls.rows(folder)]


def test_a_crawl_gets_out_of_traps_with_every_unique_page(tmp_path: Path) -> None:
    done = trapped(tmp_path, DEDUP_ACTION="skip")
    assert done.stats["finish_reason"] == "finished"
    assert {item["title"] for item in done.items} == set(GUIDES)
    counts = done.dedup()
    assert counts["requests_saved"] > counts["responses/near_duplicate"] > 3
    assert f"{counts['requests_saved']} requests saved, as " in done.log
    assert "Skipped the links of near_duplicate: <http://127.0.0.1:" in done.log


def test_copies_that_are_explored_are_followed(tmp_path: Path) -> None:
    done = trapped(tmp_path, DEDUP_ACTION="skip", KNOBS={EXPLORED: 1})
    assert done.stats["finish_reason"] == "closespider_pagecount"
    assert done.dedup()["responses/explored"] > LIMIT // 2


def test_links_of_copies_are_withheld_and_their_items_judged(tmp_path: Path) -> None:
    contents = text(1), edited(1), text(2), text(1)
    done = doors(tmp_path, *contents, DEDUP_SOURCE="response")
    assert done.dedup()["requests_saved"] == 3  # the link that all pages have counts once
    assert done.stats["scheduler/enqueued"] == 4 + 4 - 1
    assert (len(done.items), done.dedup()["dropped"]) == (2, 2)
    # One row a page, shared by both doors.
    assert [row[:2] for row in rows(tmp_path)] == [NEW, NEAR] * 2


def test_start_pages_are_followed(tmp_path: Path) -> None:
    done = doors(tmp_path, text(1), text(1), meta={"depth": 0})
    assert done.stats["scheduler/enqueued"] == 2 + 3
    assert done.dedup()["responses/near_duplicate"] == 1
    assert "requests_saved" not in done.dedup()


def test_exempt_requests_are_not_judged(tmp_path: Path) -> None:
    done = doors(tmp_path, text(1), text(1), meta={"dedup": False})
    assert len(done.items) == 2
    assert "responses/seen" not in done.dedup()


def test_error_pages_are_filtered_before_they_are_judged(tmp_path: Path) -> None:
    with served() as url:
        starts = f"{url}no-such-page.html {url}nor-this.html"
        settings = {"DEDUP_ACTION": "skip", "DEDUP_SOURCE": "response"}
        done = crawl(tmp_path, "crawler.spiders.site.SiteSpider", settings, {"url": starts})
    assert done.stats["httperror/response_ignored_status_count/404"] == 2
    assert "responses/seen" not in done.dedup()


@pytest.mark.parametrize(("forgiven", "source"), [(True, "response"), (False, "item")])
def test_a_page_of_a_failed_callback_is_no_canonical(tmp_path: Path, forgiven: Any, source: str) -> None:
    others = {"tests.plugin.storages.Forgiving": 500} if forgiven else {}
    done = doors(tmp_path, text(1), text(1), how="fail", DEDUP_SOURCE=source, SPIDER_MIDDLEWARES=others)
    pages = [row for row in rows(tmp_path) if row[0] == "page"]
    assert pages[:2] == [(*NEW, RELEASED), (*NEW, CONFIRMED)]
    # Its item was kept after all, and stands for the page.
    assert len(pages) == (3 if source == "response" else 2)
    assert done.dedup()["released"] >= 1


def test_a_page_with_two_items_counts_when_its_callback_ended(tmp_path: Path) -> None:
    doors(tmp_path, text(1), text(1), how="two_items", DEDUP_SOURCE="response")
    assert [row for row in rows(tmp_path) if row[0] == "page"] == [(*NEW, CONFIRMED), (*NEAR, CONFIRMED)]


@pytest.mark.parametrize(("source", "outcome"), [("item", "confirmed"), ("response", "released")])
def test_a_page_without_items_stands_for_pages_only(tmp_path: Path, source: str, outcome: str) -> None:
    done = doors(tmp_path, text(1), how="no_item", DEDUP_SOURCE=source)
    assert rows(tmp_path) == [(*NEW, Outcome(outcome))]
    assert "released" not in done.dedup()  # there was nothing that could be lost


def test_a_page_without_an_item_takes_none_from_its_copies(tmp_path: Path) -> None:
    contents = text(1), text(1), edited(1), text(1)
    done = doors(tmp_path, *contents, how="late_item", DEDUP_SOURCE="response")
    assert [item["text"] for item in done.items] == [text(1)]
    assert rows(tmp_path) == [(*NEW, RELEASED), (*NEW, CONFIRMED), *[(*NEAR, CONFIRMED)] * 2]


def test_a_page_whose_only_item_storage_lost_is_nobodys_canonical(tmp_path: Path) -> None:
    done = doors(tmp_path, *[text(1)] * 2, DEDUP_SOURCE="response", ITEM_PIPELINES=FAILING, FAILING=1)
    assert [row[2] for row in rows(tmp_path)] == [RELEASED, CONFIRMED]
    assert len(done.items) == 1


@pytest.mark.slow
@pytest.mark.parametrize("failing", [1, 2])
def test_a_page_all_of_whose_items_failed_is_nobodys_canonical(tmp_path: Path, failing: int) -> None:
    done = doors(tmp_path, *[text(1)] * 4, how="two_items", ITEM_PIPELINES=FAILING, FAILING=failing)
    kept = [outcome for *of, outcome in rows(tmp_path) if of == [*NEW]]
    assert kept == [RELEASED] * (failing == 2) + [CONFIRMED]
    assert len(done.items) == 8 - failing


def test_a_page_whose_output_another_middleware_refused_holds_up_no_copy(tmp_path: Path) -> None:
    given: Any = {"DEDUP_SOURCE": "response", "KNOBS": {EXPLORED: 0, WAIT: 5}}
    refusing = {"tests.plugin.storages.Refusing": 500}
    done = doors(tmp_path, *[text(1)] * 4, SPIDER_MIDDLEWARES=refusing, **given)
    assert "wait_timeout" not in done.dedup()
    assert len(done.items) <= 1


def test_without_the_pipeline_nothing_is_skipped(tmp_path: Path) -> None:
    without = {"dedup.plugin.pipeline.DedupPipeline": None}
    done = doors(tmp_path, text(1), text(1), ITEM_PIPELINES=without)
    assert (len(done.items), done.stats["scheduler/enqueued"]) == (2, 2 + 3)


def test_a_response_that_cannot_be_judged_is_followed(tmp_path: Path) -> None:
    done = doors(tmp_path, text(1), text(1), EXTENSIONS={"tests.plugin.storages.Breaking": 0})
    assert len(done.items) == 2
    assert done.stats["scheduler/enqueued"] == 2 + 3
    assert done.dedup()["responses/not_judged"] == done.dedup()["not_judged"] == 2
    assert "could not be judged and is kept" in done.log


@pytest.mark.parametrize(("source", "kept"), [("response", 2), ("item", 11)])
def test_documents_of_equal_bytes_are_copies(tmp_path: Path, source: str, kept: int) -> None:
    settings = {"CONCURRENT_REQUESTS": 1, "DEDUP_SOURCE": source}
    urls = [f"data:application/pdf;sid={n},%25PDF-1.7%20%00%20{n // 10}" for n in range(11)]
    done = crawl(tmp_path, "tests.plugin.spiders.SizesSpider", settings, {"urls": json.dumps(urls)})
    assert (done.code, len(done.items)) == (0, kept)
    assert done.dedup().get("exact_duplicate", 0) == 11 - kept


@pytest.mark.parametrize("place", [-2_000_000, 500], ids=str)
def test_every_item_of_an_exempt_request_is_kept(tmp_path: Path, place: int) -> None:
    settings: dict[str, Any] = {"SPIDER_MIDDLEWARES": {"tests.plugin.storages.Hoarding": place}}
    done = crawl(tmp_path, "tests.plugin.spiders.ManySpider", {**settings, "LOG_LEVEL": "INFO"})
    assert len(done.items) == 3000
    assert done.dedup() == {"seen": 3000, "kept": 3000, "not_judged": 3000}


def test_what_an_errback_gives_does_not_stand_for_the_error_page(tmp_path: Path) -> None:
    given = {"DEDUP_SOURCE": "response", "DEDUP_ACTION": "skip"}
    with serving({}) as url:
        urls = json.dumps([f"{url}broken/{number}" for number in range(10)])
        done = crawl(tmp_path, "tests.plugin.spiders.LinksSpider", given, {"urls": urls})
    assert len(done.items) == 10
    assert {item["status"] for item in done.items} == {404}


@pytest.mark.parametrize("ending", [asyncio.CancelledError, RuntimeError])
def test_an_item_is_not_lost_to_a_callback_that_ends_oddly(ending: type[BaseException]) -> None:
    # Scrapy itself hangs after such an end, with or without us: so this is no crawl.
    async def callback() -> AsyncIterator[dict[str, int]]:
        yield {"number": 1}
        raise ending

    async def drained() -> None:
        async for output in one_held_back(callback(), lambda *_, **__: None):
            found.append(output)  # noqa: PERF401 - what came before the end counts

    found: list[Any] = []
    with pytest.raises(ending):
        asyncio.run(drained())
    assert found == [{"number": 1}]


@pytest.mark.parametrize(
    ("rules", "source", "action"), [("off", "item", "drop"), ("propose", "response", "skip")]
)
def test_no_response_outlives_its_items(tmp_path: Path, rules: str, source: str, action: str) -> None:
    settings = {"DEDUP_RULES": rules, "DEDUP_SOURCE": source, "DEDUP_ACTION": action}
    done = crawl(tmp_path, "tests.plugin.spiders.HoldingSpider", settings)
    assert done.dedup()["kept"] == len(done.items) == 121
    assert done.stats["living"] < 20
