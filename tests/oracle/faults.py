"""Faults to be planted in the plugin, so that it is seen that the law can find them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from dedup.index import Sighting
from dedup.index.known import Known
from dedup.index.ledger import Asked, Ledger
from dedup.index.rows import NEWEST
from dedup.index.runs import Runs
from dedup.index.store import Store
from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.crawl_index import Pending
from dedup.prints.config import DedupConfig
from dedup.reading import fields
from dedup.rule import decide


def _released_counts() -> None:
    """Take what a storage failed to store for delivered."""
    settle = Pending.settle

    def planted(rows: Pending, row: int, *, kept: bool) -> None:
        settle(rows, row, kept=True)

    _plant(Pending, "settle", planted)


def _anything_repeats() -> None:
    """Drop every page for the last one that was kept."""
    verdict = Ledger._verdict

    def planted(ledger: Ledger, asked: Asked, config: DedupConfig) -> tuple[Verdict, Known]:
        last = next(ledger._store.rows("p.listed", order=NEWEST, limit=1), None)
        found, evidence = verdict(ledger, asked, config)
        if asked.sighting.fingerprint.is_empty or not last:
            return found, evidence
        return Verdict(Reason.EXACT_DUPLICATE, kept=False, canonical=last.id), evidence

    _plant(Ledger, "_verdict", planted)


def _nothing_repeats() -> None:
    """Keep every page."""
    _plant(Store, "candidates", lambda *_: ())


def _any_crawl_stands() -> None:
    """Drop a page for one that only an earlier crawl has met."""
    _plant(Known, "standing", lambda _, seen, **__: Standing(seen.id, seen.run, seen.is_pending))


def _withheld_in_silence() -> None:
    """List no request that was not made."""
    _plant(Runs, "withhold", lambda *_: None)


def _seen_with(changed: Callable[[Sighting], Sighting]) -> Callable[[], None]:
    """Tell the index something else of every page."""

    def plant() -> None:
        find_or_add_first = Ledger.find_or_add_first

        @wraps(find_or_add_first)
        def planted(ledger: Ledger, asked: Sequence[Asked], *more: Any, **choices: Any) -> list[Verdict]:
            asked = [one._replace(sighting=changed(one.sighting)) for one in asked]
            return find_or_add_first(ledger, asked, *more, **choices)

        _plant(Ledger, "find_or_add_first", planted)

    return plant


def _plant(where: Any, name: str, planted: object) -> None:
    assert hasattr(where, name), f"{where} has no {name}: the fault would plant nothing"
    setattr(where, name, planted)


FAULTS: dict[str, Callable[[], None]] = {
    "released_counts": _released_counts,
    "anything_repeats": _anything_repeats,
    "nothing_repeats": _nothing_repeats,
    "any_crawl_stands": _any_crawl_stands,
    "edits_are_copies": lambda: _plant(decide._Case, "_is_news", lambda *_: False),
    "revisits_are_copies": lambda: _plant(Known, "_again", lambda *_: None),
    "withheld_in_silence": _withheld_in_silence,
    "fields_say_nothing": lambda: _plant(fields, "long_texts", lambda *_: ()),
    "dry_runs_count": _seen_with(lambda seen: replace(seen, is_dry=False)),
    "keys_say_nothing": _seen_with(
        lambda seen: replace(seen, item_key="", kind=seen.kind.removeprefix("keyed "))
    ),
}
