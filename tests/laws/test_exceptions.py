"""What somebody said of two pages holds in every history of crawls, and nothing else changes."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, MemoryIndex, SQLiteIndex
from dedup.index import Index, Row
from dedup.index.known import Known
from dedup.model.errors import ConfigError
from dedup.model.marks import COPY, DIFFERENT, Exceptions, Said
from dedup.model.urls import url_key
from dedup.model.verdict import Reason
from dedup.rule.match import match
from tests.laws.test_index import PRINTS
from tests.oracle.scan_store import ScanIndex
from tests.support.budget import examples, fault_budget
from tests.support.pages import find_or_add

URLS = [f"http://a/{number}" for number in range(5)]
LINKS = st.sampled_from(["", *URLS])  # its rel=canonical
THEN = st.sampled_from(["new run", "same", "same", "release", "forget"])
PAGES = st.integers(0, len(PRINTS) - 1)
STEPS = st.lists(st.tuples(PAGES, st.sampled_from(URLS), LINKS, THEN, st.booleans()), max_size=25)
PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from([DIFFERENT, COPY]),
    max_size=5,
).map(lambda pairs: Exceptions.of(Said(URLS[b], URLS[a], says) for (a, b), says in pairs.items()))
CONFIGS = st.builds(DedupConfig, unchanged=st.sampled_from(["keep", "drop"]), exceptions=PAIRS)
Steps = Sequence[tuple[int, str, str, str, bool]]


def lived(index: Index, steps: Steps, config: DedupConfig) -> list[Row]:
    """Return the rows of a history: pages seen in runs, lost on their way, forgotten."""
    index.prepare()
    run = index.runs.begin("s")
    for found, url, link, then, confirmed in steps:
        if then == "new run":
            index.runs.end(run, "finished")
            run = index.runs.begin("s")
        about: dict[str, Any] = {"canonical_link": link, "confirmed": confirmed or then != "release"}
        verdict = find_or_add(index, PRINTS[found], url, run=run, config=config, **about)
        if not about["confirmed"] and verdict.row:
            index.ledger.release(verdict.row)
        if then == "forget":
            index.ledger.forget(url=url)
    return list(index.rows())


def judged(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row.verdict.reason, row.verdict.kept, row.verdict.canonical, row.outcome) for row in rows]


@given(STEPS, CONFIGS)
def test_no_page_is_dropped_for_one_that_it_differs_from(steps: Steps, config: DedupConfig) -> None:
    """Nor for one that stands in its place; and by the rule, or as somebody said."""
    rows = lived(MemoryIndex(), steps, config)
    for row in rows:
        if row.verdict.kept or row.verdict.canonical is None:
            continue
        seen, canonical = row.sighting, rows[row.verdict.canonical - 1].sighting
        strangers = config.exceptions.strangers(seen.url_key)
        assert url_key(row.verdict.canonical_url) not in strangers
        before = [one for one in rows if one.id < row.id and one.sighting.url_key in strangers]
        assert row.verdict.canonical not in {one.verdict.canonical for one in before}
        assert (
            match(canonical.fingerprint, seen.fingerprint, config).is_duplicate
            or canonical.url_key in config.exceptions.originals(seen.url_key)
            or row.verdict.reason is Reason.UNCHANGED
        )


@given(STEPS, CONFIGS)
def test_a_copy_is_dropped_where_its_original_was_kept(steps: Steps, config: DedupConfig) -> None:
    # Each URL once, in one run, and every item comes through.
    once = [(found, url, link, "same", True) for found, url, link, *_ in steps]
    once = list({step[1]: step for step in once}.values())
    rows = lived(MemoryIndex(), once, config)
    for row in rows:
        originals = config.exceptions.originals(row.sighting.url_key)
        kept = [it for it in rows if it.id < row.id and it.sighting.url_key in originals and it.listed]
        strange = config.exceptions.strangers(row.sighting.url_key)
        if kept and not strange and not row.sighting.fingerprint.is_empty:
            assert not row.verdict.kept


@given(STEPS, CONFIGS)
def test_sayings_of_other_pages_change_nothing(steps: Steps, config: DedupConfig) -> None:
    plain = DedupConfig(unchanged=config.unchanged)
    others = Exceptions.of([Said("http://z/1", "http://z/2", says) for says in (DIFFERENT,)])
    foreign = DedupConfig(unchanged=config.unchanged, exceptions=others)
    assert judged(lived(MemoryIndex(), steps, plain)) == judged(lived(MemoryIndex(), steps, foreign))


@settings(max_examples=examples(25), deadline=None)
@given(STEPS, CONFIGS)
def test_all_agree(tmp_path_factory: pytest.TempPathFactory, steps: Steps, config: DedupConfig) -> None:
    with SQLiteIndex(tmp_path_factory.mktemp("index") / "pages.db") as index:
        assert judged(lived(index, steps, config)) == judged(lived(ScanIndex(), steps, config))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("is_stranger", test_no_page_is_dropped_for_one_that_it_differs_from),
        ("originals", test_a_copy_is_dropped_where_its_original_was_kept),
    ],
)
def test_a_fault_is_found(fault: str, law: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"is_stranger": lambda *_: False, "originals": lambda *_: []}
    monkeypatch.setattr(Known, fault, nothing[fault])
    with pytest.raises(BaseException, match=r"assert|distinct"):
        fault_budget(1000)(law)()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([("http://a/1", "http://a/1#x", DIFFERENT)], "two pages"),
        ([("http://a/1", "", COPY)], "two pages"),
        ([("http://a/1", "http://a/2", "maybe")], "must be one of different, copy"),
        ([("http://a/1", "http://a/2", COPY), ("http://a/2", "http://a/1", DIFFERENT)], "copy and diff"),
        ([("http://a/1", "http://a/2", COPY), ("http://a/2", "http://a/1", COPY)], "copies of each"),
    ],
)
def test_a_bad_pair_is_refused(said: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Exceptions.of(Said(*one) for one in said)
