"""Whatever sites, storage and crawls go through, everything unique is delivered or listed."""

from collections.abc import Iterator

import pytest

from tests.oracle.oracle import Violation, told_of
from tests.oracle.trying import tried_seeds
from tests.support.forking import HAS_SERVER

pytestmark = pytest.mark.skipif(not HAS_SERVER, reason="histories are lived in forks")

HISTORIES = 100


def broken(seeds: range, fault: str = "") -> Iterator[tuple[int, list[Violation]]]:
    for trial in tried_seeds(seeds, fault=fault):
        if trial.violations:
            yield trial.seed, list(trial.violations)


SLOW, NIGHTLY = pytest.mark.slow, [pytest.mark.slow, pytest.mark.nightly]
ONCE_BROKEN = 593, 3055, 40056, 40236, 60061, 91025, 600_210


@pytest.mark.parametrize(
    "seeds",
    [
        range(4),
        range(4, 8),
        pytest.param(range(8, 24), marks=SLOW),
        pytest.param(range(24, HISTORIES), marks=NIGHTLY),
        *(pytest.param(range(one, one + 1), marks=SLOW) for one in ONCE_BROKEN),
    ],
    ids=str,
)
def test_everything_unique_is_delivered_or_listed(seeds: range) -> None:
    for seed, found in broken(seeds):
        pytest.fail(told_of(seed, found))


# Each planted fault, the law that finds it, and the first history that does; where histories are drawn in
# another way, `python -m tests.oracle --fault` tells another one.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "law", "seed"),
    [
        ("released_counts", "keep", 57),
        ("released_counts", "drop", 8),
        ("anything_repeats", "keep", 0),
        ("any_crawl_stands", "keep", 3),
        ("edits_are_copies", "news", 111),
        ("revisits_are_copies", "again", 7),
        ("nothing_repeats", "lazy", 0),
        ("withheld_in_silence", "links", 41),
        ("dry_runs_count", "dry", 45),
        ("keys_say_nothing", "judged", 2),
        ("fields_say_nothing", "whole", 148),
    ],
)
def test_the_law_finds_a_planted_fault(fault: str, law: str, seed: int) -> None:
    assert law in {one.law for _, found in broken(range(seed, seed + 1), fault) for one in found}
