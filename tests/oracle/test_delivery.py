"""Whatever sites, storage and crawls go through, everything unique is delivered or listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.forking import HAS_SERVER
from tests.oracle.history import drawn
from tests.oracle.oracle import Violation, told_in_short
from tests.oracle.story import story_of
from tests.oracle.trying import tried_seeds

pytestmark = pytest.mark.skipif(not HAS_SERVER, reason="histories are lived in forks")

HISTORIES = 100
# As many as a planted fault has to be found in; most are found in the first ten.
ENOUGH = 200


def broken(seeds: range, fault: str = "") -> Iterator[tuple[int, list[Violation]]]:
    for trial in tried_seeds(seeds, fault=fault):
        if trial.violations:
            yield trial.seed, list(trial.violations)


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, HISTORIES), marks=pytest.mark.slow)], ids=str
)
def test_everything_unique_is_delivered_or_listed(seeds: range) -> None:
    for seed, found in broken(seeds):
        pytest.fail(f"seed {seed}\n{story_of(drawn(seed))}\n{told_in_short(found)}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("released_counts", "keep"),
        ("released_counts", "drop"),
        ("killed_counts", "drop"),
        ("folder_is_job", "keep"),
        ("anything_repeats", "keep"),
        ("any_crawl_stands", "keep"),
        ("nothing_repeats", "lazy"),
        ("withheld_in_silence", "links"),
        ("dry_runs_count", "dry"),
        ("keys_say_nothing", "judged"),
        ("first_root_only", "whole"),
        ("fallbacks_say_nothing", "whole"),
        ("signs_say_nothing", "whole"),
        ("text_is_believed", "whole"),
        ("fields_say_nothing", "whole"),
    ],
)
def test_the_law_finds_a_planted_fault(fault: str, law: str) -> None:
    laws = ({one.law for one in found} for _, found in broken(range(ENOUGH), fault))
    assert any(law in broken_ones for broken_ones in laws)
