"""What the peers would drop of the same sites, each at the threshold that its documentation names.

A peer takes the pages of a site in the order of their names.  It keeps a page if none of those that it
kept is a copy of it, by its own index or by its own comparison, and else drops it.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.contenders import (
    CONTENDERS,
    OURS,
    TEXT_DEDUP,
    TEXT_DEDUP_DISTANCE,
    Repeats,
    text_dedup_signatures,
)
from benchmarks.judged.counting import Figures, Outcome, figures, total
from benchmarks.judged.labels import SET, labels_in, of_site
from benchmarks.judged.running import drops_of, outcome_of
from benchmarks.judged.sites import ADD, Site, read_site
from benchmarks.pool import workers
from dedup import DedupConfig, Page

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PeerTask:
    """The contenders that one site goes through, and the Python that has text-dedup, if one has."""

    folder: Path
    contenders: Sequence[str]
    text_dedup: Path | None


def lost_by_peers(
    data: Path, sites: Sequence[Path], names: Sequence[str], text_dedup: Path | None, jobs: int
) -> dict[str, Figures]:
    """Return what the contenders of these *names* do to *sites*, whose labels are in the folder *data*."""
    sizes = {folder: sum(1 for path in folder.rglob("*") if path.is_file()) for folder in sites}
    tasks = [
        PeerTask(folder, names, text_dedup) for folder in sorted(sizes, key=lambda one: -sizes[one])
    ]
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with workers(jobs) as pool, Progress(*columns, console=Console(stderr=True)) as progress:
        work = progress.add_task("judging sites by peers", total=sum(sizes.values()))
        found = pool.each(
            outcomes_by_peer,
            tasks,
            lambda number: progress.advance(work, sizes[tasks[number].folder]),
        )
    labels = labels_in(data / SET)
    return {
        name: total(figures(outcomes[name], of_site(labels, outcomes[name].site)) for outcomes in found)
        for name in found[0]
    }


def outcomes_by_peer(task: PeerTask) -> dict[str, Outcome]:
    """Return what each contender drops of the site."""
    site = read_site(task.folder, DedupConfig())
    texts = [text.encode("utf-8", "replace").decode() for text in site.texts]
    pages = [Page.from_text(text, url=path) for path, text in zip(site.paths, texts, strict=True)]
    # Our pages come from a folder, which is taken for their site.
    found = {OURS: outcome_of(site, DedupConfig(), site.orders[ADD])} if OURS in task.contenders else {}
    dropped: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in (name for name in task.contenders if name != OURS):
            dropped[name] = _dropped_by(CONTENDERS[name][1](Path(scratch)), pages)
        if task.text_dedup:
            with suppress(subprocess.CalledProcessError):
                _, simhashes, bands = text_dedup_signatures(task.text_dedup, texts, Path(scratch))
                dropped[TEXT_DEDUP[0]] = _repeating(simhashes, repeats_a_simhash())
                dropped[TEXT_DEDUP[1]] = _repeating(bands, repeats_a_band())
    return found | {name: _outcome(site, numbers) for name, numbers in dropped.items()}


def _outcome(site: Site, dropped: Sequence[int]) -> Outcome:
    return Outcome(site.name, tuple(drops_of(site, dict.fromkeys(dropped))))


def _dropped_by(repeats: Repeats, pages: Sequence[Page]) -> list[int]:
    dropped = []
    for number, page in enumerate(pages):
        with suppress(ValueError, OverflowError):  # what cannot be judged is kept
            if repeats(page):
                dropped.append(number)
    return dropped


def _repeating(signatures: Sequence[T | None], repeats: Callable[[T], bool]) -> list[int]:
    return [number for number, given in enumerate(signatures) if given is not None and repeats(given)]


def repeats_a_simhash() -> Callable[[int], bool]:
    """Return a function that says whether a simhash is near one before it, and else keeps it."""
    kept: list[int] = []

    def repeats(simhash: int) -> bool:
        if any((simhash ^ other).bit_count() <= TEXT_DEDUP_DISTANCE for other in kept):
            return True
        kept.append(simhash)
        return False

    return repeats


def repeats_a_band() -> Callable[[set[Any]], bool]:
    """Return a function that says whether one of the bands was there before, and else keeps them."""
    kept: set[Any] = set()

    def repeats(bands: set[Any]) -> bool:
        if not kept.isdisjoint(bands):
            return True
        kept.update(bands)
        return False

    return repeats
