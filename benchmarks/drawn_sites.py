"""Drawn sites: how many edits are dropped, how many parts of series are kept, which kept pages are told.

``python -m benchmarks.drawn_sites`` prints one table.  An edit has 25 other words than a kept page of 595.
The parts of a series share 555 of their 585 words.  Kept pages that hold one another are told by
`dedup report --all`: an article of 360 words beside 120 others, and 28 sentences in another order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from random import Random

from dedup import Detector, MemoryIndex
from dedup.report.contained import contained
from tests.dedup.rule.test_edits import document
from tests.dedup.rule.test_records import part, words
from tests.report.test_contained import crawled, in_another_frame, in_another_order

SIZES = (20, 100, 1_000)


def dropped_edits(known: int, edits: int = 100) -> float:
    """Return the share of *edits* that are dropped, in sites with *known* pages, each edited once at most."""
    of_sites = [min(known, edits - begun) for begun in range(0, edits, known)]
    dropped = sum(_dropped_of_site(known, of, seed) for seed, of in enumerate(of_sites))
    return dropped / edits


def _dropped_of_site(known: int, edits: int, seed: int) -> int:
    rng, dropped = Random(seed), 0
    texts = [words(rng, 480).split() for _ in range(known)]
    with Detector(MemoryIndex()) as detector:
        for number, text in enumerate(texts):
            detector.check(document(f"Text {number}", " ".join(text), f"http://a.example/{number}"))
        for number, text in enumerate(texts[:edits]):
            place = rng.randrange(40, 400)
            text[place : place + 25] = words(rng, 25).split()
            page = document(f"Text {number}", " ".join(text), f"http://a.example/edit/{number}")
            dropped += not detector.check(page).kept
    return dropped


def kept_parts(pages: int) -> float:
    """Return the share of *pages* parts of one series that are kept."""
    rng = Random(pages)
    with Detector(MemoryIndex()) as detector:
        verdicts = [
            detector.check(document(*part(rng), f"http://a.example/{number}")) for number in range(pages)
        ]
    return sum(verdict.kept for verdict in verdicts) / pages


def told(pair: Callable[[Random], tuple[str, str]], pairs: int) -> tuple[float, float]:
    """Return which share of *pairs* is told or dropped, and the processor time, in ms a page kept."""
    rng = Random(pairs)
    with MemoryIndex() as index:
        rows = crawled(index, [pair(rng) for _ in range(pairs)])
        all_rows = list(index.rows())
        begin = time.process_time()
        found = {frozenset(each[:2]) for each in contained(all_rows)}
        seconds = time.process_time() - begin
    held = sum(each is None or frozenset(each) in found for each in rows)
    return held / pairs, 1_000 * seconds / len(all_rows)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pages of a site")
    sizes = parser.parse_args().sizes
    print("| pages of the site | edits dropped | parts kept | other frame told | other order told |")
    print("|---|---|---|---|---|")
    for size in sizes:
        cells = [f"{share(size):.1%}" for share in (dropped_edits, kept_parts)]
        for pair in (in_another_frame, in_another_order):
            share, cost = told(pair, size // 2)
            cells.append(f"{share:.2f}, {cost:.3f} ms a page")
        print(f"| {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
