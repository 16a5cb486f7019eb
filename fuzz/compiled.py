"""The compiled code: whatever the page, it gives what the plain definitions give.

    python -m fuzz.compiled --seconds 3600 [FOLDER...]

It needs no atheris, but finds most in a build that checks every access to memory:

    CFLAGS="-g -fsanitize=address,undefined" LDFLAGS="-fsanitize=address,undefined" \\
        python setup.py build_ext --inplace
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \\
        ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc python -m fuzz.compiled

Pages are pieces of those in FOLDER, of those of the repository and of what the rules speak of, put
together at random.
"""

from __future__ import annotations

import random
import time
from dataclasses import astuple
from pathlib import Path

import click
from lxml import etree

from dedup import Page, fingerprint
from dedup.reading.markup import decode, markup_of, reading_of
from tests.laws.test_pages import MARKUP
from tests.native.test_pages import PARTS, TAGS
from tests.oracle.prints import print_of
from tests.oracle.walk import Walk

EXAMPLES = Path(__file__).parent.parent
LONGEST_SEED = 20_000


@click.command(help=(__doc__ or "").split("\n", maxsplit=1)[0])
@click.argument("folders", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--seconds", default=60, show_default=True, help="How long to look.")
@click.option("--seed", default=0, show_default=True, help="Of the random numbers.")
def main(folders: tuple[Path, ...], seconds: int, seed: int) -> None:
    rng, count = random.Random(seed), 0
    seeds = pages_in(folders or (EXAMPLES,))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        check(page_of(rng, seeds))
        count += 1
    click.echo(f"{count:,} pages")


def pages_in(folders: tuple[Path, ...]) -> list[str]:
    """Return the beginnings of the pages in *folders*."""
    files = [path for folder in folders for path in folder.rglob("*.htm*") if path.is_file()]
    return [decode(path.read_bytes(), None)[:LONGEST_SEED] for path in sorted(files)[:5000]]


def page_of(rng: random.Random, seeds: list[str]) -> str:
    """Return pieces of *seeds* and parts of all kinds in a random order."""
    pieces = []
    for _ in range(rng.randint(1, 12)):
        choice = rng.random()
        if choice < 0.5:
            seed = rng.choice(seeds)
            start = rng.randrange(len(seed) + 1)
            pieces.append(seed[start : start + rng.choice([5, 50, 500, 5000])])
        elif choice < 0.7:
            pieces.append("".join(rng.choices(PARTS, k=rng.randint(1, 40))))
        elif choice < 0.9:
            pieces.append("".join(rng.choices(MARKUP, k=rng.randint(1, 20))))
        else:
            pieces.append(f"<{rng.choice(['', '/'])}{rng.choice(TAGS)}>" * rng.choice([1, 2, 300]))
    return "".join(pieces)


def check(text: str) -> None:
    """Read and fold *text* in both ways; raises `AssertionError` where they differ."""
    pages = [Page.from_text(text)]
    try:
        root = etree.fromstring(markup_of(text), etree.HTMLParser(recover=True, encoding="utf-8"))
    except (etree.ParserError, etree.XMLSyntaxError):
        root = None
    if root is not None:
        assert reading_of(root, with_places=True) == Walk(root).reading(), repr(text)
        pages.append(Page.from_tree(root, body=text.encode("utf-8", "surrogatepass")))
    for page in pages:
        assert astuple(fingerprint(page)) == astuple(print_of(page)), repr(text)


if __name__ == "__main__":
    main()
