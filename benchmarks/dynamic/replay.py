"""Crawls on disk, and what rules make of their pages in the order in which they came."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.dynamic.truth import Crawled, parsed, text_of, words_in
from dedup import Detector, Page, SQLiteIndex

ENDING = ".jsonl.gz"
LIKENESS, SHINGLE = 0.8, 4


def save(path: Path, pages: Iterable[Crawled]) -> None:
    """Write *pages* to *path*."""
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for page in pages:
            record = {"url": page.url, "html": page.html, "key": page.key or None}
            out.write(
                json.dumps({**record, "parts": sorted(page.parts), "dropped": page.dropped}) + "\n"
            )


def load(path: Path) -> list[Crawled]:
    """Return the pages of a crawl that `save` wrote."""
    return list(_records(path))


def _records(path: Path) -> Iterator[Crawled]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            parts = frozenset(one.get("parts", ()))
            yield Crawled(one["url"], one["html"], one["key"] or "", parts, one.get("dropped", False))


def ours(pages: Sequence[Crawled]) -> dict[int, int]:
    """Return the numbers of the pages that a detector drops, each with the one that it is dropped for."""
    dropped: dict[int, int] = {}
    kept: dict[str, int] = {}
    with (
        TemporaryDirectory() as folder,
        SQLiteIndex(Path(folder) / "pages.db") as index,
        Detector(index, spider="dynamic") as detector,
    ):
        for number, page in enumerate(pages):
            verdict = detector.check(Page.from_html(page.html, url=page.url))
            if verdict.kept:
                kept.setdefault(page.url, number)
            else:
                dropped[number] = kept.get(verdict.canonical_url, -1)
    return dropped


def by_minhash(pages: Sequence[Crawled]) -> dict[int, int]:
    """Return what is dropped where `LIKENESS` of the shingles of two pages are the same: MinHash without its error."""
    kept: list[tuple[int, set[int]]] = []
    dropped: dict[int, int] = {}
    for number, page in enumerate(pages):
        words = words_in(visible(page.html))
        shingles = set(_runs(words)) or {hash(tuple(words))}
        for other, known in kept:
            smaller, larger = sorted((len(shingles), len(known)))
            if smaller < LIKENESS * larger:
                continue
            shared = len(shingles & known)
            if shared >= LIKENESS * (smaller + larger - shared):
                dropped[number] = other
                break
        else:
            kept.append((number, shingles))
    return dropped


def _runs(words: Sequence[str]) -> list[int]:
    return list(map(hash, zip(*(words[start:] for start in range(SHINGLE)), strict=False)))


def visible(page: str) -> str:
    """Return all text of *page* that a browser shows."""
    bodies = parsed(page).cssselect("body")
    return text_of(bodies[0]) if bodies else ""


def words_only_in(page: Crawled, other: Crawled | None) -> list[str]:
    """Return the words of *page* that *other* has not, or not so often."""
    known = Counter(words_in(visible(other.html))) if other else Counter[str]()
    found = list[str]()
    for word in words_in(visible(page.html)):
        if known[word] > 0:
            known[word] -= 1
        else:
            found.append(word)
    return found
