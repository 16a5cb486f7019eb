"""Thirty-two crawls of one host on one file."""

from __future__ import annotations

import json
from collections import Counter
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

import pytest

from dedup import SQLiteIndex
from dedup.values.verdict import Outcome
from tests.crawling import run_job
from tests.dedup.index.test_processes import in_processes
from tests.faults.crawls import rows_of_a_sound_index
from tests.faults.spiders import content_of
from tests.forking import HAS_SERVER

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HAS_SERVER, reason="no fork server here")]


def crawl_all(number: int, together: Barrier, folder: Path, pages: int) -> None:
    """Crawl all pages in an order and under a host of this process's own."""
    numbers = list(range(pages))
    Random(number).shuffle(numbers)
    arguments = {"numbers": " ".join(map(str, numbers)), "host": f"host{number}"}
    job = {
        "process": "CrawlerProcess",
        "spiders": [("tests.faults.spiders.NumberedPages", arguments)],
        "settings": {
            "ADDONS": {"dedup.plugin.Addon": 500},
            "DEDUP_INDEX": str(folder / "pages.db"),
            "DEDUP_TEXT_FIELDS": "text",
            # One crawl, even of those that begin when others have ended.
            "DEDUP_CRAWL": "crowd",
            "ITEM_PIPELINES": {"tests.faults.spiders.Ledger": 300},
            "LEDGER": str(folder / "ledger.txt"),
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        },
        "strict": True,
        "result": str(folder / f"result-{number}.json"),
    }
    together.wait()
    run_job(json.dumps(job))


@pytest.mark.parametrize(("processes", "pages"), [(3, 20), pytest.param(32, 60, marks=pytest.mark.slow)])
def test_crawls_of_one_host_store_every_text_once(tmp_path: Path, processes: int, pages: int) -> None:
    in_processes(crawl_all, tmp_path, pages, processes=processes)
    rows = rows_of_a_sound_index(tmp_path / "pages.db")
    results = [json.loads((tmp_path / f"result-{n}.json").read_text())[0] for n in range(processes)]
    # So many processes on one lock: who has waited for it too long keeps its page, and counts it.
    unjudged = sum(stats.get("dedup/not_judged", 0) for stats in results)
    assert len(rows) + unjudged == processes * pages
    assert {row.outcome for row in rows} == {Outcome.CONFIRMED}
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [run.ending for run in index.runs()] == ["finished"] * processes
    lines = (tmp_path / "ledger.txt").read_text().splitlines()
    stored = Counter(int(line.split()[1]) for line in lines)
    assert stored.keys() == {content_of(number) for number in range(pages)}
    assert stored.total() - len(stored) <= unjudged
