"""What crawls do, once more, with the index on a server."""

from collections.abc import Callable
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from dedup import PostgresIndex
from tests.crawls import test_changes, test_recrawl
from tests.plugin import crawls, test_middlewares, test_pipeline, test_stats, test_url_rules
from tests.support import crawling, postgres

# What is said of files only.
OF_FILES = (
    "test_copies_are_dropped_counted_and_explained",
    "test_what_stops_a_crawl_is_a_sentence",
    "test_an_index_that_fails_on_the_way_loses_no_page",
    "test_the_report_escapes_what_pages_say_and_tells_edits_before_counters",
    # A server keeps no texts that nobody has asked for.
    "test_the_summary_says_what_copies_lose",
    "test_stats_tell_sizes_and_times",
)
# One of each kind of thing that a crawl does with an index.
IN_SHORT = (
    "test_a_copy_takes_the_place_of_what_storage_lost",
    "test_a_resumed_job_is_one_run",
    "test_a_page_whose_only_item_storage_lost_is_nobodys_canonical",
    "test_what_was_restored_is_fetched",
    "test_what_comes_back_is_delivered_again",
)
MODULES = (test_changes, test_middlewares, test_stats, test_pipeline, test_recrawl, test_url_rules)


def address_of(folder: Path) -> str:
    """Return the address of the index that takes the place of the file in *folder*."""
    return postgres.server().address("t" + md5(str(folder).encode()).hexdigest()[:16])


def opened(path: Path, **choices: Any) -> PostgresIndex:
    return PostgresIndex(address_of(Path(path).parent), **choices)


@pytest.fixture(autouse=True)
def on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.server()
    monkeypatch.setattr(crawling, "index_of", address_of)
    for module in (*MODULES, crawls):
        if hasattr(module, "SQLiteIndex"):
            monkeypatch.setattr(module, "SQLiteIndex", opened)


def is_of_files(name: str, test: Any) -> bool:
    """Return whether *test* says nothing of a server, whose answers come after the next requests."""
    return name in OF_FILES or test_url_rules.sees_pages_in_time.mark in getattr(test, "pytestmark", ())


def cases(*, in_short: bool) -> dict[str, Callable[..., Any]]:
    return {
        f"{name}__{module.__name__.rpartition('_')[2]}": test
        for module in MODULES
        for name, test in vars(module).items()
        if name.startswith("test_")
        if not is_of_files(name, test) and (name in IN_SHORT) is in_short
    }


globals().update(cases(in_short=True))


def test_all_of_them_are_there() -> None:
    assert {name.partition("__")[0] for name in cases(in_short=True)} == set(IN_SHORT)


@pytest.mark.slow
@pytest.mark.nightly
class TestAllOthers:
    """The tests that are not `IN_SHORT`."""


for case, function in cases(in_short=False).items():
    setattr(TestAllOthers, case, staticmethod(function))
