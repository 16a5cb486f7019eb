"""Faults to be planted in the plugin, so that it is seen that the law can find them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from scrapy.http import Response

from dedup.index import Sighting
from dedup.index.evidence import Evidence
from dedup.index.ledger import Ledger
from dedup.index.rows import NEWEST
from dedup.index.runs import Runs
from dedup.index.store import Store
from dedup.model.verdict import Canonical, Outcome, Reason, Standing, Verdict
from dedup.plugin import crawl_index, pages, pipeline, tracking
from dedup.plugin import middlewares as responses
from dedup.plugin.settling import Pending
from dedup.reading import fields, page
from dedup.reading.walk import PageReading, reading_of
from dedup.rule import decide
from tests.oracle import walk


def _released_counts() -> None:
    """Take what a storage failed to store for delivered."""
    settle = Pending.settle

    def planted(rows: Pending, row: int, *, kept: bool) -> None:
        settle(rows, row, kept=True)

    _plant(Pending, "settle", planted)


def _killed_counts() -> None:
    """Take what was under way in a crawl that died for delivered."""
    close_run = Ledger.close_run

    def planted(ledger: Ledger, run: int) -> None:
        ledger._store.settle(Outcome.CONFIRMED, "p.run = ?", run, was=Outcome.PENDING)
        close_run(ledger, run)

    _plant(Ledger, "close_run", planted)


def _folder_is_job() -> None:
    """Take a JOBDIR that was deleted and begun anew for the old job."""
    _plant(crawl_index, "job_of", lambda folder: str(folder or ""))


def _anything_repeats() -> None:
    """Drop every page for the last one that was kept."""
    verdict = Ledger._verdict

    def planted(ledger: Ledger, sighting: Sighting, *arguments: Any, **choices: Any) -> Verdict:
        last = next(ledger._store.rows("p.listed", order=NEWEST, limit=1), None)
        if sighting.fingerprint.is_empty or not last:
            return verdict(ledger, sighting, *arguments, **choices)
        return Verdict(Reason.EXACT_DUPLICATE, kept=False, canonical=last.id)

    _plant(Ledger, "_verdict", planted)


def _nothing_repeats() -> None:
    """Keep every page."""
    _plant(Store, "candidates", lambda *_: ())


def _any_crawl_stands() -> None:
    """Drop a page for one that only an earlier crawl has met."""
    _plant(Evidence, "standing", lambda _, seen, **__: Standing(seen.id, seen.run, seen.is_pending))


def _moved_sites_stand() -> None:
    """Drop a page for one that is on a host which the crawl does not visit."""
    standing = Evidence.standing

    def planted(evidence: Evidence, canonical: Canonical, *, reach: str = "") -> Standing | None:
        return standing(evidence, canonical)

    _plant(Evidence, "standing", planted)


def _withheld_in_silence() -> None:
    """List no request that was not made."""
    _plant(Runs, "withhold", lambda *_: None)


def _first_root_only() -> None:
    """Read nothing behind a first ``</html>``."""
    _plant(walk, "all_roots", lambda root: [] if root is None else [root])
    _plant(page, "reading_of", lambda root, **_: walk.Walk(root).reading())


def _fallbacks_say_nothing() -> None:
    """Read nothing of what is shown in place of something else."""
    _plant(walk, "MIN_FALLBACK_WORDS", float("inf"))
    _plant(page, "reading_of", lambda root, **_: walk.Walk(root).reading())


def _signs_say_nothing() -> None:
    """Read letters and digits of ASCII only."""

    def planted(root: Any, **how: bool) -> PageReading:
        found = reading_of(root, **how)
        return found._replace(text=re.sub(r"[^a-zA-Z0-9\s]", "", found.text))

    _plant(page, "reading_of", planted)


def _text_is_believed() -> None:
    """Judge the text of a response, however it was decoded."""
    _plant(pages, "_is_all_of", lambda *_: False)


def _seen_with(changed: Callable[[Sighting], Sighting]) -> Callable[[], None]:
    """Tell the index something else of every page."""

    def plant() -> None:
        find_or_add = Ledger.find_or_add

        @wraps(find_or_add)
        def planted(ledger: Ledger, sighting: Sighting, *arguments: Any, **choices: Any) -> Verdict:
            return find_or_add(ledger, changed(sighting), *arguments, **choices)

        _plant(Ledger, "find_or_add", planted)

    return plant


def _plant(where: Any, name: str, planted: object) -> None:
    assert hasattr(where, name), f"{where} has no {name}: the fault would plant nothing"
    setattr(where, name, planted)


def _redirects_are_revisits() -> None:
    """Take a page that another address led to for one that was requested again."""
    for module in (tracking, responses):
        _plant(module, "is_asked_for", lambda response, url: response is not None)


def _siblings_are_revisits() -> None:
    """Take the items of one response for what further requests gave."""

    def planted(response: Response | None, url: str) -> set[int] | None:
        return None if response is None or response.url != url else set()

    _plant(pipeline, "rows_of", planted)


FAULTS: dict[str, Callable[[], None]] = {
    "released_counts": _released_counts,
    "killed_counts": _killed_counts,
    "folder_is_job": _folder_is_job,
    "anything_repeats": _anything_repeats,
    "nothing_repeats": _nothing_repeats,
    "any_crawl_stands": _any_crawl_stands,
    "moved_sites_stand": _moved_sites_stand,
    "edits_are_copies": lambda: _plant(decide._Case, "_is_news", lambda *_: False),
    "revisits_are_copies": lambda: _plant(Evidence, "_again", lambda *_: None),
    "redirects_are_revisits": _redirects_are_revisits,
    "siblings_are_revisits": _siblings_are_revisits,
    "withheld_in_silence": _withheld_in_silence,
    "first_root_only": _first_root_only,
    "fallbacks_say_nothing": _fallbacks_say_nothing,
    "signs_say_nothing": _signs_say_nothing,
    "text_is_believed": _text_is_believed,
    "fields_say_nothing": lambda: _plant(fields, "long_texts", lambda *_: ()),
    "dry_runs_count": _seen_with(lambda seen: replace(seen, is_dry=False)),
    "keys_say_nothing": _seen_with(
        lambda seen: replace(seen, item_key="", kind=seen.kind.removeprefix("keyed "))
    ),
}
