"""What is known of the noise of sites, in an index as notes: one for each host of a scope."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dedup.index.stores.base import Note, Prefix, Store
from dedup.reading.noise import Evidence, Gap, told

_NOISE = "noise."


class SiteNoise(NamedTuple):
    """The gaps of *host* in *scope*, with what was seen of each, and the last *run* that looked."""

    scope: str
    host: str
    run: int
    gaps: dict[Gap, Evidence]


def put_noise(store: Store, site: SiteNoise) -> None:
    """Record *site* in the place of what was known of it."""
    gaps = [[*gap, *evidence] for gap, evidence in site.gaps.items()]
    with store.transaction(writing=True, beside=True):
        store.put(Note(_name(site.scope, site.host), json.dumps([*site[:3], gaps])))


def noise_of(store: Store, scope: str, host: str) -> dict[Gap, Evidence]:
    """Return what is known of the gaps of *host* in *scope*."""
    return gaps_of(store.select(Note, name=_name(scope, host)))


def gaps_of(notes: Iterable[Note]) -> dict[Gap, Evidence]:
    """Return what the first of *notes* knows of the gaps of its site, nothing if there is none."""
    return next((site.gaps for site in _read(notes)), {})


def notes_by_host(store: Store, scope: str) -> dict[str, Note]:
    """Return the notes of all sites in *scope* by their hosts; `gaps_of` reads them."""
    found = {note.name: note for note in store.select(Note, name=Prefix(_NOISE))}
    names = ((json.loads(name.removeprefix(_NOISE)), note) for name, note in found.items())
    return {host: note for (of_scope, host), note in names if of_scope == scope}


def all_noise(store: Store) -> list[SiteNoise]:
    """Return what is known of all sites, in their order; what cannot be read is left out."""
    return sorted(_read(store.select(Note, name=Prefix(_NOISE))), key=lambda site: site[:2])


def left_out(store: Store) -> dict[str, list[str]]:
    """Return, by host, what is left out of its pages, as a reader would write it."""
    found: dict[str, list[str]] = {}
    for site in all_noise(store):
        for gap in told(gap for gap, one in site.gaps.items() if one.acts(gap)):
            found.setdefault(site.host, []).append(gap.shown())
    return found


def _name(scope: str, host: str) -> str:
    return f"{_NOISE}{json.dumps([scope, host])}"


def _read(notes: Iterable[Note]) -> Iterator[SiteNoise]:
    for note in notes:
        try:
            scope, host, run, gaps = json.loads(note.value)
            yield SiteNoise(str(scope), str(host), int(run), dict(map(_gap, gaps)))
        except (TypeError, ValueError):
            continue


def _gap(values: list[object]) -> tuple[Gap, Evidence]:
    place, before, after, heading, is_number, moved, stayed, crawls, is_off, example = values
    gap = Gap(str(place), _words(before), _words(after), str(heading), bool(is_number))
    return gap, Evidence(
        float(str(moved)), float(str(stayed)), int(str(crawls)), bool(is_off), str(example)
    )


def _words(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError
    return tuple(map(str, values))
