"""Fingerprints go from index to index: nothing is lost, doubled, or kept that nobody has."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.files.merge import Merged, merge
from dedup.index import Index, Row
from dedup.index.store import Store
from dedup.model.errors import DedupError, IndexMismatch
from dedup.model.verdict import Reason
from dedup.rule.match import match
from tests.laws.test_index import CONFIGS, PRINTS, URLS
from tests.support.budget import examples
from tests.support.pages import checked, find_or_add, of_another_recipe, page, submit, text

CONFIG = DedupConfig()
FORGOTTEN = st.sampled_from(["", "http://a/1", "http://b/1"])
# Pages of a life: fingerprint, URL, kind, and which of the runs so far sees it (0: a new one).
KINDS = st.sampled_from(["page", "item"])
SEEN = st.tuples(st.integers(0, len(PRINTS) - 1), st.sampled_from(URLS), KINDS, st.integers(0, 4))
LIVES = st.lists(SEEN, max_size=25)
Life = Sequence[tuple[int, str, str, int]]


def lived(life: Life, config: DedupConfig) -> MemoryIndex:
    index = MemoryIndex()
    index.prepare()
    runs = [index.runs.begin("s")]
    for found, url, kind, run in life:
        if not run:
            runs.append(index.runs.begin("t" if len(runs) % 3 == 2 else "s"))
        find_or_add(index, PRINTS[found], url, run=runs[-run % len(runs)], config=config, kind=kind)
    return index


def ended(index: Index) -> Index:
    for run in index.runs.all():
        if run.ended is None:
            index.runs.end(run, "finished")
    return index


@settings(max_examples=examples(40))
@given(LIVES, LIVES, st.sampled_from(CONFIGS), st.sampled_from(CONFIGS), FORGOTTEN)
def test_two_become_one(one: Life, two: Life, config: DedupConfig, other: DedupConfig, url: str) -> None:
    with tempfile.TemporaryDirectory() as name, SQLiteIndex(Path(name) / "pages.db") as merged:
        sources = [found for life in (one, two) if (found := ended(lived(life, config))).recipe()]
        for found in sources[1:]:
            found.ledger.forget(url=url)
        done, rows = [merge(found, merged, other) for found in sources], list(merged.rows())
        there = [
            row for found in sources for row in found.rows() if row.verdict.kept and row.outcome.counts
        ]
        assert (len(rows), sum(each.known for each in done)) == (len(there), 0)
        assert merged.problems() == []
        for was, now in zip(there, rows, strict=True):
            assert replace(now.sighting, run=1) == replace(was.sighting, run=1)
            if now.verdict.reason in (Reason.NEAR_DUPLICATE, Reason.EXACT_DUPLICATE):
                canonical = merged.row(now.verdict.canonical or 0).sighting.fingerprint
                assert match(canonical, now.sighting.fingerprint, other).is_duplicate
        for found, count in zip(sources, (each.pages for each in done), strict=True):
            assert merge(found, merged, other) == Merged(count, count, 0)
        assert list(merged.rows()) == rows


def crawled(pages: Sequence[tuple[str, str]], spider: str = "s") -> MemoryIndex:
    index = MemoryIndex()
    checked(index, [(url, content) for content, url in pages], spider=spider)
    return index


def merged(*indexes: Index) -> MemoryIndex:
    target = MemoryIndex()
    for index in indexes:
        merge(index, target, CONFIG)
    return target


def test_crawls_write_while_known_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = crawled([(text(1), "http://a/1"), (text(2), "http://a/2")])
    read, written = Store.rows, []

    def rows(store: Store, where: str = "TRUE", *values: Any, **how: Any) -> Iterator[Row]:
        for row in read(store, where, *values, **how):
            if where.startswith("p.id > ?") and store is not source.store:
                with SQLiteIndex(store.path, timeout=0) as other:
                    written.append(other.runs.begin("crawl"))
            yield row

    with SQLiteIndex(tmp_path / "pages.db") as index:
        merge(source, index, CONFIG)
        monkeypatch.setattr(Store, "rows", rows)
        assert merge(source, index, CONFIG).known == len(written) == 2


def test_a_url_in_both_is_a_later_version_and_scopes_stay_apart() -> None:
    one = crawled([(text(1), "http://a/1"), (text(2), "http://a/2")])
    two = crawled([(text(1), "http://a/1"), (text(3), "http://a/2")])
    rows = list(merged(one, two, crawled([(text(1), "http://b/1")], "other")).rows())
    reasons = [row.verdict.reason.value for row in rows]
    assert reasons == ["new", "new", "unchanged", "updated", "new"]
    assert [row.listed for row in rows] == [True, False, False, True, True]
    assert rows[-1].sighting.scope == "other"


def test_an_interrupted_merge_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.files.merge._BATCH", 3)
    source = crawled([(text(n), f"http://a/{n}") for n in range(8)])
    target = crawled([(text(9), "http://b/")])
    with pytest.raises(KeyboardInterrupt):
        merge(source, target, CONFIG, Mock(side_effect=KeyboardInterrupt))
    assert len(list(target.rows())) == 4
    assert merge(source, target, CONFIG) == Merged(pages=8, known=3, kept=5)
    assert len(target.runs.all()) == 2


def test_what_was_open_is_not_taken_over() -> None:
    index = crawled([(text(1), "http://a/"), (text(1), "http://b/")])
    detector = Detector(index)
    submit(detector, detector.sighting(page(text(2), "http://c/")), confirmed=False)
    target = merged(index)
    assert [row.outcome for row in target.rows()] == ["confirmed"]
    assert target.runs.all()[1].ending == "unfinished"
    assert target.recipe() == index.recipe() != {}


def test_another_recipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = crawled([(text(1), "http://a/")]), MemoryIndex()
    of_another_recipe(monkeypatch)
    target.prepare()
    with pytest.raises(
        IndexMismatch, match=r"memory has fingerprints of another recipe: .* was built by a release with"
    ):
        merge(source, target, CONFIG)
    assert list(target.rows()) == []


def test_an_index_without_pages_has_nothing_and_one_adds_nothing_to_itself() -> None:
    with pytest.raises(DedupError, match="there is nothing in the index in memory to merge"):
        merge(MemoryIndex(), MemoryIndex(), CONFIG)
    index = crawled([(text(1), "http://a/")])
    assert merge(index, index, CONFIG) == Merged(1, 1, 0)
