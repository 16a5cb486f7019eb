"""python -m tests.oracle --histories 2000 --seed 0

Lives that many random histories and prints the first one for each broken law.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from time import perf_counter

import click
from rich.progress import Progress

from tests.forking import start
from tests.oracle.faults import FAULTS
from tests.oracle.history import drawn
from tests.oracle.oracle import LAWS, told_in_short
from tests.oracle.story import story_of
from tests.oracle.trying import Trial, in_a_process, tried, tried_seeds


@click.command()
@click.option("--histories", default=100, help="how many")
@click.option("--seed", default=0, help="the seed of the first, the next one has the next")
@click.option("--processes", default=2, help="in so many processes")
@click.option("--fault", default="", type=click.Choice(["", *FAULTS]), help="plant this fault")
@click.option("--law", "laws", multiple=True, type=click.Choice(list(LAWS)), help="only these")
@click.option("--examples", default=1, help="histories told of each broken law")
def main(
    histories: int,
    seed: int,
    processes: int,
    fault: str,
    laws: Sequence[str],
    examples: int,
) -> None:
    """Live random histories and tell of those that break the law."""
    start()
    begin, crawls = perf_counter(), 0
    broken: Counter[str] = Counter()
    trials: defaultdict[str, list[Trial]] = defaultdict(list)
    with Progress() as progress:
        task = progress.add_task("living", total=histories)
        for trial in tried_seeds(range(seed, seed + histories), processes=processes, fault=fault):
            progress.advance(task)
            crawls += trial.crawls
            for law in {one.law for one in trial.violations if not laws or one.law in laws}:
                broken[law] += 1
                trials[law].append(trial)
    seconds = perf_counter() - begin
    click.echo(f"{histories} histories, {crawls} crawls, {1000 * seconds / crawls:.0f} ms a crawl")
    for law in LAWS:
        click.echo(f"{law:8}{broken[law]:6} histories break it: {LAWS[law]}")
    for law, found in trials.items():
        for trial in found[:examples]:
            _tell(law, trial, fault)
    raise SystemExit(bool(broken))


def _tell(law: str, trial: Trial, fault: str) -> None:
    history = drawn(trial.seed)
    [found] = in_a_process(tried, [history], fault)
    click.echo(f"\n== {law}, seed {trial.seed}\n{story_of(history)}")
    click.echo(told_in_short(one for one in found if one.law == law))


if __name__ == "__main__":
    main()
