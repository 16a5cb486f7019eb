"""A crawl that is killed again and again, and gone on with, loses nothing."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dedup.model.verdict import Outcome
from tests.crawls.kills import kill_and_resume, kill_half_of_them
from tests.crawls.pausing import Staged, page, rows_of_a_sound_index
from tests.support import postgres
from tests.support.crawling import wait_until

FORMATS = {"jsonlines": "jsonl", "csv": "csv", "json": "json", "xml": "xml"}


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_crawl_killed_anywhere_and_resumed_stores_every_text(tmp_path: Path, times: int) -> None:
    kill_and_resume(tmp_path, times, seed=times)


@pytest.mark.slow
@pytest.mark.nightly
def test_half_of_the_workers_of_a_server_killed_again_and_again(tmp_path: Path) -> None:
    """For as many minutes as the environment says; by hand ten."""
    found = kill_half_of_them(tmp_path, postgres.empty(), float(os.environ.get("MINUTES", "1")))
    assert found["released"]  # or no kill came in time
    assert found["confirmed"] > 100


def confirmed_in(index: Path) -> int:
    """Return how many rows a crawl that is under way has confirmed."""
    with closing(sqlite3.connect(index)) as file:
        found: int = file.execute("SELECT count(*) FROM pages WHERE outcome = 'confirmed'").fetchone()[0]
    return found


def test_what_a_killed_crawl_had_confirmed_is_in_its_feeds(tmp_path: Path) -> None:
    feeds: dict[str, dict[str, object]] = {
        str(tmp_path / f"items.{name}"): {"format": kind} for kind, name in FORMATS.items()
    }
    feeds[str(tmp_path / "%(batch_id)d.jl")] = {"format": "jsonlines", "batch_item_count": 5}
    crawl = Staged(tmp_path, tmp_path / "pages.db", {"FEEDS": feeds})
    crawl.start([page(n, n) for n in range(12)], [page(12, 12)])
    crawl.do(0)
    assert crawl.running is not None
    wait_until(lambda: confirmed_in(crawl.index) >= 12)
    crawl.running.send(signal.SIGKILL)
    crawl.finish()
    rows = rows_of_a_sound_index(crawl.index)
    confirmed = [row.sighting.url for row in rows if row.outcome is Outcome.CONFIRMED]
    assert len(confirmed) >= 12
    for path in feeds:
        names = Path(path).name.replace("%(batch_id)d", "*")
        feed = "".join(part.read_text() for part in tmp_path.glob(names))
        assert [url for url in confirmed if url not in feed] == []
