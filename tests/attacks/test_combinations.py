"""Spiders, pipelines and options in 70 combinations: each content that plain Scrapy gives, once.

Every option meets every kind of spider, and every pipeline meets every option and every kind.  Many
crawls run in one process, one after the other, each with settings of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.spiders import KINDS, PIPELINES, files_of
from tests.crawling import _ended, _forked, _stats
from tests.knobs import EXPLORED, KNOBS, turn
from tests.serving import serving

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
    feeds = [folder / f"{number}.jsonl" for number in range(len(ended))]
    lines = [feed.read_text("utf-8").splitlines() if feed.exists() else [] for feed in feeds]
    return [
        {"items": list(map(json.loads, found)), "stats": stats}
        for found, stats in zip(lines, ended, strict=True)
    ]


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


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "response": {"DEDUP_SOURCE": "response"},
    "links": {"DEDUP_ACTION": "skip"},
    "response and links": {"DEDUP_ACTION": "skip", "DEDUP_SOURCE": "response", KNOBS: {EXPLORED: 0}},
    "mark": {"DEDUP_ACTION": "mark"},
    "report": {"DEDUP_ACTION": "report"},
    "several items": {},
    "several items, response": {"DEDUP_SOURCE": "response", "DEDUP_ACTION": "skip"},
    "job": {},
    "second crawl": {"DEDUP_SCOPE": "domain", "DEDUP_MAX_DISTANCE": 12},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[kind.__name__ for kind in KINDS])
def test_each_content_is_delivered_once_however_it_is_crawled(tmp_path: Path, kind: int) -> None:
    files: dict[str, str | bytes] = {}
    with serving(files) as url:
        files.update(files_of(url.rstrip("/")))
        crawls = {option: crawls_of(kind, option, url.rstrip("/"), tmp_path) for option in OPTIONS}
        results = iter(crawled(tmp_path, [crawl for some in crawls.values() for crawl in some]))
    for option, some in crawls.items():
        plain, *_, ours = [next(results) for _ in some]
        wanted, given = (
            Counter((item["content"], item["part"]) for item in one["items"]) for one in (plain, ours)
        )
        copies = wanted.total() - len(wanted)
        assert copies, option
        if option == "mark":
            marked = sum(
                "duplicate" in item["dedup_reason"] for item in ours["items"] if "dedup_reason" in item
            )
            assert (given, marked) == (wanted, copies), option
        elif option == "report":
            assert given == wanted
            assert ours["stats"].get("dedup/would_drop", 0) >= copies
        else:
            assert given == Counter(set(wanted)), option
        assert not {"dedup/index_errors", "dedup/wait_timeout"} & ours["stats"].keys(), option


def crawls_of(kind: int, option: str, url: str, folder: Path) -> list[dict[str, Any]]:
    """Return a crawl without the add-on, and one or two with it."""
    settings: dict[str, Any] = {}
    if storage := PIPELINES[(kind + list(OPTIONS).index(option)) % len(PIPELINES)]:
        order = 100 if kind % 2 else 900  # the add-on stands at 250
        settings["ITEM_PIPELINES"] = {f"{storage.__module__}.{storage.__qualname__}": order}
    ours = {
        **settings,
        **OPTIONS[option],
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": f"{folder}/{option}.db",
    }
    if option == "job":
        settings, ours = settings | {"JOBDIR": f"{folder}/plain"}, ours | {"JOBDIR": f"{folder}/job"}
    all_settings = [settings, ours, ours] if option == "second crawl" else [settings, ours]
    spider = f"{KINDS[kind].__module__}.{KINDS[kind].__qualname__}"
    arguments = {"site": url, "several": "1" if option.startswith("several") else ""}
    return [{"spider": spider, "arguments": arguments, "settings": one} for one in all_settings]
