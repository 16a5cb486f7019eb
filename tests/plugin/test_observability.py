"""What a crawl tells: stats, one line for each drop, warnings, the summary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Reason, Verdict
from dedup.plugin.notices import DuplicatePage
from dedup.reading.markup import Excess
from dedup.report.text import MIN_COPIES
from tests.crawling import ROOT, crawl
from tests.pages import edited, text

ITEMS = [{"url": f"http://a/{number}", "text": text(number % 5)} for number in range(40)]
SWALLOWED = [{"url": f"http://trap/{n}", "text": edited(9, 1 + n % 9)} for n in range(30)]


def test_stats_tell_sizes_and_times(tmp_path: Path) -> None:
    arguments = {"items": json.dumps(ITEMS)}
    done = crawl(tmp_path, "tests.plugin.actions.TypedSpider", {}, arguments)
    stats = {name.removeprefix("dedup/"): value for name, value in done.stats.items()}
    assert (stats["seen"], stats["new"], stats["exact_duplicate"], stats["kept"]) == (40, 5, 35, 5)
    assert stats["index/rows"] == 40
    assert stats["index/orphans"] == 0
    assert stats["index/bytes"] >= (tmp_path / "pages.db").stat().st_size
    for step in ("parse", "fingerprint", "index"):
        assert 0 < stats[f"seconds/{step}"] < 60


@pytest.mark.parametrize(("copies", "is_told"), [(30, True), (MIN_COPIES, False)])
def test_a_cluster_that_swallows_a_crawl_is_warned_about(
    tmp_path: Path, copies: int, *, is_told: bool
) -> None:
    arguments = {"items": json.dumps(SWALLOWED[:copies] + ITEMS)}
    done = crawl(tmp_path, "tests.plugin.actions.TypedSpider", {}, arguments)
    assert ("% of all pages are copies of http://trap/0: a trap, or" in done.log) is is_told


def test_the_reference_names_every_stat() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "dedup" / "plugin").glob("*.py"))
    calls = re.findall(r"\.add\(([^)\n]*)\)", source)
    counted = {name for call in calls for name in re.findall(r'(?<!f)"([\w/]+)"', call)}
    counted |= set(re.findall(r'"dedup/([\w/]+)"', source)) | {reason.value for reason in Reason}
    counted |= set(re.findall(r'\("(\w+)", "[A-Z]', source))
    counted |= {f"seconds/{step}" for step in re.findall(r'timed\("(\w+)",', source)}
    counted |= {f"over_limit/{excess}" for excess in Excess}
    counted -= {f"responses/{reason}" for reason in Reason}
    page = (ROOT / "docs/reference/stats.md").read_text("utf-8")
    table = page[page.index("| stat |") : page.index("Each dropped item is one line")]
    named = set(re.findall(r"`([\w/<>]+)`", table)) - {"responses/<verdict>"}
    assert counted >= {"seen", "marked", "requests_saved", "index/rows", "seconds/index"}
    assert {name for name in named if not name.startswith("DEDUP_")} == counted


class WholeNumbers(MemoryStatsCollector):
    """Takes no others, and gives texts, as that of scrapy-redis does."""

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        super().inc_value(key, count.__index__(), start)

    def get_stats(self, spider: Any = None) -> dict[str, Any]:
        return {name: str(value) for name, value in self._stats.items()}


def test_a_collector_of_whole_numbers_is_enough(tmp_path: Path) -> None:
    settings, arguments = {"STATS_CLASS": f"{__name__}.WholeNumbers"}, {"items": json.dumps(ITEMS)}
    done = crawl(tmp_path, "tests.plugin.actions.TypedSpider", settings, arguments)
    assert len(done.items) == 5
    assert "  40 items seen = 5 kept + 35 exact copies; 35 dropped" in done.log


def test_a_crawl_without_its_server_says_once_why(tmp_path: Path) -> None:
    away = {"DEDUP_INDEX": "postgresql://me:secret@127.0.0.1:1/pages"}  # nobody listens there
    done = crawl(tmp_path, "tests.plugin.actions.TypedSpider", away, {"items": json.dumps(ITEMS)})
    said = re.findall("The crawl begins without its index, and asks for it again: .*port 1 ", done.log)
    assert (len(said), "secret" in done.log, len(done.items)) == (1, False, 5)


def test_the_line_of_a_copy_says_what_of_it_stands_on_other_pages() -> None:
    verdict = Verdict(Reason.NEAR_DUPLICATE, kept=False, lost=70, missing=0, words=229)
    assert "loses about 70 of 229 words, all of which stand on other pages kept (" in str(
        DuplicatePage("http://a/", verdict)
    )
