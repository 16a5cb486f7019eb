"""Requests that are made once more, twice, or not at all, and the list of these."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import HtmlResponse

from dedup.model.errors import DedupError
from dedup.model.verdict import Outcome
from dedup.plugin.requests import LIST, STATE, NotVisited, NotVisitedUrl, once_more, probe_of
from tests.plugin.crawls import fates, urls
from tests.support.budget import examples
from tests.support.crawling import KNOBS, WAIT, Crawl, crawl

SPIDER = "tests.plugin.spiders.TwiceSpider"


def twice(folder: Path, *, loses: str = "first", later: str = "", **how: Any) -> Crawl:
    """Crawl two addresses with one text, of which the first is lost after the other was dropped."""
    settings = {"CONCURRENT_REQUESTS": 1, "LOSES": loses, "LATER": later, KNOBS: {WAIT: 0.2}}
    settings["ITEM_PIPELINES"] = {"tests.plugin.storages.Losing": 900}
    settings["DOWNLOADER_MIDDLEWARES"] = {"tests.plugin.storages.Served": 1}
    return crawl(folder, SPIDER, settings | how.pop("settings", {}), how)


def names(done: Crawl) -> list[str]:
    return [url.rpartition("/")[2] for url in urls(done)]


def test_a_copy_of_what_was_lost_is_asked_for_once_more_and_kept(tmp_path: Path) -> None:
    done = twice(tmp_path)
    assert names(done) == ["copy"]
    assert (done.stats["asked/copy"], done.dedup()["requested_again"]) == (2, 1)
    # It was wanted back in the transaction that released the first, and has come.
    assert fates(tmp_path) == [Outcome.RELEASED, Outcome.FORGOTTEN, Outcome.CONFIRMED]


@pytest.mark.parametrize("how", [{"how": "no request"}, {"method": "POST"}], ids=str)
def test_what_cannot_be_asked_for_again_is_kept(tmp_path: Path, how: Any) -> None:
    done = twice(tmp_path, later="unseen", **how)
    assert names(done) == ["copy"]
    assert done.dedup()["wait_timeout"] == 1
    assert "requested_again" not in done.dedup()


def test_a_request_is_made_again_once_and_from_the_beginning() -> None:
    again = once_more(Request("http://a.example/", meta={"retry_times": 2, "depth": 3}))
    assert again is not None
    assert again.dont_filter
    assert (again.meta.get("retry_times"), again.meta["depth"]) == (None, 3)
    assert once_more(again) is None
    assert once_more(Request("http://a.example/b", meta=again.meta)) is not None  # a link of it


def test_a_job_that_stops_before_the_first_is_lost_asks_for_the_copy_later(tmp_path: Path) -> None:
    job: Any = {"settings": {"JOBDIR": str(tmp_path / "job")}}
    assert names(twice(tmp_path, later="stop", **job)) == []
    assert fates(tmp_path) == [Outcome.RELEASED, Outcome.RESTORED]
    assert names(twice(tmp_path, loses="", settings={"JOBDIR": str(tmp_path / "job")})) == ["copy"]


def response(url: str = "http://a.example/1", **given: Any) -> HtmlResponse:
    return HtmlResponse(url, request=Request(url, **given), body=b"<p>x", encoding="utf-8")


@pytest.mark.parametrize(
    "given",
    [
        {"method": "POST", "body": b"x"},
        {"cookies": {"a": "b"}},
        {"headers": {"Authorization": "Basic x"}},
        {"meta": {"playwright": True}},
        {"meta": {"zyte_api": {"browserHtml": True}}},
        {"meta": {"dedup": False}},
    ],
)
def test_no_request_is_repeated_that_may_do_harm(given: dict[str, object]) -> None:
    assert probe_of(response()) is not None
    assert probe_of(response("http://a.example/1", **given)) is None
    cached = response()
    cached.flags.append("cached")
    assert probe_of(cached) is None


def test_a_probe_is_asked_for_as_the_page_was() -> None:
    meta = {"proxy": "http://p", "cookiejar": 1, "depth": 3, "item": object()}
    probe = probe_of(response(meta=meta, headers={"Accept-Language": "zh", "Cookie": "s=1"}))
    assert probe is not None
    assert probe.headers.get("Accept-Language") == b"zh"
    assert "Cookie" not in probe.headers
    assert {"item", "depth"}.isdisjoint(probe.meta)
    assert probe.meta["proxy"] == "http://p"
    assert probe.meta["dont_cache"]


def left(folder: Path) -> list[str]:
    return [json.loads(line)["url"] for line in (folder / LIST).read_text().splitlines()]


@pytest.mark.parametrize("is_job", [True, False])
def test_addresses_stay_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_job: bool) -> None:
    monkeypatch.chdir(tmp_path)
    found = NotVisited(str(tmp_path) if is_job else "")
    for number in range(6):
        found.add("ab"[number % 2], f"http://a/{number}", "secret")
    assert found.counts() == {"a": 3, "b": 3}
    assert [one.url for one in found.take("a", 2)] == ["http://a/0", "http://a/2"]
    assert [one.request for one in found.take_urls({"http://a/3"})] == ["secret"]
    assert found.take("a", 9) == [NotVisitedUrl("a", "http://a/4", "secret")]
    assert found.take("a") == found.take("x") == []
    assert [one.url for one in found] == ["http://a/1", "http://a/5"]
    assert "2 addresses not visited" in found.close()
    folder = tmp_path if is_job else tmp_path / ".scrapy"
    assert left(folder) == ["http://a/1", "http://a/5"]
    assert "secret" not in (folder / LIST).read_text()


def test_a_damaged_file_is_left_as_it_is_and_named(tmp_path: Path) -> None:
    damaged = tmp_path / STATE
    damaged.write_bytes(b"no database" * 1000)
    with pytest.raises(DedupError, match=f"{STATE} cannot be used .file is not a database.; remove it"):
        NotVisited(str(tmp_path))
    assert damaged.read_bytes() == b"no database" * 1000


def test_a_crawl_that_visits_all_leaves_no_file(tmp_path: Path) -> None:
    found = NotVisited(str(tmp_path))
    assert found.counts() == {}
    assert found.close() == ""
    assert not (tmp_path / LIST).exists()


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "kill", "close"]), st.integers(0, 3))))
@examples_of(max_examples=examples(50), deadline=None)
def test_it_is_a_list_whatever_ends_the_process(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        found, model, number = NotVisited(folder), dict[str, list[str]](), 0
        for step, why in steps:
            if step == "add":
                number += 1
                found.add(str(why), f"u{number}")
                model.setdefault(str(why), []).append(f"u{number}")
            elif step == "take":
                assert [one.url for one in found.take(str(why), 2)] == model.get(str(why), [])[:2]
                model[str(why)] = model.get(str(why), [])[2:]
            else:
                if step == "close":
                    found.close()
                else:
                    with Path(folder, STATE).open("ab") as torn:
                        torn.write(random.Random(why).choice([b"", b'{"why": "0", "u', b"\xff\n"]))
                found = NotVisited(folder)
            assert found.counts() == {
                name: len(of)
                for name, of in sorted(model.items(), key=lambda one: (-len(one[1]), one[0]))
                if of
            }
        assert sorted(one.url for one in found) == sorted(url for of in model.values() for url in of)
        found.close()
