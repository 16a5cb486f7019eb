"""python -m tests.oracle --histories 2000 --seed 0

Lives that many random histories and prints those that break a law.
"""

from time import perf_counter

import click

from tests.oracle.oracle import told_of
from tests.oracle.trying import FAULTS, tried_seeds
from tests.support.forking import start


@click.command()
@click.option("--histories", default=100, help="how many")
@click.option("--seed", default=0, help="the seed of the first, the next one has the next")
@click.option("--fault", default="", type=click.Choice(["", *FAULTS]), help="plant this fault")
def main(histories: int, seed: int, fault: str) -> None:
    """Live random histories and tell of those that break the law."""
    start()
    begin, crawls, broken = perf_counter(), 0, 0
    for trial in tried_seeds(range(seed, seed + histories), fault=fault):
        crawls += trial.crawls
        if trial.violations:
            broken += 1
            click.echo(told_of(trial.seed, trial.violations))
    each = 1000 * (perf_counter() - begin) / crawls
    click.echo(f"{histories} histories, {broken} broken, {crawls} crawls, {each:.0f} ms a crawl")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
