"""Faults to be planted in the plugin, so that it is seen that the law can find them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from dedup import SQLiteIndex
from dedup.index import Index, Run, Sighting
from dedup.plugin import judge
from dedup.values.verdict import Outcome, Reason, Standing, Verdict


def _released_counts() -> None:
    """Take what a storage failed to store for delivered."""
    _plant(Index, "release", Index.confirm)


def _killed_counts() -> None:
    """Take what was under way in a crawl that died for delivered."""
    end_run = SQLiteIndex._end_run

    def planted(index: SQLiteIndex, run: Run, ending: str) -> None:
        for row in index.rows(run.id):
            if row.outcome is Outcome.PENDING:
                index._settle(row.id, Outcome.CONFIRMED)
        end_run(index, run, ending)

    _plant(SQLiteIndex, "_end_run", planted)


def _folder_is_job() -> None:
    """Take a JOBDIR that was deleted and begun anew for the old job."""
    _plant(judge, "job_of", lambda folder: str(folder or ""))


def _anything_repeats() -> None:
    """Drop every page for the last one that was kept."""
    decide = Index._decide

    def planted(index: Index, sighting: Any, *arguments: Any, **choices: Any) -> Verdict:
        last = [row for row in index.rows() if row.listed][-1:]
        if sighting.fingerprint.is_empty or not last:
            return decide(index, sighting, *arguments, **choices)
        return Verdict(Reason.EXACT_DUPLICATE, kept=False, canonical=last[0].id)

    _plant(Index, "_decide", planted)


def _nothing_repeats() -> None:
    """Keep every page."""
    _plant(SQLiteIndex, "_candidates", lambda *_: ())


def _any_crawl_stands() -> None:
    """Drop a page for one that only an earlier crawl has met."""
    _plant(Index, "_standing", lambda _, seen, *__: Standing(seen.id, seen.run, seen.is_pending))


def _withheld_in_silence() -> None:
    """List no request that was not made."""
    _plant(Index, "withhold", lambda *_: None)


def _seen_with(changed: Callable[[Sighting], Sighting]) -> Callable[[], None]:
    """Tell the index something else of every page."""

    def plant() -> None:
        find_or_add = Index.find_or_add

        @wraps(find_or_add)
        def planted(index: Index, sighting: Sighting, *arguments: Any, **choices: Any) -> Verdict:
            return find_or_add(index, changed(sighting), *arguments, **choices)

        _plant(Index, "find_or_add", planted)

    return plant


def _plant(where: Any, name: str, planted: Callable[..., object]) -> None:
    setattr(where, name, planted)


FAULTS: dict[str, Callable[[], None]] = {
    "released_counts": _released_counts,
    "killed_counts": _killed_counts,
    "folder_is_job": _folder_is_job,
    "anything_repeats": _anything_repeats,
    "nothing_repeats": _nothing_repeats,
    "any_crawl_stands": _any_crawl_stands,
    "withheld_in_silence": _withheld_in_silence,
    "dry_runs_count": _seen_with(lambda seen: replace(seen, is_dry=False)),
    "keys_say_nothing": _seen_with(
        lambda seen: replace(seen, item_key="", kind=seen.kind.removeprefix("keyed "))
    ),
}
