"""The disk under the index fails in the middle of a crawl: pages go on, unjudged, and are counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dedup.model.verdict import Outcome
from tests.faults.crawls import Staged, near, page, rows_of_a_sound_index, stored

pytestmark = pytest.mark.slow

EXT4_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_THE_JOURNAL = b"\x02\x00\x00\x00"


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


def pull_the_plug(disk: Path) -> None:
    """Let every read and write of *disk* fail from now on."""
    import fcntl

    folder = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, EXT4_SHUTDOWN, WITHOUT_THE_JOURNAL)
    except OSError as error:
        pytest.skip(f"this file system cannot be shut down: {error}")
    finally:
        os.close(folder)


def mount_again(disk: Path) -> None:
    """Take *disk* down and up again, as after a new start of the machine; its journal is played back."""
    subprocess.run(["umount", disk], check=True)
    subprocess.run(["mount", "-o", "loop,errors=remount-ro", disk.parent / "image", disk], check=True)


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


def test_a_disk_that_fails_for_good_loses_no_page(tmp_path: Path, breakable_disk: Path) -> None:
    crawl = Staged(tmp_path, breakable_disk / "pages.db")
    crawl.start([page(n, n // 2) for n in range(20)], [page(20 + n, 5 + n) for n in range(10)])
    crawl.do(0)
    pull_the_plug(breakable_disk)
    crawl.do(1)
    done = crawl.finish()
    assert done.code == 0, done.log
    assert stored(done) == {n: 2 if 5 <= n < 10 else 1 for n in range(15)}
    assert done.dedup()["not_judged"] == 11
    assert done.log.count("The run could not be ended") == 1
    assert "Traceback" not in done.log

    mount_again(breakable_disk)
    again = Staged(tmp_path, breakable_disk / "pages.db")
    again.start([page(n, n) for n in range(15)])
    again.do(0)
    # What the index knew before the disk failed may be lost with it; what it knows now is whole.
    found = stored(again.finish())
    assert found == dict.fromkeys(range(15), 1)
    rows_of_a_sound_index(again.index)


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
