"""Measure what rules for URLs save: `python -m benchmarks.rules drawn-2 mediawiki`.

Truth is a full crawl without rules.  Four crawls follow: two propose, and two use what both have
proposed.  A page is lost if its text is on no page of the crawl and none of its URLs was asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.rules.programs import PROGRAMS, ROOT, free_port, look_in, start_of
from dedup import SQLiteIndex
from dedup.index.notes import UrlRules

MOST_PAGES = 6_000


@dataclass(frozen=True)
class Crawled:
    """What a crawl came to: its requests, the text of each URL that it asked for, what it kept."""

    requests: int
    texts: dict[str, bytes]
    kept: frozenset[bytes]
    share: float


def crawled(folder: Path, url: str, rules: str, depth: int) -> Crawled:
    """Crawl *url* into the index of *folder*."""
    folder.mkdir(exist_ok=True)
    index, result = folder / "pages.db", folder / "result.json"
    settings = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(index),
        "DEDUP_RULES": rules,
        "DEPTH_LIMIT": depth,
        "LOG_LEVEL": "INFO",
        "LOG_FILE": str(folder / "log.txt"),
        "TELNETCONSOLE_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": MOST_PAGES,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "ROBOTSTXT_OBEY": False,
        "DOWNLOAD_DELAY": 0,
        # Some of them link to ever more views of a page; the nearest come first, in each crawl.
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }
    job = json.dumps({"url": url, "result": str(result), "settings": settings})
    command = [sys.executable, "-m", "benchmarks.rules.crawl"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, input=job.encode(), env=environment, check=True, cwd=folder)
    found = json.loads(result.read_text())
    log = (folder / "log.txt").read_text()
    assert "rules for URLs could not" not in log, log
    assert "No rules for URLs are" not in log, log
    with SQLiteIndex(index) as opened:
        rows = list(opened.rows(max(run.id for run in opened.book.all())))
    texts = {row.sighting.url: row.sighting.fingerprint.token_digest for row in rows}
    kept = frozenset(row.sighting.fingerprint.token_digest for row in rows if row.verdict.kept)
    stats = found["stats"]
    share = stats.get("dedup/rules/seconds", 0.0) / found["cpu"]
    return Crawled(stats["downloader/request_count"], texts, kept, share)


def lost(truth: Crawled, run: Crawled) -> int:
    """Return how many pages that *truth* has kept are not in *run*."""
    urls: defaultdict[bytes, set[str]] = defaultdict(set)
    for url, text in truth.texts.items():
        urls[text].add(url)
    # A page that was asked for and shows another text by now, such as its age, is not lost.
    shown = set(run.texts.values())
    return sum(run.texts.keys().isdisjoint(urls[text]) for text in truth.kept - shown)


def measured(name: str, depth: int) -> dict[str, Any]:
    """Measure one program."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        with start_of(name)(folder, port := free_port()) as start:
            url = f"http://127.0.0.1:{port}{start}"
            truth = crawled(folder / "none", url, "off", depth)
            runs = [crawled(folder / "rules", url, rules, depth) for rules in ("propose", *["use"] * 3)]
        with SQLiteIndex(folder / "rules/pages.db") as index:
            proposed = UrlRules(index.store).proposed()
    return {
        "program": name,
        "requests": truth.requests,
        "exact copies": len(truth.texts) - len(set(truth.texts.values())),
        "saved": [truth.requests - run.requests for run in runs],
        "lost": [lost(truth, run) for run in runs],
        "share of CPU": [round(run.share, 4) for run in runs],
        "rules": [one.rule.words for one in proposed[0].proposals],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "programs", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}, drawn-SEED"
    )
    parser.add_argument("--bin", type=Path, action="append", default=[], help="where commands are")
    parser.add_argument("--depth", type=int, default=5, help="how many links deep is crawled (5)")
    arguments = parser.parse_args()
    look_in(arguments.bin)
    for name in arguments.programs:
        try:
            print(json.dumps(measured(name, arguments.depth)), flush=True)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
