from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dedup.archives import many, steps
from dedup.archives.columns import (
    BUCKETS,
    FACTS,
    MEMBERS,
    Row,
    batch_of,
    batched,
    fingerprint_in,
    rows_of,
)
from dedup.archives.many import Lists, Pages
from dedup.archives.steps import compared, facts, in_company
from dedup.files.contexts import batch_of as contexts_batch
from dedup.recipes.sample import MOST, comparable
from dedup.rule import loss
from dedup.rule.keys import has_equal_text
from dedup.rule.match import match
from dedup.rule.verifier import verifier_of
from tests.archives.corpora import CONFIG, corpus, printed, write
from tests.archives.plain import Plain
from tests.pages import told_elsewhere

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def sites_are_known_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "KNOWN_PAGES", 5)


def judged(path: Path, seed: int) -> tuple[list[Row], Plain]:
    """Return the facts of pages that repeat each other in all ways, and what the plain steps say."""
    told = [(f"http://h0/t{n}", f"<p>{words}</p>") for n, words in enumerate(told_elsewhere())]
    pages = corpus(seed, 60, hosts=1 + seed % 2) + told
    found = Plain(printed(write(path, pages)), CONFIG)
    some = [row for row in found.prints if row["same"] is not None]
    rows: list[Row] = []
    for host in {row["host"] for row in some}:
        counts = found.sites.hosts.get(host)
        known = contexts_batch({host: counts} if counts else {})
        empty = [{**dict.fromkeys(FACTS.names), **row} for row in some if row["host"] == host]
        table = pa.Table.from_batches([batch_of(empty, FACTS)])
        rows += facts(table, pa.Table.from_batches([known]), CONFIG).to_pylist()
    return sorted(rows, key=lambda row: row["id"]), found


def in_pairs(rows: list[Row]) -> tuple[Pages, np.ndarray, np.ndarray]:
    a, b = np.triu_indices(len(rows), 1)
    return Pages.of(pa.Table.from_batches([batch_of(rows, FACTS)])), a.astype(int), b.astype(int)


def check_pairs(rows: list[Row], found: Plain) -> int:
    """Raise where a pair is ruled out that the rule confirms; return how many similar ones are."""
    pages, a, b = in_pairs(rows)
    alike = pages.similarities(a, b)
    may = pages.may_repeat(a, b, alike, CONFIG)
    for one, other, passes in zip(a, b, may, strict=True):
        kept, page = rows[one], rows[other]
        site = found.sites.site(page["host"]).beside(kept["host"])
        if match(fingerprint_in(kept), fingerprint_in(page), CONFIG, site).is_duplicate:
            assert passes, (kept["id"], page["id"])
    return int((~may & (alike >= CONFIG.min_similarity)).sum())


@pytest.mark.usefixtures("either_search")
def test_what_the_rule_confirms_is_not_ruled_out(tmp_path: Path) -> None:
    assert sum(check_pairs(*judged(tmp_path / f"{n}.jsonl", n)) for n in range(6)) > 100


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "words elsewhere are forgotten": lambda plant: plant.setattr(loss, "MISSING_WORDS", -1),
    "too few are few": lambda plant: plant.setattr(many, "SLACK", -12.0),
    "equal pages are not": lambda plant: plant.setattr(
        Pages, "are_equal", lambda _, a, b: np.zeros(len(a), bool)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_would_rule_out_duplicates(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[fault](monkeypatch)
    all_of_them = [judged(tmp_path / f"{n}.jsonl", n) for n in range(6)]
    monkeypatch.setattr(loss, "MISSING_WORDS", 8)
    with pytest.raises(AssertionError):
        for rows, found in all_of_them:
            check_pairs(rows, found)


@pytest.mark.usefixtures("either_search")
def test_many_are_as_one_by_one(tmp_path: Path) -> None:
    rows, _ = judged(tmp_path / "x.jsonl", 3)
    pages, a, b = in_pairs(rows)
    alike = pages.similarities(a, b)
    lost, allowed = pages.lost_words(a, b, alike), pages.allowed_words(b, CONFIG)
    equal, verifier = pages.are_equal(a, b), verifier_of(CONFIG)
    prints = [fingerprint_in(row) for row in rows]
    for n, (kept, page) in enumerate(
        (prints[one], prints[other]) for one, other in zip(a, b, strict=True)
    ):
        assert [alike[n] >= CONFIG.min_similarity] == verifier.may_pass(page, [kept.sketch])
        assert lost[n] == pytest.approx(loss.lost_words(kept, page, alike[n]), abs=many.SLACK / 2)
        assert allowed[n] == loss.allowed_words(page, CONFIG)
        is_equal = kept.body_digest == page.body_digest or has_equal_text(kept, page)
        assert equal[n] == is_equal


@pytest.mark.usefixtures("either_search")
def test_lists_that_are_cut_are_compared_up_to_where_both_are_whole() -> None:
    chance = np.random.default_rng(2)
    sizes = [0, 1, 5, 300, MOST, MOST, MOST]
    lists = [
        np.sort(chance.choice(100_000, size, replace=False)).astype("<u4") * 40_000 for size in sizes
    ]
    made = Lists.of(pa.array([one.tobytes() if len(one) else None for one in lists], pa.binary()))
    a, b = (side.ravel() for side in np.indices((len(lists), len(lists))))
    limits = made.limits(MOST)
    shared = made.shared(a, b, np.minimum(limits[a], limits[b]))
    for one, other, found in zip(a, b, shared.tolist(), strict=True):
        first, second = comparable(lists[one].tobytes(), lists[other].tobytes())
        assert found == [len(first), len(second), len(np.intersect1d(first, second))]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pages_alone_in_a_bucket_are_left_out(size: int) -> None:
    chance = random.Random(size)
    rows = sorted((chance.randrange(60), number) for number in range(80))
    keys = [key for key, _ in rows]
    batches = batched([{"key": key, "id": number} for key, number in rows], BUCKETS, size)
    found = [(row["key"], row["id"]) for row in rows_of(in_company(batches))]
    assert found == [row for row in rows if keys.count(row[0]) > 1]


@pytest.mark.parametrize(("size", "first"), [(1, 4), (7, 1), (7, 30), (1000, 4)])
def test_buckets_give_the_pairs_that_are_similar_one_by_one(
    size: int, first: int, tmp_path: Path
) -> None:
    rows, found = judged(tmp_path / "x.jsonl", 1)
    by_id = {row["id"]: row for row in rows}
    buckets = [
        row for row in rows_of(steps.bands([batch_of(rows, FACTS)], CONFIG)) if row["id"] in by_id
    ]
    buckets.sort(key=lambda row: (row["key"], row["id"]))
    slow = list(rows_of(steps.pairs(batched(buckets, BUCKETS), first)))
    names = ("group", "sketch", "body_digest", "token_digest", "tokens")
    sided = [
        {"a": row["a"], "b": row["b"]}
        | {f"{side}_{name}": by_id[row[side]][name] for side in "ab" for name in names}
        for row in slow
        if row["a"] >= 0
    ]
    alike = {
        (row["a"], row["b"])
        for row in rows_of(steps.similar([pa.RecordBatch.from_pylist(sided)], CONFIG))
    }
    late = {(row["key"], row["b"]) for row in slow if row["a"] < 0}

    def told(*, known: bool, is_copied: bool = False) -> set[tuple[int, int]]:
        nothing = {} if known else dict.fromkeys(("own", "elsewhere", "is_big"))
        members = [{**by_id[row["id"]], **row, "is_copied": is_copied, **nothing} for row in buckets]
        made = list(rows_of(compared(batched(members, MEMBERS, size), first, CONFIG)))
        assert {(row["key"], row["b"]) for row in made if row["a"] < 0} == late
        return {(row["a"], row["b"]) for row in made if row["a"] >= 0}

    assert told(known=False) == alike
    forth, both = told(known=True), told(known=True, is_copied=True)
    confirmed = {pair for pair in found.edges if pair in alike}
    assert confirmed <= forth <= both <= alike
    assert len(forth) < len(both) < len(alike)
    for a, b in alike:
        site = found.sites.site(by_id[a]["host"]).beside(by_id[b]["host"])
        if match(fingerprint_in(by_id[b]), fingerprint_in(by_id[a]), CONFIG, site).is_duplicate:
            assert (a, b) in both
