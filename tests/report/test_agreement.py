"""Whoever says something about two pages says the same: numbers, verdict and sentence."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings

from dedup import DedupConfig, Fingerprint, SQLiteIndex, compare
from dedup.report.clusters import Report, what_is
from dedup.report.explanation import explain
from dedup.report.html import entries_of
from dedup.rule.loss import OWN
from tests.budget import examples
from tests.index.scan_store import ScanIndex
from tests.rule.pairs import bases, configs, others
from tests.sightings import find_or_add


@settings(max_examples=examples(60), deadline=None)
@given(bases(), others(), configs())
def test_all_say_the_same(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> None:
    matched = compare(kept, page, config)
    found, reasons = explain(kept, page, config)
    assert found == matched
    assert matched.sentence in reasons
    assert matched.is_duplicate or reasons[-1] != "So it is a copy."
    with tempfile.TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as stored:
        for index in (ScanIndex(), stored):
            index.prepare()
            run = index.runs.begin("s")
            find_or_add(index, kept, "http://a/1", run=run, config=config)
            verdict = find_or_add(index, page, "http://a/2", run=run, config=config)
            if matched.finding == OWN and verdict.kept:
                continue  # a crawl asks for more pages of the site than this one
            assert (verdict.reason, verdict.kept) == (matched.reason, not matched.is_duplicate)
            entries = entries_of(Report(index))
            assert bool(entries) is matched.is_duplicate
            for entry in entries:
                names = ("content_distance", "structure_distance", "similarity", "lost", "sentence")
                assert [getattr(verdict, name) for name in names] == [
                    getattr(matched, name) for name in names
                ]
                assert what_is(entry.copy).split()[0] == matched.reason.split("_")[0]
