"""From page to fingerprint, and SimHash against its peers, side by side in one run.

    python -m benchmarks.fingerprint [FOLDER...]

With folders: fingerprints of the pages in each FOLDER, a site of plain files, compiled and in Python,
beside MinHash programs that are given the shingles.  Without: the steps of the Python code, on pages of
30 KB that are made of words from jieba's dictionary and from a list, and SimHash beside `simhash` of PyPI
(1e0ng), the plain Python loop, and a plain C loop, which is compiled if gcc is found.  Trees are given as
Scrapy gives them.  Times are processor times, the best and the median of many runs, so that other programs
on the machine have little effect.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from lxml import etree

from dedup import DedupConfig, Fingerprint, Page, fingerprint, simhash
from dedup.algorithms.simhash import fold
from dedup.algorithms.sketch import SHINGLE, sketch
from dedup.algorithms.structure import hashed_runs
from dedup.algorithms.terms import Terms
from dedup.algorithms.weights import whole_weights
from dedup.native import status
from dedup.reading.charset import decode
from dedup.reading.dictionary import topical_words
from dedup.reading.page import markup_of
from dedup.reading.walk import Walk
from dedup.recipes.fingerprinter import fingerprint_in_python, tokens_of
from dedup.values.hashes import digest, hashes_of, murmur3

SEED = 7
PAGES = 1000
ROUNDS = 5
PARSER = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
PAGE_SIZE = 30_000
TERMS = 363
TARGETS = {"English": 1000.0, "Chinese": 1200.0}

SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "ki",
    "lo",
    "mu",
    "ne",
    "po",
    "ra",
    "si",
    "to",
    "vu",
    "we",
    "ya",
    "zo",
    "sha",
    "tri",
]

C_SOURCE = """
#include <stdint.h>
#include <stddef.h>
uint64_t simhash(const uint64_t *hashes, const double *weights, size_t count) {
    double votes[64] = {0};
    for (size_t n = 0; n < count; n++)
        for (int bit = 0; bit < 64; bit++)
            votes[bit] += (hashes[n] >> bit) & 1 ? weights[n] : -weights[n];
    uint64_t result = 0;
    for (int bit = 0; bit < 64; bit++)
        if (votes[bit] > 0) result |= (uint64_t)1 << bit;
    return result;
}
"""


def timed(call: Callable[[], object], seconds: float = 1.0) -> tuple[float, float]:
    """Return the best and the median microseconds of a call."""
    call()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times) < 10:
        begin = time.thread_time_ns()
        call()
        times.append((time.thread_time_ns() - begin) / 1e3)
    return min(times), median(times)


def english(rng: random.Random) -> list[str]:
    vocabulary = ["".join(rng.choices(SYLLABLES, k=rng.choice([1, 2, 2, 3]))) for _ in range(3000)]
    ranks = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return [" ".join(rng.choices(vocabulary, ranks, k=12)).capitalize() + "." for _ in range(2000)]


def chinese(rng: random.Random) -> list[str]:
    vocabulary = rng.sample(sorted(topical_words()), 3000)
    ranks = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return ["".join(rng.choices(vocabulary, ranks, k=12)) + "。" for _ in range(2000)]


def page_of(sentences: list[str]) -> bytes:
    """Return a page of about PAGE_SIZE bytes: half of it markup, as on the web."""
    menu = "".join(f"<li class='item n{n}'><a href='/section/{n}'>{n}</a></li>" for n in range(60))
    parts = [f"<html><head><title>t</title></head><body><nav><ul>{menu}</ul></nav><main>"]
    size = len(parts[0])
    for number, sentence in enumerate(sentences):
        part = f"<div class='entry odd'><p class='text' id='p{number}'>{sentence} <a href='/page/{number}.html'><b>more</b></a></p></div>"
        parts.append(part)
        size += len(part.encode())
        if size >= PAGE_SIZE:
            break
    return "".join(parts).encode()


def real_pages(folder: Path) -> None:
    """Print the mean of what a page of *folder* takes: what is ours, and what others do for it."""
    files = sorted(path for path in folder.rglob("*.htm*") if path.is_file())
    bodies = [path.read_bytes() for path in random.Random(SEED).sample(files, min(len(files), PAGES))]
    bodies = [body for body in bodies if body.strip()]
    markups = [markup_of(decode(body)) for body in bodies]
    roots = [etree.fromstring(markup, PARSER) for markup in markups]
    pages = [Page.from_tree(root, body=body) for root, body in zip(roots, bodies, strict=True)]
    shingles = [shingled(tokens_of(page.text, DedupConfig())) for page in pages]
    steps: dict[str, list[Callable[[], object]]] = {
        "copy the bytes": [partial(bytearray, body) for body in bodies],
        "libxml2's parser": [partial(etree.fromstring, markup, PARSER) for markup in markups],
        "tree to page, with its digest": [
            partial(Page.from_tree, root, body=body) for root, body in zip(roots, bodies, strict=True)
        ],
        "page to fingerprint": [partial(fingerprint, page) for page in pages],
        "tree to fingerprint": [
            partial(from_tree, root, body) for root, body in zip(roots, bodies, strict=True)
        ],
        "tree to fingerprint, in Python": [
            partial(in_python, root, body) for root, body in zip(roots, bodies, strict=True)
        ],
        **peers_of(shingles),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):  # in turn, so that a busy machine is busy for all
        for name, calls in steps.items():
            taken[name].append(mean_of(calls))
    tokens = sum(fingerprint(page).tokens for page in pages) / len(pages)
    size = sum(map(len, bodies)) / len(bodies)
    click.echo(
        f"\n| {folder.name}: {len(bodies):,} pages of {size:,.0f} bytes, {tokens:,.0f} tokens | ms |"
    )
    click.echo("|---|---|")
    for name, times in taken.items():
        click.echo(f"| {name} | {median(times):.3f} |")


def mean_of(calls: list[Callable[[], object]]) -> float:
    """Return the mean milliseconds of *calls*, processor time."""
    begin = time.process_time()
    for call in calls:
        call()
    return (time.process_time() - begin) / len(calls) * 1000


def in_python(root: Any, body: bytes) -> Fingerprint:
    reading = Walk(root).reading()
    page = Page("", digest(body), reading.text, tags=reading.tags, depths=reading.depths)
    return fingerprint_in_python(page)


def shingled(words: list[str]) -> list[str]:
    return [" ".join(words[start : start + 4]) for start in range(max(1, len(words) - 3))]


def peers_of(shingles: list[list[str]]) -> dict[str, list[Callable[[], object]]]:
    """Return what MinHash programs do with shingles, which they are given."""
    peers: dict[str, list[Callable[[], object]]] = {}
    for name, program, sign in (
        ("datasketch update_batch", "datasketch", batch_updated),
        ("rensa", "rensa", updated),
    ):
        try:
            module = import_module(program)
        except ImportError:
            click.echo(f"{program} is not installed")
            continue
        peers[f"{name}, 128 permutations, given shingles"] = [
            partial(sign, module, ones) for ones in shingles
        ]
    return peers


def batch_updated(datasketch: Any, shingles: list[str]) -> Any:
    return datasketch.MinHash(num_perm=128).update_batch([one.encode() for one in shingles])


def updated(rensa: Any, shingles: list[str]) -> Any:
    found = rensa.RMinHash(num_perm=128, seed=42)
    found.update(shingles)
    return found.digest()


def say(figure: str, times: tuple[float, float], target: float | None = None) -> None:
    best, middle = times
    verdict = "" if target is None else f"{target:.0f} ({'met' if middle <= target else 'missed'})"
    click.echo(f"| {figure} | {best:.0f} | {middle:.0f} | {verdict} |")


def pages() -> None:
    """Every step of a fingerprint, and the whole."""
    click.echo("| microseconds | best | median | target |\n|---|---|---|---|")
    config = DedupConfig()
    rng = random.Random(SEED)
    for language, body in (("English", page_of(english(rng))), ("Chinese", page_of(chinese(rng)))):
        root = etree.fromstring(body, etree.HTMLParser(encoding="utf-8"))
        page = Page.from_tree(root, body=body)
        words = tokens_of(page.text, config)
        terms = Terms.from_tokens(words)
        hashes = terms.hashes()
        weights = whole_weights(terms)
        steps: dict[str, Callable[[], object]] = {
            "walk": partial(walked, root),
            "words": partial(tokens_of, page.text, config),
            "terms": partial(Terms.from_tokens, words),
            "hashes": terms.hashes,
            "weights": partial(whole_weights, terms),
            "content": partial(fold, hashes, weights),
            "structure": partial(hashed_runs, page),
            "sketch": partial(sketch, hashes[terms.sequence], SHINGLE),
            "body digest": partial(digest, body),
        }
        for name, step in steps.items():
            say(f"{language}: {name}", timed(step, 0.3))
        whole = timed(partial(from_tree, root, body), 2.0)
        about = f"{len(body):,} bytes, {len(page.tags):,} tags, {len(words):,} words"
        say(f"{language}: page to fingerprint ({about})", whole, TARGETS[language])


def walked(root: Any) -> str:
    return Walk(root).text()


def from_tree(root: Any, body: bytes) -> Fingerprint:
    return fingerprint(Page.from_tree(root, body=body))


def plain_python(weights: Mapping[str, float]) -> int:
    votes = [0.0] * 64
    for feature, weight in weights.items():
        hashed = murmur3(feature)
        for bit in range(64):
            votes[bit] += weight if hashed >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if votes[bit] > 0)


def compiled(folder: Path) -> Callable[[Mapping[str, float]], int] | None:
    """Return the plain C loop, fed like ours: it takes over once the features are hashed."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "simhash.c", folder / "simhash.so"
    source.write_text(C_SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    loop = ctypes.CDLL(str(library)).simhash
    loop.restype = ctypes.c_uint64
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def call(weights: Mapping[str, float]) -> int:
        hashes = np.ascontiguousarray(hashes_of(weights.keys()))
        values = np.fromiter(weights.values(), np.float64, len(weights))
        return int(loop(hashes.ctypes.data, values.ctypes.data, len(hashes)))

    return call


def simhashes() -> None:
    """`simhash` of TERMS weighted terms against its peers."""
    rng = random.Random(SEED)
    weights = {f"{rng.choice(SYLLABLES)}{n}": float(rng.randint(1, 9)) for n in range(TERMS)}
    ours = timed(lambda: simhash(weights))
    click.echo(
        f"\n| simhash of {TERMS} terms | best | median | ours is faster, times |\n|---|---|---|---|"
    )
    click.echo(f"| ours | {ours[0]:.0f} | {ours[1]:.0f} | |")
    with tempfile.TemporaryDirectory() as folder:
        peers: dict[str, Callable[[], Any]] = {"plain Python": lambda: plain_python(weights)}
        loop = compiled(Path(folder))
        if loop is None:
            click.echo("| plain C loop | no compiler | | |")
        else:
            if loop(weights) != simhash(weights):
                raise SystemExit("the C loop gives another simhash")
            peers["plain C loop (hashing included)"] = lambda: loop(weights)
            hashes = np.ascontiguousarray(hashes_of(weights.keys()))
            values = np.fromiter(weights.values(), np.float64)
            peers["dedup's fold alone"] = lambda: fold(hashes, values)
        try:
            from simhash import Simhash
        except ImportError:
            click.echo("| 1e0ng simhash | not installed | | |")
        else:
            peers["1e0ng simhash"] = lambda: Simhash(weights).value
        for name, call in peers.items():
            best, middle = timed(call)
            click.echo(
                f"| {name} | {best:.0f} | {middle:.0f} | {best / ours[0]:.1f} / {middle / ours[1]:.1f} |"
            )


@click.command(help=(__doc__ or "").split("\n", maxsplit=1)[0])
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folders: tuple[Path, ...]) -> None:
    click.echo(f"dedup is {status()}")
    for folder in folders:
        real_pages(folder)
    if folders:
        return
    pages()
    simhashes()


if __name__ == "__main__":
    main()
