"""What crawls do, once more, with the index on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dedup.index import PostgresIndex
from tests import crawling, postgres
from tests.plugin import (
    test_actions,
    test_crawl,
    test_doors,
    test_longest,
    test_records,
    test_recrawl,
    test_rehearsal,
    test_responses,
    test_rules,
)

# What is said of files only, is found by simhashes only, or asks for answers in the order of requests or
# before the next ones are made.
OF_FILES = (
    "test_copies_are_dropped_counted_and_explained",
    "test_the_pipelines_before_ours_are_named",
    "test_an_index_that_is_no_database_stops_the_crawl_and_stays",
    "test_an_index_that_cannot_be_used_is_one_sentence",
    "test_all_is_delivered_and_told_and_then_it_drops",
    "test_nothing_is_lost_on_a_site_full_of_traps",
    "test_an_index_that_fails_on_the_way_loses_no_page",
    "test_the_log_warns_of_many_copies_that_lose_more_than_a_few_words",
)
MODULES = (
    *(test_actions, test_crawl, test_doors, test_longest, test_records, test_recrawl, test_rehearsal),
    *(test_responses, test_rules),
)


def address_of(folder: Path) -> str:
    """Return the address of the index that takes the place of the file in *folder*."""
    return postgres.server().address("t" + md5(str(folder).encode()).hexdigest()[:16])


def opened(path: Path, **choices: Any) -> PostgresIndex:
    return PostgresIndex(address_of(Path(path).parent), **choices)


@pytest.fixture(autouse=True)
def on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.server()
    monkeypatch.setattr(crawling, "index_of", address_of)
    for module in MODULES:
        if hasattr(module, "SQLiteIndex"):
            monkeypatch.setattr(module, "SQLiteIndex", opened)


def cases_of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, test in vars(module).items():
        if name.startswith("test_") and name not in OF_FILES:
            yield f"{name}__{module.__name__.rpartition('_')[2]}", test


for _module in MODULES:
    globals().update(cases_of(_module))
