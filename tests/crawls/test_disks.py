"""The disk under the index fails in the middle of a crawl: pages go on, unjudged, and are counted."""

from pathlib import Path

import pytest

from dedup.model.verdict import Outcome
from tests.crawls.pausing import Staged, near, page, rows_of_a_sound_index, stored

pytestmark = pytest.mark.slow


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


def test_pages_met_while_the_disk_is_full_are_kept_and_those_after_are_judged(
    tmp_path: Path, small_disk: Path
) -> None:
    crawl = Staged(tmp_path, small_disk / "pages.db")
    crawl.start(
        [page(n, n) for n in range(20)],
        [page(20 + n, 10 + n) for n in range(20)],
        [*(near(40 + n, n) for n in range(10)), *(page(50 + n, 30 + n) for n in range(10))],
    )
    crawl.do(0)
    filler = fill(small_disk)
    crawl.do(1)
    filler.unlink()
    crawl.do(2)
    done = crawl.finish()
    # Copies of 10 to 19 came while nothing could be judged; 20 to 29 are not in the index.
    assert stored(done) == {n: 2 if 10 <= n < 20 else 1 for n in range(40)}
    assert (done.dedup()["index_errors"], done.dedup()["not_judged"]) == (21, 21)
    assert done.log.count("Pages are kept without being judged") == 1
    assert "the disk is full" in done.log
    rows = rows_of_a_sound_index(crawl.index)
    assert {row.outcome for row in rows} == {Outcome.CONFIRMED}


@pytest.mark.parametrize("vanish", ["delete", "replace"])
def test_an_index_taken_away_is_told_at_the_end(tmp_path: Path, vanish: str) -> None:
    crawl = Staged(tmp_path, tmp_path / "index" / "pages.db")
    crawl.start([page(n, n) for n in range(3)], [near(3 + n, n) for n in range(3)])
    crawl.do(0)
    crawl.index.unlink()
    if vanish == "replace":
        crawl.index.write_bytes(b"")
    crawl.do(1)
    done = crawl.finish()
    assert stored(done) == dict.fromkeys(range(3), 1)
    assert done.log.count("was moved, deleted or replaced during the crawl") == 1
