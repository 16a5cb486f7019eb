"""Spiders, pipelines and options in 70 combinations: each content that plain Scrapy gives, once.

Every option meets every kind of spider, and every pipeline meets every option and every kind.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.combined_spiders import KINDS, PIPELINES, files_of
from tests.support.constants import EXPLORED, KNOBS
from tests.support.crawling import Crawl, crawl
from tests.support.serving import serving

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
@pytest.mark.parametrize("number", range(len(OPTIONS)), ids=list(OPTIONS))
def test_each_content_comes_once_however_it_is_crawled(tmp_path: Path, kind: int, number: int) -> None:
    option, settings = list(OPTIONS.items())[number]
    common: dict[str, Any] = {"CONCURRENT_REQUESTS": 2}  # Python's server has five in its queue
    if storage := PIPELINES[(kind + number) % len(PIPELINES)]:
        order = 100 if kind % 2 else 900  # the add-on stands at 250
        common["ITEM_PIPELINES"] = {f"{storage.__module__}.{storage.__qualname__}": order}
    files: dict[str, str | bytes] = {}

    def crawled(name: str, **own: Any) -> Crawl:
        (folder := tmp_path / name).mkdir()
        own |= {"JOBDIR": str(folder / "job")} if option == "job" else {}
        spider = f"{KINDS[kind].__module__}.{KINDS[kind].__qualname__}"
        arguments = {"site": url.rstrip("/"), "several": "1" if "several" in option else ""}
        return crawl(folder, spider, {**common, **own}, arguments)

    with serving(files) as url:
        files.update(files_of(url.rstrip("/")))
        plain, index = crawled("plain", ADDONS={}), str(tmp_path / "pages.db")
        for turn in range(1 + (option == "second crawl")):
            ours = crawled(f"ours {turn}", DEDUP_INDEX=index, **settings)
    wanted, given = (Counter((it["content"], it["part"]) for it in c.items) for c in (plain, ours))
    copies = wanted.total() - len(wanted)
    assert copies
    if option == "mark":
        marked = [item for item in ours.items if "duplicate" in item.get("dedup_reason", "")]
        assert (given, len(marked)) == (wanted, copies)
    elif option == "report":
        assert given == wanted
        assert ours.dedup()["would_drop"] >= copies
    else:
        assert given == Counter(set(wanted))
    assert ours.dedup().keys().isdisjoint({"index_errors", "wait_timeout"})
