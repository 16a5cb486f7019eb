"""Sites without end, crawled by the spider `site` at its defaults: the crawl ends and has everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.traps import crawl
from tests.crawling import scrapy
from tests.traps import ARTICLES, IDEAL, Trap, chain, trap_named, trapped, traps

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [trap.name for trap in traps()])
def test_a_crawl_ends_and_brings_everything(tmp_path: Path, name: str) -> None:
    trap = trap_named(name)
    most = 3 * IDEAL if trap.is_finite else IDEAL + 1_000
    crawled = crawl(trap, tmp_path, limit=most + 50)
    assert crawled.ended
    assert crawled.articles == ARTICLES
    assert crawled.requests <= most


def test_what_is_not_visited_is_named_and_listed(tmp_path: Path) -> None:
    trap = trap_named("calendar")
    crawled = crawl(trap, tmp_path)
    parked = [json.loads(line) for line in (tmp_path / "job" / "not-visited.jsonl").open()]
    assert f"{len(parked):,} addresses not visited" in crawled.log
    assert "/calendar/" in crawled.log.split("addresses not visited")[1].splitlines()[1]
    assert "--follow" in crawled.log
    paths = {"/" + one["url"].split("/", 3)[3] for one in parked}
    assert len(paths) == len(parked)
    assert paths.isdisjoint(trap.asked)
    # All that was met was either visited or is listed: the days of each month that was visited.
    months = {path.removesuffix(".html") for path in trap.asked if path.count("-") == 1}
    days = {f"{month}-{day:02}.html" for month in months for day in range(1, 29)}
    assert days <= paths | set(trap.asked)


def test_pages_with_a_text_of_their_own_in_a_trap_are_reached_while_they_come(tmp_path: Path) -> None:
    # At these depths each is within the looks that the one before has earned.
    trap = Trap("chain", chain, "/months/1.html", deep={9: 0, 25: 1, 40: 2})
    crawled = crawl(trap, tmp_path, limit=1_000)
    assert crawled.ended
    assert crawled.deep == 3


def test_a_job_goes_on_with_what_it_has_parked(tmp_path: Path) -> None:
    def crawled(url: str, *options: str) -> str:
        feed = str(tmp_path / "feed.jsonl")
        settings = (
            "AUTOTHROTTLE_ENABLED=0",
            f"DEDUP_INDEX={tmp_path}/pages.db",
            f"JOBDIR={tmp_path}/job",
        )
        chosen = [part for one in settings for part in ("-s", one)]
        done = scrapy("crawl", "site", "-a", f"url={url}", *chosen, *options, "-O", feed)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    # The last of these is out of reach of the looks that it would take to get there.
    trap = Trap("chain", chain, "/months/1.html", deep={5: 0, 120: 1})
    with trapped(trap) as url:
        first = crawled(url)
        parked = json.loads((tmp_path / "job" / "not-visited.jsonl").read_text())
        assert "1 addresses not visited" in first
        before = len(trap.asked)
        again = crawled(url)
        # What was learned and what was parked is still there: nothing is looked at again.
        assert len(trap.asked) <= before + 1
        assert "1 addresses not visited" in again
        crawled(url, "--follow", parked["pattern"], "-s", "CLOSESPIDER_PAGECOUNT=90")
    assert "/months/120.html" in trap.asked
