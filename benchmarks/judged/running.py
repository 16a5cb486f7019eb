"""A site through an index, and what its drops lose."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.judged.counting import Drop
from benchmarks.judged.sites import ORDERS, Site, read_site
from benchmarks.judged.words import words_in_runs
from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.model.fingerprint import PageToRecord


def drops_by_order(folder: Path) -> dict[str, list[Drop]]:
    """Return what is dropped of the site in *folder* in each of the `ORDERS`."""
    site = read_site(folder)
    return {order: dropped_of(site, site.orders[order]) for order in ORDERS}


def dropped_of(site: Site, order: Iterable[int], config: DedupConfig | None = None) -> list[Drop]:
    """Return what is dropped of *site*, its pages taken in *order*."""
    by_url = {sighting.url: number for number, sighting in enumerate(site.sightings)}
    dropped: dict[int, int | None] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        SQLiteIndex(Path(scratch, "pages.db")) as index,
        Detector(index, config or DedupConfig()) as detector,
    ):
        for number in order:
            asked = PageToRecord(site.sightings[number])
            (verdict,) = detector.submit([asked], confirmed=True)
            if not verdict.kept:
                dropped[number] = by_url.get(verdict.canonical_url)
    return drops_of(site, dropped)


def drops_of(site: Site, dropped: Mapping[int, int | None]) -> list[Drop]:
    """Return the *dropped* pages of *site*, given what each was dropped for, None where nobody knows."""
    kept = [number for number in range(len(site.paths)) if number not in dropped]
    known = site.words.on(kept)
    prints = [sighting.fingerprint for sighting in site.sightings]
    texts = {prints[number].token_digest for number in kept}
    bodies = {prints[number].body_digest for number in kept}
    found = []
    for number, other in dropped.items():
        page = prints[number]
        is_near = page.token_digest not in texts and page.body_digest not in bodies
        lost = site.words.lost(number, known) if is_near else []
        found.append(
            Drop(
                page=site.paths[number],
                other="" if other is None else site.paths[other],
                is_near=is_near,
                words=words_in_runs(lost),
                lost=" … ".join(" ".join(run) for run in lost),
            )
        )
    return found
