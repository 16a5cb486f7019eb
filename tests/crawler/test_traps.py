"""Sites without end, crawled by the spider `site` at its defaults: the crawl ends and has everything."""

import json
from pathlib import Path

import pytest

from benchmarks.endless import ARTICLES, IDEAL, Trap, chain, html, links, trap_named, trapped, traps
from benchmarks.traps import crawl
from tests.crawler.crawls import crawled

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


@pytest.mark.parametrize("name", [trap.name for trap in traps()])
def test_a_crawl_ends_and_brings_everything(tmp_path: Path, name: str) -> None:
    trap = trap_named(name)
    most = 3 * IDEAL if trap.is_finite else IDEAL + 1_000
    # In the same order each time: with many at once, some more are under way when the room is used up.
    done = crawl(trap, tmp_path, limit=most + 50, at_once=1)
    assert done.ended
    assert done.articles == ARTICLES
    # Beside those that are asked for twice, of which there is a bound of its own.
    assert len({*trap.asked}) <= most


def test_what_is_not_visited_is_named_and_listed(tmp_path: Path) -> None:
    trap = trap_named("calendar")
    done = crawl(trap, tmp_path)
    parked = [json.loads(line) for line in (tmp_path / "job" / "not-visited.jsonl").open()]
    assert f"{len(parked):,} addresses not visited" in done.log
    assert "/calendar/" in done.log.split("addresses not visited")[1].splitlines()[1]
    assert "dedup_follow" in done.log
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
    done = crawl(trap, tmp_path, limit=1_000)
    assert done.ended
    assert done.deep == 3


HERBS = [f"{first}-{last}" for first in "acdefghijklmnop" for last in "rstuvwxyzb"]


def herbs(trap: Trap, path: str) -> str | None:
    """A shop of 150 herbs on 5 lists, each of which has a page of a few words; 80 links lead nowhere."""
    kind, _, name = path.strip("/").partition("/")
    if path == "/herbs.html":
        return html("Herbs", links(*(f"/shelf/{letter}.html" for letter in "abcde"), "/recipes.html"))
    if path == "/recipes.html":
        return html("Recipes", links(*(f"/shelf/{number}.html" for number in range(80))))
    if kind == "shelf":
        shown = HERBS["abcde".index(name[0]) :: 5] if name[0] in "abcde" else []
        named = "".join(f"<li><a href='/herb/{one}/'>herb{one} of the shelf</a>" for one in shown)
        return html(f"Shelf {name[0]}", f"<ul>{named}</ul>") if shown else None
    return html(f"Herb {name}", "<p>In pots and bags.</p>") if name in HERBS else None


def test_short_pages_that_complete_lists_name_are_all_visited(tmp_path: Path) -> None:
    trap, asked = Trap("herbs", herbs, "/herbs.html"), {f"/herb/{name}/" for name in HERBS}
    with trapped(trap) as url:
        # The job is stopped while these pages are visited, and goes on.
        job = {"JOBDIR": f"{tmp_path}/job"}
        first = crawled(tmp_path, "site", f"url={url}", CLOSESPIDER_PAGECOUNT="140", **job).log
        assert 30 < len(asked & set(trap.asked)) < 150
        assert "'dedup/parked/visited'" in first
        again = crawled(tmp_path, "site", f"url={url}", **job).log
    assert asked <= set(trap.asked)
    assert "not visited" not in again
    assert len(trap.asked) < 150 + 80 + 6 + 2 + IDEAL + 30


def test_a_job_goes_on_with_what_it_has_parked(tmp_path: Path) -> None:
    # The last of these is out of reach of the looks that it would take to get there.
    trap = Trap("chain", chain, "/months/1.html", deep={5: 0, 120: 1})
    with trapped(trap) as url:
        job = {"JOBDIR": f"{tmp_path}/job"}
        first = crawled(tmp_path, "site", f"url={url}", **job).log
        parked = json.loads((tmp_path / "job" / "not-visited.jsonl").read_text())
        assert "1 addresses not visited" in first
        before, again = len(trap.asked), crawled(tmp_path, "site", f"url={url}", **job).log
        # What was learned and what was parked is still there: nothing is looked at again.
        assert len(trap.asked) <= before + 1
        assert "1 addresses not visited" in again
        follow = f"dedup_follow={parked['why']}"
        crawled(tmp_path, "site", f"url={url}", follow, CLOSESPIDER_PAGECOUNT="90", **job)
    assert "/months/120.html" in trap.asked
