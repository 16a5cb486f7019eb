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


SLOW, NIGHTLY = pytest.mark.slow, [pytest.mark.slow, pytest.mark.nightly]


@pytest.mark.parametrize(
    "seeds",
    [
        range(4),
        range(4, 8),
        pytest.param(range(8, 24), marks=SLOW),
        pytest.param(range(24, HISTORIES), marks=NIGHTLY),
        pytest.param(range(593, 594), marks=SLOW),
    ],
    ids=str,
)
def test_everything_unique_is_delivered_or_listed(seeds: range) -> None:
    for seed, found in broken(seeds):
        pytest.fail(f"seed {seed}\n{story_of(drawn(seed))}\n{told_in_short(found)}")


# Each planted fault, the law that finds it, and the first history that does.  Where histories are drawn
# in another way, the nightly test still finds the fault, and `python -m tests.oracle --fault` its history.
PLANTED = [
    ("released_counts", "keep", 57),
    ("released_counts", "drop", 8),
    ("killed_counts", "drop", 69),
    ("folder_is_job", "keep", 62),
    ("anything_repeats", "keep", 0),
    ("any_crawl_stands", "keep", 3),
    ("moved_sites_stand", "keep", 7),
    ("edits_are_copies", "news", 111),
    ("revisits_are_copies", "again", 7),
    ("redirects_are_revisits", "lazy", 7),
    ("siblings_are_revisits", "lazy", 7),
    ("nothing_repeats", "lazy", 0),
    ("withheld_in_silence", "links", 41),
    ("dry_runs_count", "dry", 45),
    ("keys_say_nothing", "judged", 2),
    ("first_root_only", "whole", 19),
    ("fallbacks_say_nothing", "whole", 19),
    ("signs_say_nothing", "whole", 5),
    ("text_is_believed", "whole", 50),
    ("fields_say_nothing", "whole", 148),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "law", "seed"), PLANTED)
def test_the_law_finds_a_planted_fault(fault: str, law: str, seed: int) -> None:
    assert law in {one.law for _, found in broken(range(seed, seed + 1), fault) for one in found}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "law", "seed"), PLANTED)
def test_random_histories_find_a_planted_fault(fault: str, law: str, seed: int) -> None:
    assert seed < ENOUGH
    assert any(law in {one.law for one in found} for _, found in broken(range(ENOUGH), fault))
