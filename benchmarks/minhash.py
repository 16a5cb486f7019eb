"""MinHash as a finder of candidates: what it finds and what that costs, beside datasketch.

    python -m benchmarks.minhash                       # all but the sets, with 20,000 pages
    python -m benchmarks.minhash sets FOLDER...        # folders with pairs.csv (a, b, ...) and its pages

Pages are random texts and edits of them, so that their exact Jaccard similarity is known.  The peer comes
with `pip install --group bench`.  Times are processor times, so that other load has less effect.
Signatures, sketches and simhashes are made before the measurement.
"""

from __future__ import annotations

import csv
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from dedup import DedupConfig, Fingerprint, Page, fingerprint
from dedup.algorithms.bands import Banding, band_keys, sketch_keys
from dedup.algorithms.minhash import minhash, minima
from dedup.algorithms.sketch import BINS, SHINGLE, shingle_hashes, similarities, sketch
from dedup.index.blocks import BlockIndex
from dedup.rule.keys import BANDING, STRUCTURE_MAX_DISTANCE
from dedup.rule.similarity import MIN_SIMILARITY
from dedup.values.hashes import Hashes, hashes_of

SEED = 20
DEFAULT = DedupConfig()
SHARES = ((0.6, 0.65), (0.65, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01))


def micros(call: Callable[[], object], calls: int = 100, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - begin) / calls * 1e6)
    return median(times)


def table(*columns: str) -> None:
    click.echo(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def line(*cells: object) -> None:
    click.echo(f"| {' | '.join(str(cell) for cell in cells)} |")


# Signatures


def signatures() -> None:
    """The time of one signature of 300 shingles, from features and from their hashes."""
    from datasketch import MinHash

    shingles = [f"the {n} brown fox" for n in range(300)]
    encoded = [shingle.encode() for shingle in shingles]
    hashes = hashes_of(shingles)
    table("300 shingles", "ours", "datasketch", "ratio")
    for length in (128, 256, 1024):
        empty = MinHash(length)

        def theirs(empty: Any = empty) -> None:
            empty.copy().update_batch(encoded)

        ours = micros(lambda length=length: minhash(shingles, length))  # type: ignore[misc]
        peer = micros(theirs)
        line(f"signature of {length}", f"{ours:.0f} µs", f"{peer:.0f} µs", f"{peer / ours:.1f} x")
    ours = micros(lambda: minima(hashes, 128))
    line("signature of 128 from hashes that are there", f"{ours:.0f} µs", "", "")
    sketched = sketch(hashes, 1)
    ours = micros(lambda: sketch_keys(sketched, BANDING))
    line(f"{BANDING}, from the sketch that is there", f"{ours:.0f} µs", "", "")


# The s-curve


def curve() -> None:
    """How often pairs of a known similarity meet, by size, in 500 pairs each."""
    from datasketch import MinHash, MinHashLSH

    rng = np.random.default_rng(SEED)
    table("similarity", "members", f"s-curve, {BANDING}", "sketch", "signature", "datasketch")
    for similarity in (0.1, 0.2, 0.4, 0.6, 0.8):
        for size in (8, 100, 1000):
            met = np.zeros(3)
            for _ in range(500):
                a, b, exact = pair(rng, size, similarity)
                keys = [
                    [sketch_keys(sketch(one, 1), BANDING) for one in (a, b)],
                    [band_keys(minima(one, BANDING.length), BANDING) for one in (a, b)],
                ]
                for place, (one, other) in enumerate(keys):
                    met[place] += len(one) == len(other) and bool(np.any(one == other))
                lsh = MinHashLSH(num_perm=BANDING.length, params=(BANDING.bands, BANDING.rows))
                ours, theirs = (_peer_signature(MinHash, one) for one in (a, b))
                lsh.insert("a", ours)
                met[2] += bool(lsh.query(theirs))
            shown = [f"{share:.3f}" for share in met / 500]
            line(f"{exact:.3f}", size, f"{BANDING.s_curve(exact):.3f}", *shown)


def pair(rng: np.random.Generator, size: int, similarity: float) -> tuple[Hashes, Hashes, float]:
    shared = round(2 * size * similarity / (1 + similarity))
    drawn = rng.integers(0, 2**64, 2 * size - shared, np.uint64)
    return drawn[:size], drawn[size - shared :], shared / (2 * size - shared)


def _peer_signature(kind: Any, hashes: Hashes, length: int = BANDING.length) -> Any:
    made = kind(length, hashfunc=_first_bytes)
    made.update_batch([word.tobytes() for word in hashes])
    return made


def _first_bytes(data: bytes) -> int:
    return int.from_bytes(data[:4], "little")


# An index


@dataclass(frozen=True)
class Text:
    """A page of the benchmark: its fingerprint and the hashes of its shingles."""

    seen: Fingerprint
    shingles: Hashes


def text(words: Sequence[str]) -> Text:
    hashes = shingle_hashes(hashes_of(words), SHINGLE)
    return Text(fingerprint(Page.from_text(" ".join(words))), hashes)


def nearest(simhashes: int) -> None:
    """The nearest of many simhashes on disk, beside a scan in memory."""
    rng = np.random.default_rng(SEED)
    stored = rng.integers(1, 2**64, simhashes, np.uint64)
    near = (stored[:100] ^ np.uint64(0b10101)).tolist()
    anywhere = rng.integers(1, 2**64, 30, np.uint64).tolist()
    table(f"{simhashes:,} simhashes", "µs", "scan of an array, µs", "distance")
    with tempfile.TemporaryDirectory() as folder, BlockIndex(Path(folder) / "simhashes.db") as opened:
        opened.add_many(stored)
        for name, queries in (("near one", near), ("any", anywhere)):
            found = [opened.nearest(query) for query in queries]
            if [distance for _, distance in filter(None, found)] != [_scan(stored, q) for q in queries]:
                raise SystemExit("not the distance that a scan finds")
            ours = micros(lambda queries=queries: [opened.nearest(q) for q in queries], 1, 3)  # type: ignore[misc]
            scan = micros(lambda queries=queries: [_scan(stored, q) for q in queries], 1, 3)  # type: ignore[misc]
            distances = {distance for _, distance in filter(None, found)}
            shown = f"{min(distances)} to {max(distances)}"
            line(name, f"{ours / len(queries):.0f}", f"{scan / len(queries):.0f}", shown)


def _scan(simhashes: Hashes, query: int) -> int:
    return int(np.bitwise_count(simhashes ^ np.uint64(query)).min())


# Labelled sets


def sets(folders: Sequence[Path], pages: int) -> None:
    """Of all pairs of pages that would be confirmed: which does each finder see, at what price?"""
    for folder in folders:
        seen = [
            fingerprint(Page.from_html((folder / path).read_bytes())) for path in _chosen(folder, pages)
        ]
        _report_set(folder.name, seen)


def _chosen(folder: Path, pages: int) -> list[str]:
    with (folder / "pairs.csv").open(newline="", encoding="utf-8") as file:
        pairs = [(row["a"], row["b"]) for row in csv.DictReader(file)]
    random.Random(SEED).shuffle(pairs)
    chosen: dict[str, None] = {}
    for a, b in pairs:
        if len(chosen) >= pages:
            break
        chosen |= {a: None, b: None}
    return list(chosen)


def _report_set(name: str, seen: list[Fingerprint]) -> None:
    sketches = np.frombuffer(b"".join(one.sketch for one in seen), np.uint8).reshape(-1, BINS)
    upper = np.triu_indices(len(seen), 1)
    alike = np.stack([similarities(one.sketch, sketches) for one in seen]).astype(np.float32)[upper]
    table(
        name,
        "candidates a page",
        "below .60",
        "of the pairs from .60 on",
        *(f"{a}-{b:.3g}" for a, b in SHARES),
    )
    for finder, pairs in _finders(seen):
        met = pairs[upper]
        confirmed = alike >= MIN_SIMILARITY
        shown = []
        for low, high in SHARES:
            inside = (alike >= low) & (alike < high)
            shown.append(f"{met[inside].mean():.3f} of {inside.sum():,}" if inside.any() else "-")
        line(
            finder,
            f"{met.sum() * 2 / len(seen):.2f}",
            f"{(met & ~confirmed).sum() * 2 / len(seen):.2f}",
            f"{met[confirmed].mean():.4f} of {confirmed.sum():,}",
            *shown,
        )


def _finders(seen: list[Fingerprint]) -> Any:
    for field, limit in (
        ("content", DEFAULT.max_distance),
        ("structure", STRUCTURE_MAX_DISTANCE),
    ):
        simhashes = np.array([one.simhash(field) for one in seen], np.uint64)
        near = np.bitwise_count(simhashes[:, None] ^ simhashes) <= limit
        yield f"{field} within {limit}", near & (simhashes[:, None] > 0) & (simhashes > 0)
    for bands, rows in ((20, 3), (24, 3), (32, 3), (40, 4), (64, 4), (42, 6)):
        banding = Banding(bands, rows)
        met = np.zeros((len(seen), len(seen)), bool)
        keys = [sketch_keys(one.sketch, banding) for one in seen]
        has = np.array([len(one) > 0 for one in keys])
        by_page = np.stack([one if len(one) else np.zeros(banding.bands, np.uint64) for one in keys])
        for band in by_page.T:
            met |= band[:, None] == band
        yield str(banding), met & has & has[:, None]


FIGURES = ["all", "signatures", "curve", "nearest", "sets"]


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("figure", default="all", type=click.Choice(FIGURES))
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--pages",
    default=20_000,
    show_default=True,
    help="How many pages; for sets, at most so many of each.",
)
def main(figure: str, folders: tuple[Path, ...], pages: int) -> None:
    if figure in ("all", "signatures"):
        signatures()
    if figure in ("all", "curve"):
        curve()
    if figure in ("all", "nearest"):
        nearest(50 * pages)
    if figure == "sets":
        sets(folders, pages)


if __name__ == "__main__":
    main()
