from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dedup import DedupConfig
from dedup.archives import greedy, steps
from dedup.archives.columns import BUCKETS, SIMILAR, Row, batched, fingerprint_in, rows_of
from dedup.archives.steps import pairs, similar
from dedup.rule import loss
from dedup.rule.match import match
from dedup.rule.verifier import verifier_of
from tests.archives import plain
from tests.archives.corpora import CONFIG, Pages, added, corpus, printed, record, write
from tests.archives.plain import Plain
from tests.pages import text, told_elsewhere

pytestmark = pytest.mark.slow

SEEDS = range(12)
WINDOWS = steps.WINDOWS


@pytest.fixture(autouse=True)
def corpora_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites are known early, and all pages of a bucket meet at once, unless a test says otherwise."""
    monkeypatch.setattr(loss, "KNOWN_PAGES", 5)
    monkeypatch.setattr(steps, "WINDOWS", (128, 256))


def fates(found: Plain) -> dict[int, int | None]:
    return {
        record(row["id"]): (
            record(found.canonicals[row["id"]]["a"]) if row["id"] in found.dropped else None
        )
        for row in found.prints
    }


def check_laws(path: Path, found: Plain, *, is_crowded: bool = False) -> None:
    """Raise where the steps differ from `dedup add`, or drop what no page before it confirms."""
    rows = {row["id"]: row for row in found.prints}
    for number in found.dropped:
        edge = found.canonicals[number]
        kept, page = rows[edge["a"]], rows[number]
        assert edge["a"] < number
        assert edge["a"] not in found.dropped
        site = found.sites.site(page["host"]).beside(kept["host"])
        assert match(fingerprint_in(kept), fingerprint_in(page), CONFIG, site).is_duplicate
    expected = added(path, found.sites)
    assert {n for n, one in fates(found).items() if one is None} == {
        n for n, one in expected.items() if one is None
    }
    # In a bucket of more pages, a page that is dropped meets no further ones, be they nearer.
    if not is_crowded:
        assert fates(found) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_the_steps_say_what_adding_says(seed: int, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", corpus(seed, pages=120, hosts=1 + seed % 3))
    found = Plain(printed(path), CONFIG)
    assert found.dropped
    check_laws(path, found)


@pytest.mark.parametrize("windows", [(1, 2, 3), (2, 5), WINDOWS])
@pytest.mark.parametrize("seed", range(4))
def test_small_windows_keep_the_same_pages(
    seed: int, windows: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "WINDOWS", windows)
    path = write(tmp_path / "x.jsonl", corpus(seed, pages=120))
    check_laws(path, Plain(printed(path), CONFIG), is_crowded=True)


@pytest.mark.parametrize("seed", range(4))
def test_neither_order_nor_size_of_batches_changes_anything(seed: int, tmp_path: Path) -> None:
    rows = printed(write(tmp_path / "x.jsonl", corpus(seed)))
    one = Plain(rows, CONFIG)
    chance = random.Random(seed)
    other = Plain(chance.sample(rows, len(rows)), CONFIG, lambda some: chance.sample(some, len(some)), 7)
    assert fates(one).items() == fates(other).items()
    assert one.sites.name == other.sites.name
    assert {n: plain.nearer(one.canonicals[n]) for n in one.dropped} == {
        n: plain.nearer(other.canonicals[n]) for n in other.dropped
    }


def _drop_chains(a: Any, b: Any, waiting: Any = ()) -> greedy.Decided:
    """Decide as connected components do: all but the first."""
    return greedy.Decided(np.array([], np.int64), np.unique(b))


def _drop_for_later(a: Any, b: Any, waiting: Any = ()) -> greedy.Decided:
    return greedy.decided(b.max() - b, b.max() - a, waiting)


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "components": lambda plant: plant.setattr(plain, "decided", _drop_chains),
    "the bands of groups and sites are not looked at": lambda plant: plant.setattr(
        steps, "sketch_keys", lambda *_: np.zeros(0, np.uint64)
    ),
    "equal pages are not looked at": lambda plant: plant.setattr(
        steps, "_are_equal", lambda batch: pa.array([False] * batch.num_rows)
    ),
    "the nearest is the last": lambda plant: plant.setattr(plain, "nearer", lambda edge: -edge["a"]),
    "the site of the page kept is forgotten": lambda plant: plant.setattr(
        steps, "_beside", lambda site, row: site
    ),
    "only the first is looked at": lambda plant: plant.setattr(plain, "windows", lambda _: [1]),
}


def _cross_site(seed: int) -> Pages:
    """Return pages of one frame on two sites, where what is common on one is not on the other."""
    chance = random.Random(seed)
    words = [f"v{n}" for n in range(3000)]
    frame = " ".join(chance.choices(words, k=60))
    made = [(f"http://a/{n}", f"<p>{frame} {text(n + 100, 30)}</p>") for n in range(12)]
    for n in range(6):
        own = chance.choices(words, k=100)
        changed = own[: 100 - 18] + chance.choices(words, k=18)
        made.append((f"http://a/x{n}", f"<p>{frame} {' '.join(own)}</p>"))
        made.append((f"http://b/x{n}", f"<p>{frame} {' '.join(changed)}</p>"))
        made += [(f"http://b/y{n}{m}", f"<p>{text(900 + 9 * n + m)}</p>") for m in range(2)]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_laws_find_a_fault(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = [corpus(seed, 120, 1 + seed % 3) for seed in range(3)]
    corpora += [_cross_site(seed) for seed in range(8)]
    paths = [write(tmp_path / f"{n}.jsonl", pages) for n, pages in enumerate(corpora)]
    for path in paths:
        check_laws(path, Plain(printed(path), CONFIG))
    FAULTS[fault](monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        for path in paths:
            check_laws(path, Plain(printed(path), CONFIG))


def test_similar_pairs_are_those_that_pass_one_by_one(tmp_path: Path) -> None:
    found = printed(write(tmp_path / "x.jsonl", corpus(3, 60)))
    names = ("group", "sketch", "body_digest", "token_digest", "tokens")
    rows = [
        {"a": a["id"], "b": b["id"]}
        | {f"{side}_{name}": one[name] for side, one in (("a", a), ("b", b)) for name in names}
        for a in found
        for b in found
        if a["id"] < b["id"]
    ]
    random.Random(4).shuffle(rows)
    verifier = verifier_of(CONFIG)
    by_id = {one["id"]: fingerprint_in(one) for one in found}
    expected = {
        (row["a"], row["b"])
        for row in rows
        if row["a_group"] == row["b_group"]
        and (
            row["a_body_digest"] == row["b_body_digest"]
            or (row["b_tokens"] >= 4 and row["a_token_digest"] == row["b_token_digest"])
            or verifier.may_pass(by_id[row["b"]], [row["a_sketch"]])[0]
        )
    }
    assert 20 < len(expected) < len(rows)
    for size in (1, 7, 1000):
        batches = [pa.RecordBatch.from_pylist(rows[n : n + size]) for n in range(0, len(rows), size)]
        passed = list(similar([*batches, batches[0].slice(0, 0)], CONFIG))
        assert all(batch.schema == SIMILAR for batch in passed)
        assert {(row["a"], row["b"]) for row in rows_of(passed)} == expected


def test_pairs_are_those_of_the_first_pages() -> None:
    chance = random.Random(1)
    rows = sorted({(chance.randrange(6) - 3, chance.randrange(60)) for _ in range(150)})
    for size in (1, 3, 1000):
        for first in (1, 4, 100):
            batches = batched([{"key": k, "id": i} for k, i in rows], BUCKETS, size)
            found = [(row["a"], row["b"], row["key"]) for row in rows_of(pairs(batches, first))]
            expected: list[tuple[int, int, int]] = []
            for key in {key for key, _ in rows}:
                ids = [i for k, i in rows if k == key]
                expected += [(a, b, 0) for n, b in enumerate(ids) for a in ids[: min(n, first)]]
                expected += [(-1, b, key) for b in ids[first:]]
            assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_flood_of_like_pages_is_decided_as_by_adding(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text wanders off word by word: what is far behind in the flood repeats nothing at its head."""
    monkeypatch.setattr(steps, "WINDOWS", WINDOWS)
    chance = random.Random(5)
    base = text(1, 100).split()
    pages: Pages = []
    for number in range(count):
        base[chance.randrange(100)] = f"n{number}"
        pages.append((f"http://a/{number}", f"<p>{' '.join(base)}</p>"))
    path = write(tmp_path / "x.jsonl", pages)
    found = Plain(printed(path), CONFIG)
    assert 5 < len(found.prints) - len(found.dropped) < count // 4
    check_laws(path, found, is_crowded=True)


def test_words_of_other_pages_kept_are_known(tmp_path: Path) -> None:
    pages = [(f"http://a/{n}", f"<p>{words}</p>") for n, words in enumerate(told_elsewhere())]
    path = write(tmp_path / "x.jsonl", pages)
    found = Plain(printed(path), CONFIG)
    assert fates(found) == {0: None, 1: None, 2: 0}
    assert found.sites.hosts["a"].pages == 2
    missing: list[Row] = [found.canonicals[number] for number in found.dropped]
    assert [row["missing"] for row in missing] == [0]


def test_windows_end_where_candidates_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "WINDOWS", WINDOWS)
    assert steps.windows(CONFIG) == [8, 56, 192, 744]
    assert steps.windows(DedupConfig(max_candidates=10)) == [8, 2]
    assert steps.windows(DedupConfig(max_candidates=3)) == [3]
