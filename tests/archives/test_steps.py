from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dedup import archives as steps
from dedup.archives import NUMBER, Member, PairSite, batched, dropped_by, rows_of
from dedup.prints.samples import sampled
from dedup.reading.fields import FieldRule
from dedup.rule.match import match
from dedup.rule.site import COMMON_PAGES, COMMON_SHARE, told_by
from tests.archives.corpora import CONFIG, Pages, corpus, printed, write
from tests.archives.plain import Plain
from tests.bounds import bounds
from tests.pages import text, told_elsewhere

SEEDS = range(3)


def check_laws(found: Plain) -> None:
    """Raise where a page is dropped for none that is earlier, kept and confirmed, or one for certain."""
    for page, kept in found.canonicals.items():
        assert kept < page
        assert kept not in found.canonicals
        rows = {row["id"]: row for row in found.prints}
        if rows[kept]["same"] != rows[page]["same"]:
            members = found.members
            first = (
                page
                if page in members
                else next(one for one in members if rows[one]["same"] == rows[page]["same"])
            )
            assert _repeats(members[first], members[kept])
    assert not {row["id"] for row in found.certain} & found.canonicals.keys()
    pairs = [(row["a"], row["b"]) for row in found.edges]
    assert len(set(pairs)) == len(pairs)


def kept(found: Plain) -> set[int]:
    return {row["id"] for row in found.prints} - found.canonicals.keys()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_is_dropped_for_an_earlier_one_that_is_kept_and_confirmed(
    seed: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "x.jsonl", corpus(seed, pages=120, hosts=1 + seed % 3))
    found = Plain(printed(path), CONFIG)
    check_laws(found)
    assert len(found.canonicals) > 10
    # As in a crawl: each page is asked about all pages kept before it that have a bucket in common.
    kept: list[Member] = []
    for _, page in sorted(found.members.items()):
        if not any(one.keys & page.keys and _repeats(page, one) for one in kept):
            kept.append(page)
    assert {one.id for one in kept} == found.members.keys() - found.canonicals.keys()


def _repeats(page: Member, kept: Member) -> bool:
    return match(kept.page, page.page, CONFIG, PairSite(page, kept)).is_duplicate


@pytest.mark.parametrize("seed", range(2))
def test_neither_order_nor_size_of_batches_changes_anything(seed: int, tmp_path: Path) -> None:
    rows = printed(write(tmp_path / "x.jsonl", corpus(seed)))
    one = Plain(rows, CONFIG)
    chance = random.Random(seed)
    other = Plain(chance.sample(rows, len(rows)), CONFIG, lambda some: chance.sample(some, len(some)), 7)
    assert one.canonicals == other.canonicals
    assert sorted(map(str, one.edges)) == sorted(map(str, other.edges))


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_are_decided_as_one_after_the_other(seed: int) -> None:
    chance = random.Random(seed)
    numbers = [chance.randrange(2**50) for _ in range(60)] + list(range(20))
    edges = sorted(
        {tuple(sorted(chance.sample(numbers, 2))) for _ in range(90)}, key=lambda one: one[::-1]
    )
    rows = [{"a": a, "b": b} for a, b in edges]
    schema = steps.EDGES.remove(4).remove(3).remove(2)
    expected: set[int] = set()
    for page in sorted(numbers):
        if any(b == page and a not in expected for a, b in edges):
            expected.add(page)
    for size in (1, 7, 1000):
        assert [row["id"] for row in rows_of(dropped_by(batched(rows, schema, size)))] == sorted(
            expected
        )
    assert schema.field("a").type == NUMBER


def test_what_is_known_of_a_site_is_what_counting_says(tmp_path: Path) -> None:
    found = Plain(printed(write(tmp_path / "x.jsonl", corpus(3, pages=120, hosts=2))), CONFIG)
    counts: dict[str, Counter[int]] = {"h0": Counter(), "h1": Counter()}
    pages = Counter(row["host"] for row in found.certain)
    for row in found.certain:
        told = told_by(row["page"]["sample"], row["page"]["traits"])
        counts[row["host"]].update(set(sampled(told).tolist()))
    hosts = {row["id"]: row["host"] for row in found.prints}
    first, *others = found.members.values()

    def common(member: Member, asked: list[int]) -> list[bool]:
        host = hosts[member.id]
        own = set(sampled(told_by(member.page.sample, member.page.traits)).tolist())
        least = max(COMMON_PAGES, COMMON_SHARE * pages[host])
        return [one in own and counts[host][one] >= least for one in asked]

    assert {hosts[one.id] for one in others} == {"h0", "h1"}
    for other in others:
        site = PairSite(first, other)
        at = counts[hosts[first.id]]
        here = sampled(told_by(first.page.sample, first.page.traits)).tolist()
        sample = np.array(here, "<u4").tobytes()
        assert site.pages == pages[hosts[first.id]]
        assert site.beside("anywhere") is site
        assert site.on(sample).tolist() == [at[one] for one in here]
        assert site.unknown(sample).tolist() == [not at[one] for one in here]
        there = sampled(other.page.sample).tolist()
        expected = zip(common(first, there), common(other, there), strict=True)
        assert site.common(other.page.sample).tolist() == [one or two for one, two in expected]


def test_pages_of_other_keys_are_never_compared(tmp_path: Path) -> None:
    pages = [(f"http://a/{n}", f"<p>{text(1)} {text(n % 3)}</p>") for n in range(6)]
    path = write(tmp_path / "x.jsonl", pages)
    assert len(Plain(printed(path), CONFIG).canonicals) == 3
    rule = FieldRule(key_fields=("url",))
    assert not Plain(printed(path, rule=rule), CONFIG).canonicals
    by_host = replace(CONFIG, scope="host")
    assert len(Plain(printed(path, by_host), by_host).canonicals) == 3


def test_a_mirror_is_dropped_with_its_copies(tmp_path: Path) -> None:
    pages = [(f"http://a/{n}", f"<p>{text(n)}</p>") for n in range(4)]
    pages += [(f"http://b/{n}{m}", f"<p>{text(n)}</p>{'<br>' * m}") for n in range(4) for m in range(3)]
    pages += [
        ("http://c/1", "<p>so few</p>"),
        ("http://c/2", "<p>so few</p>"),
        ("http://c/3", "<p>so </p>"),
    ]
    pages += [("http://d/1", ""), ("http://d/2", "")]
    found = Plain(printed(write(tmp_path / "x.jsonl", pages)), CONFIG)
    assert found.canonicals == {**{4 + n: n // 3 for n in range(12)}, 17: 16}


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_of_a_flood_of_like_pages_few_are_kept(count: int, tmp_path: Path) -> None:
    """The text wanders off word by word: what is far behind in the flood repeats nothing at its head."""
    chance = random.Random(5)
    base = text(1, 100).split()
    pages: Pages = []
    for number in range(count):
        base[chance.randrange(100)] = f"feed{number:04}"
        pages.append((f"http://a/{number}", f"<p>{' '.join(base)}</p>"))
    found = Plain(printed(write(tmp_path / "x.jsonl", pages)), CONFIG)
    check_laws(found)
    assert 5 < len(kept(found)) < count // 4


def test_words_of_other_pages_kept_are_known(tmp_path: Path) -> None:
    pages = [(f"http://a/{n}", f"<p>{words}</p>") for n, words in enumerate(told_elsewhere())]
    found = Plain(printed(write(tmp_path / "x.jsonl", pages)), CONFIG)
    assert found.canonicals == {2: 0}
    assert [row["missing"] for row in found.edges] == [0]


def _of_later(batches: Any) -> Any:
    edges = [(row["a"], row["b"]) for row in rows_of(batches)]
    return batched(({"id": one} for one in sorted({b for _, b in edges})), steps.NUMBERS)


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "connected components": lambda plant: plant.setattr("tests.archives.plain.dropped_by", _of_later),
    "every similar page is confirmed": lambda plant: plant.setattr(
        steps, "match", lambda kept, page, config, site: match(page, page, config, site)
    ),
    "pages that may be dropped are counted": lambda plant: plant.setattr(
        "tests.archives.plain.unsure", lambda *_: ()
    ),
    "two pages are compared in each bucket": lambda plant: plant.setattr(
        steps, "min", max, raising=False
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_laws_find_a_fault(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [printed(write(tmp_path / f"{seed}.jsonl", corpus(seed, 120))) for seed in range(2)]
    FAULTS[fault](monkeypatch)
    if fault == "two pages are compared in each bucket":
        monkeypatch.setattr(Member, "repeated", _in_every_bucket)
    with pytest.raises(AssertionError):
        for some in rows:
            check_laws(Plain(some, CONFIG))


def _in_every_bucket(self: Member, heads: list[Member], key: int) -> Any:
    for one in heads:
        if _repeats(self, one):
            yield {"a": one.id, "b": self.id, "similarity": 1.0, "lost": 0, "missing": None}


def test_candidates_are_bounded(tmp_path: Path) -> None:
    pages = [(f"http://a/{n}", f"<p>{text(n)}</p>") for n in range(3)] * 2
    with bounds(MAX_CANDIDATES=1):
        found = Plain(printed(write(tmp_path / "x.jsonl", pages)), CONFIG)
        assert found.canonicals == {3: 0, 4: 1, 5: 2}
