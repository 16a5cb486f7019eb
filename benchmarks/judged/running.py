"""A site through an index by a rule, and what its drops lose."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judged.counting import MOST_LOST, Drop, Outcome
from benchmarks.judged.sites import Site, read_site
from benchmarks.judged.words import excerpt, words_in_runs
from dedup import DedupConfig, Detector, SQLiteIndex


@dataclass(frozen=True, slots=True)
class Task:
    """The rules to put one site through, by name, and the orders to take its pages in."""

    folder: Path
    rules: Mapping[str, DedupConfig]
    orders: Mapping[str, Sequence[str]]


def outcomes_of(task: Task) -> dict[tuple[str, str], Outcome]:
    """Return what each rule drops of the site in each order that is asked of it, by order and rule."""
    site = read_site(task.folder, DedupConfig())
    asked = [(order, rule) for order, rules in task.orders.items() for rule in rules]
    # Rules of several names may be the same one.
    found = {
        (order, config): outcome_of(site, config, site.orders[order])
        for order, config in dict.fromkeys((order, task.rules[rule]) for order, rule in asked)
    }
    return {(order, rule): found[order, task.rules[rule]] for order, rule in asked}


def outcome_of(site: Site, config: DedupConfig, order: Iterable[int]) -> Outcome:
    """Return what *config* drops of *site*, its pages taken in *order*."""
    by_url = {sighting.url: number for number, sighting in enumerate(site.sightings)}
    dropped: dict[int, int | None] = {}
    with tempfile.TemporaryDirectory() as scratch:
        index = SQLiteIndex(Path(scratch, "pages.db"))
        begin = time.perf_counter()
        with Detector(index, config) as detector:
            for number in order:
                verdict = detector.submit(site.sightings[number], confirmed=True)
                if not verdict.kept:
                    dropped[number] = by_url.get(verdict.canonical_url)
        seconds = time.perf_counter() - begin
        index.close()
    return Outcome(site.name, tuple(drops_of(site, dropped)), seconds)


def drops_of(site: Site, dropped: Mapping[int, int | None]) -> list[Drop]:
    """Return the *dropped* pages of *site*, given what each was dropped for, None where nobody knows."""
    kept = [number for number in range(len(site.paths)) if number not in dropped]
    known = site.words.on(kept)
    prints = [sighting.fingerprint for sighting in site.sightings]
    texts = {prints[number].token_digest for number in kept}
    bodies = {prints[number].body_digest for number in kept}
    found = []
    for number, other in dropped.items():
        page = prints[number]
        is_near = page.token_digest not in texts and page.body_digest not in bodies
        nowhere = site.words.lost(number, known) if is_near else []
        beside = site.words.lost(number, site.words.on([other])) if is_near and other is not None else []
        words = words_in_runs(nowhere)
        found.append(
            Drop(
                page=site.paths[number],
                other="" if other is None else site.paths[other],
                is_near=is_near,
                nowhere=words,
                beside=words_in_runs(beside),
                excerpt=excerpt(nowhere if words > MOST_LOST else beside),
            )
        )
    return found
