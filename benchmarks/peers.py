"""This project and its peers on the same whole sites, in one run, as a table.

    python -m benchmarks.peers DATA_FOLDER --write

DATA_FOLDER holds the sites of `benchmarks.judged`.  A contender takes the pages of a site in the order of their
names, and drops a page if its own index or comparison calls it a copy of one that was kept, at the threshold that
its documentation names.  All but this project get the text that `Page` extracts, so that only the methods are
compared, and split it into tokens by `dedup.reading.tokens`, which splits Chinese, unless they split texts
themselves.  Time and memory are measured in a process of its own.  ``--write`` puts the table into docs/peers.md and,
shortened, into the README, between their markers.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from benchmarks.child import ROOT, anonymous_mb, child
from benchmarks.judged.counting import MOST_LOST, Drop, Figures, figures, labels_in, unpacked_sites
from benchmarks.judged.running import dropped_of, drops_of
from benchmarks.judged.sites import ADD, read_site
from benchmarks.pool import each
from benchmarks.tables import Row, Table, put
from dedup import Detector, Page, SQLiteIndex, fingerprint
from dedup.reading.tokens import tokens

T = TypeVar("T")

OURS = "scrapy-dedup"
TEXT_DEDUP = ("text-dedup SimHash", "text-dedup MinHash")
WORKER = Path(__file__).with_name("peer_text_dedup.py")
PERMUTATIONS = 128
HEADER = (
    *("contender", "right drops, of {A}", "arguable, of {B}", "wrong, of {C}", "pages dropped"),
    *("words lost", f"pages with over {MOST_LOST} words lost", "pages a second", "MB for all"),
)
# The columns that stand in the README, and the rows of those who compare no texts.
SHORT = (0, 3, 4, 5)
BY_URL = tuple(
    (name, "-", "-", "by URL only") for name in ("scrapy-deltafetch", "duplicate-url-discarder")
)

Repeats = Callable[[Page], bool]
"""Returns whether a page repeats one that was kept before; if not, it is kept."""


def _ours(folder: Path) -> Repeats:
    detector = Detector(SQLiteIndex(folder / "pages.db"))
    return lambda page: not detector.check(page).kept


def _simhash(_: Path) -> Repeats:
    """1e0ng's index within a distance of 2, its default."""
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=2)

    def repeats(page: Page) -> bool:
        try:
            found = Simhash(page.text)
        except OverflowError:
            # numpy 2 refuses to multiply bytes with Python integers above 255, not with its own.
            counts = Counter(Simhash("")._tokenize(page.text))
            found = Simhash({feature: np.int64(count) for feature, count in counts.items()})
        if index.get_near_dups(found):
            return True
        index.add(page.url, found)
        return False

    return repeats


def _datasketch(_: Path) -> Repeats:
    """MinHashLSH with the Jaccard similarity .9, its default."""
    from datasketch import LeanMinHash, MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.9, num_perm=PERMUTATIONS)

    def repeats(page: Page) -> bool:
        signature = MinHash(num_perm=PERMUTATIONS)
        words = set(tokens(page.text))
        signature.update_batch([word.encode("utf-8", "surrogatepass") for word in words])
        if index.query(signature := LeanMinHash(signature)):
            return True
        index.insert(page.url, signature)
        return False

    return repeats


def _rensa(_: Path) -> Repeats:
    """R-MinHash with the Jaccard similarity .8, as in its README."""
    from rensa import RMinHash, RMinHashDeduplicator

    index = RMinHashDeduplicator(threshold=0.8, num_perm=PERMUTATIONS, use_lsh=True, num_bands=16)

    def repeats(page: Page) -> bool:
        signature = RMinHash(num_perm=PERMUTATIONS, seed=42)
        signature.update([word.encode("utf-8", "replace").decode() for word in tokens(page.text)])
        return not index.add(page.url, signature)

    return repeats


def _faiss(_: Path) -> Repeats:
    """faiss on the simhashes of this project, within 10 bits, unverified."""
    import faiss

    faiss.omp_set_num_threads(1)  # others wait for work by using the processor
    index = faiss.IndexBinaryFlat(64)

    def repeats(page: Page) -> bool:
        simhash = fingerprint(page).content_simhash.to_bytes(8, "little")
        code = np.frombuffer(simhash, np.uint8)[None]
        if index.range_search(code, 11)[0][1]:  # less than 11
            return True
        index.add(code)
        return False

    return repeats


# Each with the package that it needs beside ours.
CONTENDERS: dict[str, tuple[str, Callable[[Path], Repeats]]] = {
    OURS: ("", _ours),
    "1e0ng simhash": ("simhash", _simhash),
    "datasketch MinHash": ("datasketch", _datasketch),
    "rensa R-MinHash": ("rensa", _rensa),
    "faiss, IndexBinaryFlat": ("faiss", _faiss),
}


@dataclass(frozen=True, slots=True)
class Signatures:
    """What text-dedup makes of texts by its two methods: seconds, simhashes, and bands; None for nothing."""

    seconds: tuple[float, float]
    simhashes: list[int | None]
    bands: list[set[Any] | None]


def text_dedup_python(cache: Path) -> Path | None:
    """Return the Python of an environment with text-dedup, made in *cache*, None where it cannot be made."""
    python = cache / "bin" / "python"
    if not python.exists():
        venv.create(cache, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "text-dedup"]
    done = subprocess.run(install, check=False)
    return None if done.returncode else python


def text_dedup_signatures(python: Path, texts: Iterable[str]) -> Signatures:
    lines = [json.dumps({"text": text.encode("utf-8", "replace").decode()}) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.jsonl")
        path.write_text("\n".join(lines), "utf-8")
        done = subprocess.run([python, WORKER, path], stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    return Signatures(
        tuple(told["seconds"]),
        [None if digits is None else int(digits, 16) for digits in told["simhashes"]],
        [None if found is None else set(enumerate(found)) for found in told["bands"]],
    )


def dropped_by_peers(
    folder: Path, names: Sequence[str], text_dedup: Path | None
) -> dict[str, list[Drop]]:
    """Return what each contender drops of the site in *folder*."""
    site = read_site(folder)
    pages = [Page.from_text(text, url=path) for path, text in zip(site.paths, site.texts, strict=True)]
    # Our pages come from a folder, which is taken for their site.
    found = {OURS: dropped_of(site, site.orders[ADD])}
    with tempfile.TemporaryDirectory() as scratch:
        dropped = {
            name: repeating(pages, CONTENDERS[name][1](Path(scratch))) for name in names if name != OURS
        }
    if text_dedup:
        made = text_dedup_signatures(text_dedup, site.texts)
        dropped[TEXT_DEDUP[0]] = repeating(made.simhashes, unlike(lambda a, b: (a ^ b).bit_count() <= 3))
        dropped[TEXT_DEDUP[1]] = repeating(made.bands, unlike(lambda a, b: not a.isdisjoint(b)))
    return found | {name: drops_of(site, dict.fromkeys(some)) for name, some in dropped.items()}


def repeating(given: Sequence[T | None], repeats: Callable[[T], bool]) -> list[int]:
    """Return the numbers of those that repeat others; what cannot be judged is kept."""
    dropped = []
    for number, one in enumerate(given):
        with suppress(ValueError, OverflowError):
            if one is not None and repeats(one):
                dropped.append(number)
    return dropped


def unlike(is_alike: Callable[[T, T], bool]) -> Callable[[T], bool]:
    """Return what says whether something *is_alike* one that was kept before, and else keeps it."""
    kept: list[T] = []

    def repeats(one: T) -> bool:
        if any(is_alike(one, other) for other in kept):
            return True
        kept.append(one)
        return False

    return repeats


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    default=Path(tempfile.gettempdir(), "dedup-peers"),
    help="Where text-dedup is installed.",
)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--write", is_flag=True, help="Write the table to docs/peers.md and the README.")
@click.option("--one", type=click.Choice(list(CONTENDERS)), hidden=True)
def main(folder: Path, *, cache: Path, jobs: int, write: bool, one: str | None) -> None:
    if one:
        click.echo(json.dumps(measured(one, folder)))
        return
    names = [name for name, (package, _) in CONTENDERS.items() if not package or find_spec(package)]
    python = text_dedup_python(cache)
    with tempfile.TemporaryDirectory() as scratch:
        sites = unpacked_sites(folder, Path(scratch))
        call = partial(dropped_by_peers, names=names, text_dedup=python)
        dropped = each(call, sites, jobs, "judging sites")
        costs = {name: cost(name, Path(scratch)) for name in names}
        if python:
            costs |= text_dedup_costs(python, Path(scratch))
    labels = labels_in(folder)
    total = {name: Figures() for name in costs}
    for site, found in zip(sites, dropped, strict=True):
        of_site = [label for label in labels if label.site == site.name]
        for name in total:
            total[name] += figures(found[name], of_site)
    table = table_of(total, costs)
    click.echo(table.markdown())
    if write:
        put(ROOT / "docs" / "peers.md", "lost", table)
        rows = [tuple(row[place] for place in SHORT) for row in table.rows]
        header = tuple(table.header[place] for place in SHORT)
        put(ROOT / "README.md", "lost", Table("", header, [*rows, *BY_URL]))


def cost(name: str, sites: Path) -> tuple[str, str]:
    """Return the pages a second and the MB of a contender, in a process of its own."""
    pages, seconds, megabytes = child("benchmarks.peers", str(sites), "--one", name)
    return f"{pages / seconds:,.0f}", f"{max(0.0, megabytes):,.0f}"


def measured(name: str, sites: Path) -> tuple[int, float, float]:
    """Return how many pages there are, the processor seconds of all, and the megabytes they take."""
    with tempfile.TemporaryDirectory() as scratch:
        repeats = CONTENDERS[name][1](Path(scratch))
        repeats(Page.from_html("<p>What is loaded on first use \u70ed\u8eab.", url="file:///warm"))
        before, begin, number = anonymous_mb(), time.process_time(), 0
        for number, page in enumerate(read(sites), 1):  # noqa: B007
            with suppress(ValueError, OverflowError):
                repeats(page)
        return number, time.process_time() - begin, anonymous_mb() - before


def read(sites: Path) -> Iterator[Page]:
    for path in sorted(sites.rglob("*")):
        if path.is_file():
            yield Page.from_html(path.read_bytes(), url=path.as_uri())


def text_dedup_costs(python: Path, sites: Path) -> dict[str, tuple[str, str]]:
    """Return what text-dedup takes: reading pages as we do, and its signatures; its memory is not known."""
    begin = time.process_time()
    texts = [page.text for page in read(sites)]
    reading = time.process_time() - begin
    seconds = text_dedup_signatures(python, texts).seconds
    return {
        name: (f"{len(texts) / (reading + own):,.0f}", "")
        for name, own in zip(TEXT_DEDUP, seconds, strict=True)
    }


def table_of(total: Mapping[str, Figures], costs: Mapping[str, tuple[str, str]]) -> Table:
    header = [name.format(**total[OURS].of) for name in HEADER]
    rows: list[Row] = [
        (
            *(name, *(one.dropped[label] for label in "ABC"), f"{one.drops:,}"),
            *(f"{one.words:,}", f"{one.heavy:,}", *costs[name]),
        )
        for name, one in total.items()
    ]
    return Table("On whole sites", header, rows)


if __name__ == "__main__":
    main()
