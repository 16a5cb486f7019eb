"""Real crawls for tests: each in a process of its own, because a reactor runs only once.

    python -m tests.crawling SPIDER SETTINGS ARGUMENTS RESULT

SPIDER is a dotted path; SETTINGS and ARGUMENTS are JSON; RESULT is the file that gets the stats.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Crawl:
    """What a crawl left: its exit code, stats, items and log."""

    code: int
    stats: dict[str, Any]
    items: list[dict[str, Any]]
    log: str

    def dedup(self) -> dict[str, Any]:
        """Return what dedup counted: its stats without their prefix, without times and sizes."""
        found = {
            name.removeprefix("dedup/"): value
            for name, value in self.stats.items()
            if name.startswith("dedup/")
        }
        return {
            name: value
            for name, value in found.items()
            if not name.startswith(("seconds/", "index/", "candidates", "lookups"))
        }


def crawl(
    folder: Path,
    spider: str,
    settings: Mapping[str, Any] | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Crawl:
    """Run *spider* with the add-on, its index and feed in *folder*."""
    result, feed = folder / "result.json", folder / "items.jsonl"
    for path in (result, feed):
        path.unlink(missing_ok=True)
    everything = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(folder / "pages.db"),
        "FEEDS": {str(feed): {"format": "jsonlines"}},
        "TELNETCONSOLE_ENABLED": False,
        **(settings or {}),
    }
    command = [sys.executable, "-m", "tests.crawling", spider]
    command += [json.dumps(everything), json.dumps(arguments or {}), str(result)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=_environment(), check=False
    )
    lines = feed.read_text("utf-8").splitlines() if feed.exists() else []
    return Crawl(
        done.returncode,
        json.loads(result.read_text()) if result.exists() else {},
        [json.loads(line) for line in lines],
        done.stdout + done.stderr,
    )


def scrapy(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command ``scrapy`` in this project."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, env=_environment(), check=False
    )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}


def _main(spider: str, settings: str, arguments: str, result: str) -> None:
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.exceptions import ScrapyDeprecationWarning
    from scrapy.utils.misc import load_object

    warnings.simplefilter("error", ScrapyDeprecationWarning)
    process = CrawlerProcess(json.loads(settings))
    crawler = process.create_crawler(load_object(spider))

    def save() -> None:
        assert crawler.stats is not None
        stats = {
            name: value
            for name, value in crawler.stats.get_stats().items()
            if not hasattr(value, "year")
        }
        Path(result).write_text(json.dumps(stats))

    crawler.signals.connect(save, signals.engine_stopped, weak=False)
    process.crawl(crawler, **json.loads(arguments))
    process.start()
    if process.bootstrap_failed:
        sys.exit(1)


if __name__ == "__main__":
    _main(*sys.argv[1:])
