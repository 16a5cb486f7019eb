"""Figures for all recipes, sets and peers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.accuracy import structural_peer
from benchmarks.accuracy.folding import Folded, Workers, fold_all
from benchmarks.accuracy.judging import Judged, Score, judged, labels, scored
from benchmarks.accuracy.mixed import Mix, copies_in, mix
from benchmarks.accuracy.peers import PEERS, Peer, PeerScore, peer_score, sampled
from benchmarks.accuracy.recipes import Options
from benchmarks.accuracy.sets import LabelledSet, Part
from dedup import DedupConfig
from dedup.recipes.fingerprinter import recipe_of


@dataclass(frozen=True, slots=True)
class Plan:
    """A recipe."""

    recipe: str
    config: DedupConfig


@dataclass(frozen=True, slots=True)
class Run:
    """What a plan gave; *mix* is None where it was not asked for."""

    plan: Plan
    judged: tuple[Judged, ...]
    scores: tuple[Score, ...]
    mix: Mix | None


@dataclass(frozen=True, slots=True)
class Library:
    """All pages of all sets, read and folded: *names* says which set and path, *place* where."""

    names: tuple[tuple[str, str], ...]
    paths: tuple[Path, ...]
    place: Mapping[tuple[str, str], int]
    folded: tuple[Folded, ...]

    def of(self, part: Part) -> dict[str, Folded]:
        """Return the pages in the pairs of *part* by path."""
        paths = {path for pair in part.pairs for path in (pair.a, pair.b)}
        return {path: self.folded[self.place[part.set_name, path]] for path in sorted(paths)}


def plans(recipes: Mapping[str, Options]) -> list[Plan]:
    """Return every recipe."""
    return [Plan(name, DedupConfig(**options)) for name, options in recipes.items()]


def library(
    sets: Sequence[LabelledSet],
    wanted: Sequence[Plan],
    peers: Sequence[str],
    pool: Workers,
    progress: Progress,
) -> tuple[Library, dict[Plan, int]]:
    """Read and fold all pages; also return which of its fingerprints each plan looks at.

    Plans that differ in thresholds only share theirs.
    """
    recipes = {tuple(recipe_of(plan.config).items()): plan.config for plan in wanted}
    order = {recipe: number for number, recipe in enumerate(recipes)}
    names = [(one.name, page) for one in sets for page in one.pages()]
    roots = {one.name: one.root for one in sets}
    paths = [roots[name] / page for name, page in names]
    task = progress.add_task(f"folding pages by {len(recipes)} recipes", total=len(paths))
    folded = fold_all(
        paths, list(recipes.values()), peers, pool, lambda pages: progress.advance(task, pages)
    )
    place = {name: number for number, name in enumerate(names)}
    found = Library(tuple(names), tuple(paths), place, tuple(folded))
    return found, {plan: order[tuple(recipe_of(plan.config).items())] for plan in wanted}


def run_all(
    pages: Library,
    parts: Sequence[Part],
    fingerprints: Mapping[Plan, int],
    *,
    with_mix: bool,
    pool: Workers,
    progress: Progress,
) -> list[Run]:
    """Return the figures of every plan in *fingerprints* for every part, and for all pages mixed."""
    mixes = _mixes(pages, fingerprints, pool, progress) if with_mix else {}
    found = []
    for plan, number in progress.track(fingerprints.items(), description="judging pairs"):
        verdicts = [_judged(pages, part, plan, number) for part in parts]
        scores = [
            scored(verdict, plan.config, _pages_seconds(pages.of(part), number))
            for part, verdict in zip(parts, verdicts, strict=True)
        ]
        found.append(Run(plan, tuple(verdicts), tuple(scores), mixes.get(plan)))
    return found


def _judged(pages: Library, part: Part, plan: Plan, number: int) -> Judged:
    folded = pages.of(part)
    known = {path: page.fingerprints[number] for path, page in folded.items()}
    return judged(part, known, {path: page.shingles for path, page in folded.items()}, plan.config)


def _pages_seconds(folded: Mapping[str, Folded], number: int) -> float:
    return sum(page.reading_seconds + page.seconds[number] for page in folded.values())


def _mixes(
    pages: Library, fingerprints: Mapping[Plan, int], pool: Workers, progress: Progress
) -> dict[Plan, Mix]:
    task = progress.add_task("mixing all pages", total=len(fingerprints))
    tasks = [
        ([page.fingerprints[number] for page in pages.folded], plan.config)
        for plan, number in fingerprints.items()
    ]
    copies = pool.each(copies_in, tasks, lambda _: progress.advance(task))
    word_pairs = [page.word_pairs for page in pages.folded]
    return {plan: mix(found, word_pairs) for plan, found in zip(fingerprints, copies, strict=True)}


def score_peers(
    pages: Library, parts: Sequence[Part], peers: Sequence[str], progress: Progress
) -> list[PeerScore]:
    """Return the figures of the peers that were folded with the pages."""
    return [
        _score_peer(pages, part, name, number)
        for name, number, part in progress.track(
            [(name, number, part) for number, name in enumerate(peers) for part in parts],
            description="comparing by peers",
        )
    ]


def _score_peer(pages: Library, part: Part, name: str, number: int) -> PeerScore:
    peer, folded = PEERS[name], pages.of(part)
    pairs = [pair for pair in part.pairs if pair.label is not None]
    signatures = {path: page.signatures[number] for path, page in folded.items()}
    begin = time.perf_counter()
    likeness = [_likeness(peer, signatures[pair.a], signatures[pair.b]) for pair in pairs]
    seconds = time.perf_counter() - begin
    return peer_score(
        name,
        part.name,
        labels(pairs),
        np.array(likeness, float),
        weights=np.ones(len(pairs)),
        threshold=peer.threshold,
        source=peer.source,
        page_seconds=sum(page.peer_seconds[number] for page in folded.values()) / max(1, len(folded)),
        pair_seconds=seconds / max(1, len(pairs)),
    )


def _likeness(peer: Peer, a: Any, b: Any) -> float:
    failed = isinstance(a, Exception) or isinstance(b, Exception)
    return float("-inf") if failed else peer.likeness(a, b)


def score_structural_peer(
    sets: Sequence[LabelledSet],
    parts: Sequence[Part],
    cache: Path,
    *,
    count: int,
    jobs: int,
    progress: Progress,
) -> list[PeerScore]:
    """Return the figures of html-similarity on at most *count* pairs of each part; it takes long.

    Raises `structural_peer.PeerError` where it cannot be made to run.
    """
    python = structural_peer.environment(cache)
    roots = {one.name: one.root for one in sets}
    return [
        _structural(python, part, roots[part.set_name], count=count, jobs=jobs, progress=progress)
        for part in parts
    ]


def _structural(
    python: Path, part: Part, root: Path, *, count: int, jobs: int, progress: Progress
) -> PeerScore:
    pairs = [pair for pair in part.pairs if pair.label is not None]
    numbers, weights = sampled([pair.label or 0 for pair in pairs], count)
    paths = [(root / pairs[number].a, root / pairs[number].b) for number in numbers]
    task = progress.add_task(f"{structural_peer.NAME}: {part.name}", total=len(paths))
    turns = [range(start, len(paths), jobs) for start in range(jobs)]

    def ask(turn: range) -> list[structural_peer.Answer]:
        asked = [paths[place] for place in turn]
        return structural_peer.structural_answers(python, asked, lambda: progress.advance(task))

    with ThreadPoolExecutor(jobs) as threads:
        answers = list(chain.from_iterable(threads.map(ask, turns)))
    order = list(chain.from_iterable(turns))
    likeness = np.full(len(paths), -np.inf)
    for place, answer in zip(order, answers, strict=True):
        if not answer.error:
            likeness[place] = answer.score
    return peer_score(
        structural_peer.NAME,
        part.name,
        labels([pairs[number] for number in numbers]),
        likeness,
        weights=weights,
        threshold=None,
        source="none is documented",
        page_seconds=0.0,
        pair_seconds=sum(answer.seconds for answer in answers) / max(1, len(answers)),
    )
