"""What the peers would drop of the same sites, each at the threshold that its documentation names.

A peer takes the pages of a site in the order of their names.  It keeps a page if none of those that it
kept is a copy of it, by its own index or by its own comparison, and else drops it.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.accuracy.folding import workers
from benchmarks.accuracy.peers import PEERS
from benchmarks.accuracy.report import Row, Table
from benchmarks.accuracy.structural_peer import PeerError
from benchmarks.judged.counting import MOST_LOST, Figures, Outcome, figures, total
from benchmarks.judged.labels import OF_DROPS, SET, labels_in, of_site, unpacked_sites
from benchmarks.judged.running import drops_of, outcome_of
from benchmarks.judged.sites import ADD, Site, read_site
from benchmarks.peer_contenders import (
    CONTENDERS,
    OURS,
    TEXT_DEDUP,
    TEXT_DEDUP_DISTANCE,
    Document,
    contender_of,
    reason_of,
    text_dedup_python,
    text_dedup_signatures,
    write_texts,
)
from dedup import DedupConfig

T = TypeVar("T")

# Those that compare, but name no threshold.
UNDECIDED = {name for name, peer in PEERS.items() if peer.threshold is None}


@dataclass(frozen=True, slots=True)
class PeerTask:
    """The contenders that one site goes through, and the Python that has text-dedup, if one has."""

    folder: Path
    contenders: Sequence[str]
    text_dedup: Path | None


def lost_by_peers(
    folder: Path, cache: Path, scratch: Path, jobs: int
) -> tuple[dict[str, Figures], dict[str, str]]:
    """Return what each contender does to the sites in the data *folder*, and why others cannot be run.

    Environments are kept in *cache*, sites are unpacked into *scratch*, a folder that there is.
    """
    failures = {
        name: f"{module} is not installed"
        for name, module in CONTENDERS.items()
        if module and not find_spec(module)
    }
    python: Path | None = None
    try:
        python = text_dedup_python(cache)
    except PeerError as error:
        failures.update(dict.fromkeys(TEXT_DEDUP, reason_of(error)))
    names = [name for name in CONTENDERS if name not in failures and name not in UNDECIDED]
    folders = unpacked_sites(folder / SET, scratch)
    found = _run_all([PeerTask(one, names, python) for one in folders], jobs)
    labels = labels_in(folder / SET)
    counted = {
        name: total(figures(outcomes[name], of_site(labels, outcomes[name].site)) for outcomes in found)
        for name in found[0]
    }
    return counted, failures


def _run_all(tasks: Sequence[PeerTask], jobs: int) -> list[dict[str, Outcome]]:
    """Return the outcomes by contender of each site; the largest sites begin."""
    sizes = {task.folder: sum(1 for path in task.folder.rglob("*") if path.is_file()) for task in tasks}
    ordered = sorted(tasks, key=lambda task: -sizes[task.folder])
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with workers(jobs) as pool, Progress(*columns, console=Console(stderr=True)) as progress:
        work = progress.add_task("judging sites by peers", total=sum(sizes.values()))
        return pool.each(
            outcomes_by_peer,
            ordered,
            lambda number: progress.advance(work, sizes[ordered[number].folder]),
        )


def outcomes_by_peer(task: PeerTask) -> dict[str, Outcome]:
    """Return what each contender drops of the site."""
    site = read_site(task.folder, DedupConfig())
    documents = [
        Document(str(task.folder / path), text.encode("utf-8", "replace").decode())
        for path, text in zip(site.paths, site.texts, strict=True)
    ]
    found: dict[str, Outcome] = {}
    dropped: dict[str, list[int]] = {}
    if OURS in task.contenders:  # its pages come from a folder, which it takes for their site
        found[OURS] = outcome_of(site, DedupConfig(), site.orders[ADD])
    with tempfile.TemporaryDirectory() as scratch:
        for name in (name for name in task.contenders if name != OURS):
            dropped[name] = _dropped_by(name, documents, Path(scratch))
        if task.text_dedup:
            with suppress(subprocess.CalledProcessError):
                dropped |= _dropped_by_text_dedup(task.text_dedup, documents, Path(scratch))
    return found | {name: _outcome(site, numbers) for name, numbers in dropped.items()}


def _outcome(site: Site, dropped: Sequence[int]) -> Outcome:
    return Outcome(site.name, tuple(drops_of(site, dict.fromkeys(dropped))))


def _dropped_by(name: str, documents: Sequence[Document], folder: Path) -> list[int]:
    contender, dropped = contender_of(name, folder), []
    for number, document in enumerate(documents):
        with suppress(ValueError, OverflowError):  # what cannot be judged is kept
            if contender.repeats(number, contender.prepared(document)):
                dropped.append(number)
    return dropped


def _dropped_by_text_dedup(
    python: Path, documents: Sequence[Document], folder: Path
) -> dict[str, list[int]]:
    texts = folder / "texts.jsonl"
    write_texts(texts, [document.text for document in documents])
    _, simhashes, bands = text_dedup_signatures(python, texts)
    return {
        TEXT_DEDUP[0]: _repeating(simhashes, repeats_a_simhash()),
        TEXT_DEDUP[1]: _repeating(bands, repeats_a_band()),
    }


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


def lost_table(found: Mapping[str, Figures], failures: Mapping[str, str]) -> Table:
    """Return the table of what each contender would drop, and lose."""
    labels = sorted(OF_DROPS)
    of = next(iter(found.values())).of
    rows: list[Row] = [
        (
            name,
            *(one.by_page.get(label, 0) for label in labels),
            f"{one.drops:,}",
            f"{one.nowhere:,.0f}",
            one.heavy,
        )
        for name, one in found.items()
    ]
    rows += [(name, f"does not run: {why}", *[""] * 5) for name, why in failures.items()]
    right, arguable, wrong = labels
    return Table(
        "What would be lost",
        (
            "contender",
            f"right drops, of {of.get(right, 0)}",
            f"arguable, of {of.get(arguable, 0)}",
            f"wrong, of {of.get(wrong, 0)}",
            "pages dropped",
            "words lost",
            f"pages with over {MOST_LOST} words lost",
        ),
        rows,
        note=(
            "Nine whole sites, one after the other, pages in the order of their names. A page is dropped if it "
            "is a copy of one that was kept, each contender by its own index or comparison. Readers have called "
            "drops of an early version of this project right, arguable or wrong; the columns say how many of these pages are "
            "dropped, for whatever page. Contenders that name no threshold are left out. Words are lost that are in no run of four words of any page kept."
        ),
    )
