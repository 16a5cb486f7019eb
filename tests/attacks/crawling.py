"""Many crawls in one process, some at a time, each with settings of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.crawling import _ended, _forked
from tests.knobs import turn

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
AT_ONCE = 3


def crawled(folder: Path, crawls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what each of *crawls* gave: its items, its stats, and the error that ended it, or "".

    Those of one index come one after the other.  A crawl is a dictionary: the dotted path of its spider, the arguments of that, and settings.
    """
    job = {"crawls": crawls, "folder": str(folder)}
    log = folder / "log.txt"
    code = _ended(_forked(run, json.dumps(job), output=log, errors=log), log)
    assert code == 0, log.read_text("utf-8")
    ended = json.loads((folder / "stats.json").read_text())
    assert len(ended) == len(crawls), log.read_text("utf-8")
    return [
        {"items": list(_lines(folder / f"{number}.jsonl")), "stats": found, "error": error}
        for number, (found, error) in enumerate(ended)
    ]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text("utf-8").splitlines())


def run(text: str) -> int:
    """Crawl as `crawled` says, in this process."""
    from scrapy.crawler import Crawler, CrawlerProcess
    from scrapy.utils.misc import load_object
    from scrapy.utils.reactor import install_reactor

    job = json.loads(text)
    install_reactor(ASYNCIO)
    folder = Path(job["folder"])
    process = CrawlerProcess({"TWISTED_REACTOR": ASYNCIO, "LOG_LEVEL": "ERROR"})
    found: dict[int, tuple[dict[str, Any], str]] = {}
    left: dict[str, list[tuple[int, Any]]] = {}
    for number, crawl in enumerate(job["crawls"]):
        left.setdefault(crawl["settings"].get("DEDUP_INDEX", str(number)), []).append((number, crawl))

    def begin_another(_: Any = None) -> Any:
        return go_on(left.pop(next(iter(left)))) if left else None

    def go_on(crawls: list[tuple[int, Any]]) -> Any:
        number, crawl = crawls[0]
        settings = {
            "TWISTED_REACTOR": ASYNCIO,
            "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_REQUESTS": 2,  # Python's server has five in its queue: more would wait for long
            "LOG_LEVEL": "ERROR",
            "FEEDS": {str(folder / f"{number}.jsonl"): {"format": "jsonlines"}},
            **crawl["settings"],
        }
        turn(settings)
        crawler = Crawler(load_object(crawl["spider"]), settings)
        running = process.crawl(crawler, **crawl["arguments"])
        running.addErrback(lambda failure: repr(failure.value))
        running.addCallback(lambda error: found.update({number: (_stats(crawler), error or "")}))
        return running.addCallback(lambda _: go_on(crawls[1:]) if crawls[1:] else begin_another())

    for _ in range(AT_ONCE):
        begin_another()
    process.start()
    (folder / "stats.json").write_text(json.dumps([found[number] for number in sorted(found)]))
    return 0


def _stats(crawler: Any) -> dict[str, Any]:
    stats = crawler.stats.get_stats() if crawler.stats else {}
    return {name: value for name, value in stats.items() if not hasattr(value, "year")}
