"""Spiders, pipelines and options in 70 combinations: as many items as plain Scrapy gives, to the item.

Every option meets every kind of spider, and every pipeline meets every option and every kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.attacks.crawling import crawled
from tests.attacks.site import COPIES, DIFFERENT, described, files_of
from tests.attacks.spiders import KINDS
from tests.attacks.storages import PIPELINES
from tests.knobs import EXPLORED
from tests.serving import serving

ALL = {"KNOBS": {EXPLORED: 0}}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "response": {"DEDUP_SOURCE": "response"},
    "links": {"DEDUP_ACTION": "skip"},
    "response and links": {"DEDUP_ACTION": "skip", "DEDUP_SOURCE": "response", **ALL},
    "mark": {"DEDUP_ACTION": "mark"},
    "report": {"DEDUP_ACTION": "report"},
    "several items": {},
    "several items, response": {"DEDUP_SOURCE": "response", "DEDUP_ACTION": "skip"},
    "job": {},
    "second crawl": {"DEDUP_SCOPE": "domain", "DEDUP_MAX_DISTANCE": 12},
}
SITES = {"different": DIFFERENT, "copies": DIFFERENT + COPIES}
COMBINATIONS = [
    (kind, option, (kind + number) % len(PIPELINES))
    for kind in range(len(KINDS))
    for number, option in enumerate(OPTIONS)
]


def test_there_are_so_many() -> None:
    assert len(COMBINATIONS) == 70


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize(
    ("kind", "option", "pipeline"),
    [
        pytest.param(
            *found,
            marks=pytest.mark.nightly if found[0] % 2 else (),
            id=f"{KINDS[found[0]].__name__}-{found[1]}-{getattr(PIPELINES[found[2]], '__name__', None)}",
        )
        for found in COMBINATIONS
    ],
)
def test_as_many_items_as_without(kind: int, option: str, pipeline: int, site: str) -> None:
    plain, ours = found(kind)[option, site]
    wanted, given = Counter(map(name, plain["items"])), Counter(map(name, ours["items"]))
    if site == "different":
        assert wanted
        assert given == wanted
    elif option in ("mark", "report"):
        assert given == wanted
        assert marked(ours) >= wanted.total() - len(wanted)
        assert option == "report" or marked(ours) == wanted.total() - len(wanted)
    else:
        assert given == Counter(set(wanted))
    assert not ours["error"]
    assert "dedup/index_errors" not in ours["stats"]
    assert "dedup/wait_timeout" not in ours["stats"]


def name(item: dict[str, Any]) -> tuple[Any, int]:
    """Return what an item says: copies have one name."""
    return item["content"], item["part"]


def marked(crawl: dict[str, Any]) -> int:
    """Return how many of the items of a crawl it took for copies, whatever became of them."""
    by_field = sum("duplicate" in (item.get("dedup_reason") or "") for item in crawl["items"])
    return by_field or int(crawl["stats"].get("dedup/would_drop", 0))


@cache
def found(kind: int) -> dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]:
    """Return what all crawls of one kind gave without the add-on, and with it."""
    return dict(_crawled(kind))


def _crawled(kind: int) -> Iterator[tuple[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]]:
    crawls: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for site, known in SITES.items():
            files: dict[str, str | bytes] = {}
            url = stack.enter_context(serving(files)).rstrip("/")
            files.update(files_of(known, url))
            for of_kind, option, pipeline in COMBINATIONS:
                if of_kind == kind:
                    arguments = {"site": url, "pages": described(known)}
                    index = folder / f"{site} {option}"
                    crawls[option, site] = _crawls(kind, option, pipeline, arguments, index)
        results = iter(crawled(folder, [crawl for some in crawls.values() for crawl in some]))
    for place, some in crawls.items():
        done = [next(results) for _ in some]
        yield place, (done[0], done[-1])


def _crawls(
    kind: int, option: str, pipeline: int, arguments: dict[str, str], place: Path
) -> list[dict[str, Any]]:
    """Return a crawl without the add-on, and one or two with it."""
    if option.startswith("several"):
        arguments = {**arguments, "several": "1"}
    settings: dict[str, Any] = {}
    if storage := PIPELINES[pipeline]:
        order = 100 if kind % 2 else 900  # the add-on stands at 250
        settings["ITEM_PIPELINES"] = {f"{storage.__module__}.{storage.__qualname__}": order}
    ours = {
        **settings,
        **OPTIONS[option],
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": f"{place}.db",
    }
    if option == "job":
        settings, ours = settings | {"JOBDIR": f"{place} plain"}, ours | {"JOBDIR": f"{place} job"}
    spider = f"{KINDS[kind].__module__}.{KINDS[kind].__qualname__}"
    all_settings = [settings, ours, ours] if option == "second crawl" else [settings, ours]
    return [{"spider": spider, "arguments": arguments, "settings": one} for one in all_settings]
