"""The command: `python -m benchmarks.accuracy --help`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from platform import python_version

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from benchmarks.accuracy import __doc__ as about
from benchmarks.accuracy import plots
from benchmarks.accuracy.evaluation import (
    Run,
    library,
    plans,
    run_all,
    score_peers,
    score_structural_peer,
)
from benchmarks.accuracy.folding import workers
from benchmarks.accuracy.peers import PEERS, missing
from benchmarks.accuracy.recipes import ALL, chosen, recipes
from benchmarks.accuracy.report import Table, peer_table, scores_csv, tables
from benchmarks.accuracy.sets import labelled_sets, plain_texts
from benchmarks.accuracy.structural_peer import NAME as STRUCTURAL
from benchmarks.accuracy.structural_peer import PeerError
from dedup import Page, compare

DOCUMENT = "accuracy.md"
CSV = "accuracy.csv"
_CHOICES = [*recipes(), ALL]
# What figures may depend on, and the peers.
_LIBRARIES = (
    "lxml",
    "mmh3",
    "numpy",
    "jieba",
    "rjieba",
    "simhash",
    "datasketch",
    "rensa",
    "trafilatura",
)


@click.command(help=(about or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--recipe", "names", multiple=True, type=click.Choice(_CHOICES), help="A recipe, or all of them."
)
@click.option("--set", "set_names", multiple=True, help="Only the set with this name.")
@click.option("--mixed/--no-mixed", "with_mix", default=True, help="Compare all pages with each other.")
@click.option("--peers", is_flag=True, help="Score other libraries on the same pairs.")
@click.option("--peer-pairs", default=300, show_default=True, help="Pairs of each set for slow peers.")
@click.option("--cache", type=click.Path(path_type=Path), help="Keep unpacked sets and peers here.")
@click.option("--docs", type=click.Path(path_type=Path), help="Write tables and plots to this folder.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(
    folder: Path,
    *,
    names: Sequence[str],
    set_names: Sequence[str],
    with_mix: bool,
    peers: bool,
    peer_pairs: int,
    cache: Path | None,
    docs: Path | None,
    jobs: int,
) -> None:
    with _cached(cache) as kept, _progress() as progress:
        sets = labelled_sets(folder, kept, set_names)
        parts = [part for one in sets for part in one.parts()]
        if not parts:
            raise click.UsageError(f"no set with pairs in {folder}")
        failures = {name: why for name in PEERS if peers and (why := missing(name))}
        present = [name for name in PEERS if peers and name not in failures]
        with workers(jobs) as pool:
            pages, places = library(sets, plans(chosen(names)), present, pool, progress)
            runs = run_all(pages, parts, places, with_mix=with_mix, pool=pool, progress=progress)
        scores = score_peers(pages, parts, present, progress)
        if peers:
            try:
                scores += score_structural_peer(
                    sets, parts, kept, count=peer_pairs, jobs=jobs, progress=progress
                )
            except PeerError as error:
                failures[STRUCTURAL] = str(error)
    found = [*tables(runs, pages), *_examples(folder)]
    if peers:
        found.append(peer_table(scores, failures))
    click.echo("\n\n".join(table.markdown() for table in found))
    if docs is not None:
        _write(docs, found, runs)


@contextmanager
def _cached(cache: Path | None) -> Iterator[Path]:
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        yield cache
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


def _progress() -> Progress:
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True))


def _examples(folder: Path) -> list[Table]:
    """Return a table of the pairs of each folder of plain texts, which nobody labelled."""
    return [
        Table(
            f"An example without labels: {name}",
            ("a", "b", "reason", "content distance", "similarity"),
            [_example(texts, a, b) for a, b in combinations(texts, 2)],
        )
        for name, texts in plain_texts(folder).items()
        if len(texts) > 1
    ]


def _example(texts: Mapping[str, str], a: str, b: str) -> Sequence[object]:
    found = compare(Page.from_text(texts[a]), Page.from_text(texts[b]))
    return a, b, found.reason.value, found.content_distance, f"{found.similarity:.3f}"


def _write(docs: Path, found: Sequence[Table], runs: Sequence[Run]) -> None:
    docs.mkdir(parents=True, exist_ok=True)
    pictures = _plot(docs, runs)
    body = "\n\n".join([_HEAD, _versions(), *(table.markdown() for table in found), *pictures])
    (docs / DOCUMENT).write_text(body + "\n", "utf-8")
    (docs / CSV).write_text(scores_csv(runs), "utf-8")


def _versions() -> str:
    found = [f"{name} {version(name)}" for name in _LIBRARIES if _is_installed(name)]
    return f"Measured with Python {python_version()}, {', '.join(found)}."


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _plot(docs: Path, runs: Sequence[Run]) -> list[str]:
    """Draw the first run; returns the paragraphs that show the pictures."""
    if not find_spec("matplotlib"):
        click.echo("no plots: matplotlib is not installed", err=True)
        return []
    first = runs[0]
    plots.plot(first.judged, first.plan.config, docs)
    return [
        f"## Pictures\n\nRecipe `{first.plan.recipe}`.",
        f"![Precision and recall by threshold]({plots.CURVES})",
        "The star is the shipped rule. A curve shows one measure alone at each threshold.",
        f"![Distances and similarities of copies and of different pages]({plots.HISTOGRAMS})",
        (
            "Copies and different pages. The line is the shipped threshold: for candidates (content "
            "distance), for templates (structural distance), for copies (similarity)."
        ),
    ]


_HEAD = f"""# Accuracy: what is dropped, and what should be

Printed by `python -m benchmarks.accuracy DATA_FOLDER --docs docs/` on labelled pairs of real pages.

- **Sets.** Every set is scored separately, because its labels have their own meaning.
- **Thresholds** are the shipped ones, never those that would be best for a set. The area under the ROC curve (AUC)
  shows what ranking alone could reach.
- **Losses.** A page is dropped only if little would be lost with it. So a pair of label 1 that would lose more than is
  allowed is meant to be kept, and counts as missed in the F1. The table of losses tells such pairs apart. Pages with
  many other numbers are kept too, as records are: in the manuals, versions, dates and sections are such numbers.
- **Grey pairs** are neither copies nor different pages. Their drop rate is shown, but not scored.
- **Structure.** In `page_compare` label 1 means the same site. The structural distance recognizes templates, so it is
  scored on this set as well, within 13 bits. What the rule drops there has no target. In the other sets many pages of label 0 share a template.
  There the column only shows why structure alone must not drop pages.
- **Intervals** are 95 % bootstrap intervals over pairs. If a set has no errors, they cannot show how many errors
  there might be. They also treat pairs that share a page as independent, which they are not.
- **Seconds** are for one core: reading all pages of the set, making their fingerprints once, and comparing the pairs.
  All other figures are the same in every run.

[{CSV}]({CSV}) has the same figures with all bounds."""


if __name__ == "__main__":
    main()
