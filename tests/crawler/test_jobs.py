"""A job that was stopped or killed goes on, and in the end everything was delivered once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawler.jobs import MARK
from tests.support.crawling import ROOT, document, serving
from tests.support.pages import text

FANOUT = 12
DEADLINE = 150.0
# What docs/developer/reliability.md promises; `test_judge.py` has the law.
MOST_TWICE = 64


@contextmanager
def site(pages: int) -> Iterator[str]:
    """Serve so many pages, a tree of links."""
    served: dict[str, str | bytes] = {}
    with serving(served) as url:
        for number in range(pages):
            below = range(FANOUT * number + 1, min(FANOUT * (number + 1) + 1, pages))
            links = "".join(f"<a href='/{one}.html'>on</a>" for one in below)
            served[f"/{number}.html"] = document(f"{number}", f"<p>{text(number)}</p>{links}")
        yield url


def start(folder: Path, arguments: list[str], log: str) -> subprocess.Popen[bytes]:
    settings = {"DEDUP_INDEX": str(folder / "pages.db"), "JOBDIR": str(folder / "job")}
    settings["AUTOTHROTTLE_ENABLED"] = "0"
    options = ["-o", str(folder / "feed.jsonl")]
    options += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", *arguments, *options]
    with (folder / log).open("wb") as output:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=output)


def delivered(folder: Path) -> Counter[str]:
    feed = folder / "feed.jsonl"
    lines = feed.read_text("utf-8").splitlines() if feed.exists() else []
    whole = [line for line in lines if line.endswith("}")]  # a kill may cut the last one
    return Counter(json.loads(line)["url"] for line in whole)


STOPPED = pytest.param(signal.SIGTERM, id="stopped", marks=pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, id="killed"), STOPPED])
def test_a_job_goes_on_and_loses_nothing(tmp_path: Path, number: signal.Signals) -> None:
    pages = 300
    with site(pages) as url:
        arguments = ["site", "-a", f"url={url}0.html"]
        process = start(tmp_path, arguments, "first.log")
        deadline = time.monotonic() + DEADLINE
        while len(delivered(tmp_path)) < pages // 3 and time.monotonic() < deadline:
            assert process.poll() is None, (tmp_path / "first.log").read_text()
            time.sleep(0.2)
        process.send_signal(number)
        process.wait(DEADLINE)
        before = len(delivered(tmp_path))
        assert pages // 3 <= before < pages
        assert (tmp_path / "job" / MARK).exists() == (number == signal.SIGKILL)
        assert start(tmp_path, arguments, "second.log").wait(DEADLINE) == 0
    log = (tmp_path / "second.log").read_text()
    assert ("was killed" in log) == (number == signal.SIGKILL)
    found = delivered(tmp_path)
    assert set(found) == {f"{url}{page}.html" for page in range(pages)}
    # A kill may come between the feed and the index.
    assert sum(found.values()) - pages <= (MOST_TWICE if number == signal.SIGKILL else 0)
    assert not (tmp_path / "job" / MARK).exists()
