"""Addresses of known pages that answer 404, 410 or with a redirect: notes of which run was told so."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from dedup.index.stores.base import NOT_UNDONE, Note, Order, Prefix, Query, Store, first
from dedup.values.row import Row, Run

REMOVED = frozenset((404, 410))
"""The answers that say that there is no page any more."""
GONE = REMOVED | {301, 302, 303, 307, 308}
"""Those, and the answers that say that it is somewhere else."""
ANSWERS = Prefix("gone.")
_MOST = 20


def note_gone(store: Store, run: Run, crawl: Collection[int], key: str, status: int) -> list[int]:
    """Record that *run* was answered with *status* at the address *key* of a page that is known.

    Only the first such answer since a crawl of the same spider has seen the page is recorded.  Returns
    the pages kept that stood there.
    """
    last = last_seen(store, key, run.spider)
    if last is None or last.sighting.run in crawl:
        return []
    with store.transaction(writing=True, beside=True):
        found = answers(store, key)
        if not any(before > last.sighting.run for before in found.keys() - {run.id}):
            store.put(Note(ANSWERS + key, json.dumps([*found.items(), (run.id, status)])))
    return [row.id for row in store.rows(Query(url_key=key, listed=True, limit=_MOST))]


def last_seen(store: Store, key: str, spider: str, without: frozenset[int] = frozenset()) -> Row | None:
    """Return the last row of the address *key* that *spider* has seen, in no run of *without*."""
    of_it = Query(url_key=key, outcomes=NOT_UNDONE, not_runs=without, order=Order.LAST_RUN, limit=_MOST)
    rows = list(store.rows(of_it)) if key else []
    runs = {run.id for run in store.select(Run) if run.spider == spider} if rows else ()
    return first(row for row in rows if row.sighting.run in runs)


def answers(store: Store, key: str) -> dict[int, int]:
    """Return what was answered at the address *key* when its page was gone, by the run."""
    return next((_read(note) for note in store.select(Note, name=ANSWERS + key)), {})


def all_answers(store: Store) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield all addresses with what `answers` says of them."""
    for note in store.select(Note, name=ANSWERS):
        yield note.name.removeprefix(ANSWERS), _read(note)


def _read(note: Note) -> dict[int, int]:
    """Return the answers in *note*, none where it is damaged."""
    try:
        return {int(run): int(status) for run, status in json.loads(note.value)}
    except (TypeError, ValueError):
        return {}
