"""Check sketches: how many real copies they refuse, and what an attacker without the secret can reach.

    python -m benchmarks.keyed DATA_FOLDER

DATA_FOLDER holds sets of pages (see `benchmarks.accuracy`).  In each set, the pairs with near content
simhashes that the public sketches confirm are judged again with several secrets.
"""

from __future__ import annotations

import random
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.sets import ARCHIVE, unpacked
from dedup import DedupConfig, Fingerprint, Page, Reason, fingerprint
from dedup.recipes.sketch import agrees, check_sketch
from dedup.recipes.terms import Terms, tokens_of
from dedup.rule.keys import has_equal_text
from dedup.rule.match import match
from dedup.values.hashes import SECRET_SIZE

CONFIG = DedupConfig()
SEED = 7
TRIALS = 2000
# The number of shingles of the victim, and of the attacker's page.
VICTIM = 1500
SEEMING = (0.62, 0.8, 0.9, 1.0)
SHARES = (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Keyed:
    """A page's public fingerprint, and its check sketch for each secret."""

    public: Fingerprint
    checks: tuple[bytes, ...]


def keyed(body: bytes, keys: Sequence[bytes]) -> Keyed:
    page = Page.from_html(body)
    terms = Terms.from_tokens(tokens_of(page.text, CONFIG))
    checks = (check_sketch(terms.names, terms.sequence, CONFIG.shingle, key) for key in keys)
    return Keyed(fingerprint(page), tuple(checks))


def near_pairs(pages: Sequence[Keyed]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the pages whose content simhashes are within the distance."""
    simhashes = np.array([page.public.content_simhash for page in pages], np.uint64)
    for one, simhash in enumerate(simhashes):
        if simhash:
            near = np.bitwise_count(simhashes[one + 1 :] ^ simhash) <= CONFIG.max_distance
            yield from ((one, one + 1 + int(other)) for other in np.flatnonzero(near))


def is_verified(a: Fingerprint, b: Fingerprint) -> bool:
    """Return whether it is the sketches that make *b* a copy of *a*."""
    return match(a, b, CONFIG).reason is Reason.NEAR_DUPLICATE and not has_equal_text(a, b)


def refusals(root: Path, keys: Sequence[bytes]) -> tuple[int, int]:
    """Return how many pairs of a set the public sketches confirm, and how often a secret refuses one."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    pages = [keyed(path.read_bytes(), keys) for path in paths]
    confirmed = refused = 0
    for one, other in near_pairs(pages):
        a, b = pages[one], pages[other]
        if is_verified(a.public, b.public):
            confirmed += 1
            refused += sum(
                not is_verified(replace(a.public, check_sketch=x), replace(b.public, check_sketch=y))
                for x, y in zip(a.checks, b.checks, strict=True)
            )
    return confirmed, refused


def chances(share: float, rng: random.Random) -> list[float]:
    """Return how often a page passes that really shares *share*, for each of `SEEMING`."""
    passed = Counter[float]()
    common = round(2 * VICTIM * share / (1 + share))
    for _ in range(TRIALS):
        names = [f"{rng.getrandbits(64):x}" for _ in range(2 * VICTIM - common)]
        key = rng.randbytes(SECRET_SIZE)
        a, b = (
            check_sketch(part, np.arange(VICTIM), 1, key)
            for part in (names[:VICTIM], names[VICTIM - common :])
        )
        passed.update(seeming for seeming in SEEMING if agrees(seeming, a, b))
    return [passed[seeming] / TRIALS for seeming in SEEMING]


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), help="Keep unpacked sets here.")
@click.option("--secrets", "count", default=10, show_default=True, help="How many secrets.")
def main(folder: Path, cache: Path | None, count: int) -> None:
    keys = [secrets.token_bytes(SECRET_SIZE) for _ in range(count)]
    click.echo(f"| set | pairs confirmed | refused, of {count} secrets each |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for archive in sorted(folder.glob(f"*/{ARCHIVE}")):
            confirmed, refused = refusals(unpacked(archive.parent, cache or Path(scratch)), keys)
            name = archive.parent.name
            click.echo(f"| {name} | {confirmed:,} | {refused:,} of {confirmed * count:,} |")
    heads = " | ".join(f"passes as {seeming:.2f}" for seeming in SEEMING)
    click.echo(f"\n| truly shared | {heads} |\n|{'---|' * (1 + len(SEEMING))}")
    for share in SHARES:
        found = " | ".join(f"{part:.4f}" for part in chances(share, random.Random(SEED)))
        click.echo(f"| {share:.2f} | {found} |")


if __name__ == "__main__":
    main()
