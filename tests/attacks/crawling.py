"""Many crawls in one process, one after the other, each with settings of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.crawling import _ended, _forked, _stats
from tests.knobs import turn

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
COMMON = {
    "TWISTED_REACTOR": ASYNCIO,
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 2,  # Python's server has five in its queue: more would wait for long
    "LOG_LEVEL": "ERROR",
}


def crawled(folder: Path, crawls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what each of *crawls* gave: its items, and its stats.

    A crawl is a dictionary: the dotted path of its spider, the arguments of that, and settings.
    """
    log = folder / "log.txt"
    job = json.dumps({"crawls": crawls, "folder": str(folder)})
    code = _ended(_forked(run, job, output=log, errors=log), log)
    assert code == 0, log.read_text("utf-8")
    ended = json.loads((folder / "stats.json").read_text())
    assert len(ended) == len(crawls), log.read_text("utf-8")
    return [
        {"items": list(_lines(folder / f"{number}.jsonl")), "stats": stats}
        for number, stats in enumerate(ended)
    ]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text("utf-8").splitlines())


def run(text: str) -> int:
    """Crawl as `crawled` says, in this process."""
    from scrapy.crawler import Crawler, CrawlerRunner
    from scrapy.utils.misc import load_object
    from scrapy.utils.reactor import install_reactor
    from twisted.internet.defer import inlineCallbacks

    install_reactor(ASYNCIO)
    from twisted.internet import reactor as installed

    reactor: Any = installed
    job, runner = json.loads(text), CrawlerRunner({"TWISTED_REACTOR": ASYNCIO})
    stats: list[dict[str, Any]] = []

    @inlineCallbacks
    def crawl_all() -> Any:
        for number, crawl in enumerate(job["crawls"]):
            feed = f"{job['folder']}/{number}.jsonl"
            settings = {**COMMON, "FEEDS": {feed: {"format": "jsonlines"}}, **crawl["settings"]}
            turn(settings)
            crawler = Crawler(load_object(crawl["spider"]), settings)
            yield runner.crawl(crawler, **crawl["arguments"])
            stats.append(_stats(crawler))

    done = crawl_all()
    done.addBoth(lambda _: reactor.stop())
    reactor.run()
    Path(job["folder"], "stats.json").write_text(json.dumps(stats))
    return 0
