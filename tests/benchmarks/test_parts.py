"""Sets, recipes, samples and the mixed check of the accuracy bench."""

from __future__ import annotations

import tarfile
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.accuracy.folding import jaccard, missing_shingles, shingles, word_pairs, workers
from benchmarks.accuracy.mixed import copies_among, mix
from benchmarks.accuracy.peers import PEERS, missing, sampled
from benchmarks.accuracy.recipes import ALL, CHOICES, DEFAULT, chosen, recipes
from benchmarks.accuracy.sets import labelled_sets
from dedup import DedupConfig, compare, fingerprint
from tests.pages import edited, page, text


def write_set(folder: Path, rows: list[str]) -> None:
    folder.mkdir(parents=True)
    (folder / "pairs.csv").write_text("\n".join(["a,b,label,group,jaccard", *rows]) + "\n")


def test_a_set_is_split_where_each_group_has_both_labels(tmp_path: Path) -> None:
    write_set(
        tmp_path / "split" / "one", ["a,b,1,x,.95", "a,c,0,x,", "a,b,1,y,", "a,c,0,y,", "c,b,,y,.7"]
    )
    write_set(tmp_path / "split" / "two", ["a,b,1,x,", "a,c,0,y,"])
    for folder in tmp_path.glob("split/*"):
        (folder / "html").mkdir()
    one, two = labelled_sets(tmp_path / "split", tmp_path)
    assert [(part.name, len(part.pairs)) for part in one.parts()] == [("one/x", 2), ("one/y", 3)]
    assert [(part.name, len(part.pairs)) for part in two.parts()] == [("two", 2)]
    grey = one.parts()[1].pairs[2]
    assert (grey.label, grey.jaccard, one.pairs[0].label, one.pairs[1].jaccard) == (None, 0.7, 1, None)
    assert [found.name for found in labelled_sets(tmp_path / "split", tmp_path, ["two"])] == ["two"]


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    write_set(tmp_path / "data" / "packed", ["html/a.html,html/b.html,1,,"])
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "a.html").write_text("<p>alpha")
    with tarfile.open(tmp_path / "data" / "packed" / "html.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "html", "html")
    cache = tmp_path / "cache"
    cache.mkdir()
    first = labelled_sets(tmp_path / "data", cache)[0]
    assert first.pages() == ["html/a.html"]
    (first.root / "html" / "a.html").write_text("<p>beta")
    again = labelled_sets(tmp_path / "data", cache)[0]
    assert (again.root / "html" / "a.html").read_text() == "<p>beta"
    assert [path.name for path in cache.iterdir()] == [first.root.name]


def test_every_choice_is_a_recipe_of_its_own() -> None:
    known = recipes()
    configs = {name: DedupConfig(**options) for name, options in known.items()}
    assert next(iter(known)) == DEFAULT
    assert configs.pop(DEFAULT) == DedupConfig()
    assert DedupConfig() not in configs.values()
    for field, choices in CHOICES.items():
        found = {getattr(config, field) for config in configs.values()} | {getattr(DedupConfig(), field)}
        assert found >= set(choices)


def test_recipes_are_chosen_by_name() -> None:
    assert chosen([]) == {DEFAULT: {}}
    assert chosen([ALL]) == recipes()
    assert list(chosen(["tie=True", DEFAULT])) == ["tie=True", DEFAULT]


@given(st.lists(st.integers(0, 1), max_size=60), st.integers(1, 40))
def test_a_sample_stands_for_all_pairs(labels: list[int], count: int) -> None:
    numbers, weights = sampled(labels, count)
    assert len(numbers) == min(count, len(labels)) or count == 1
    assert numbers == sorted(set(numbers))
    assert sampled(labels, count)[0] == numbers
    if count > 1:
        for label in (0, 1):
            chosen_weights = [w for n, w in zip(numbers, weights, strict=True) if labels[n] == label]
            assert sum(chosen_weights) == pytest.approx(labels.count(label))


words = st.lists(st.sampled_from(["tea", "cup", "茶", "杯"]), max_size=12)


@given(words, words)
def test_jaccard_is_that_of_sets(a: list[str], b: list[str]) -> None:
    one, two = (set(pairwise(of)) for of in (a, b))
    expected = len(one & two) / len(one | two) if one | two else 1.0
    assert jaccard(word_pairs(" ".join(a)), word_pairs(" ".join(b))) == pytest.approx(expected)


@given(words, words)
def test_missing_shingles_are_those_of_sets(a: list[str], b: list[str]) -> None:
    one, two = ({tuple(of[start : start + 4]) for start in range(len(of) - 3)} for of in (a, b))
    assert missing_shingles(shingles(" ".join(a)), shingles(" ".join(b))) == len(two - one)


def test_han_characters_are_words_one_by_one() -> None:
    assert word_pairs("茶杯 Tea").tolist() == word_pairs("茶 杯, tea!").tolist()


CONTENTS = [
    text(1),
    text(1),
    edited(1, 3),
    edited(1, 60),
    text(2),
    "a b c d e",
    "a b c d e",
    "",
    "<b></b>",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"verifier": "distance", "max_distance": 7},
        {"max_structure_candidates": 0},
        {"max_distance": 0, "structure_max_distance": 12},
        {"min_similarity": 0.0},
        {"candidates": "minhash"},
        {"candidates": "both", "min_similarity": 0.3},
    ],
)
def test_the_mixed_check_finds_what_comparing_all_finds(options: dict[str, float]) -> None:
    config = DedupConfig(**options)  # type: ignore[arg-type]
    pages = [page(content, template=number % 3) for number, content in enumerate(CONTENTS)]
    prints = [fingerprint(one, config) for one in pages]
    expected = [
        (a, b)
        for a, b in combinations(range(len(prints)), 2)
        if compare(prints[a], prints[b], config).is_duplicate
    ]
    assert expected
    assert sorted(copies_among(prints, config)) == expected


def test_copies_that_share_nothing_are_unrelated() -> None:
    found = mix([(0, 1), (0, 2)], [word_pairs(content) for content in (text(1), edited(1, 3), text(2))])
    assert (found.pairs, found.copies, found.unrelated) == (3, 2, ((0, 2),))


def test_results_keep_their_order_on_several_processes() -> None:
    heard: list[int] = []
    with workers(2) as pool:
        assert pool.each(abs, [-3, 2, -1], heard.append) == [3, 2, 1]
    assert sorted(heard) == [0, 1, 2]


@pytest.mark.parametrize("name", PEERS)
def test_peers_know_copies_from_different_pages(name: str) -> None:
    if why := missing(name):
        pytest.skip(why)
    peer = PEERS[name]
    one, near, other = (peer.sign(content) for content in (text(1), edited(1, 3), text(2)))
    assert peer.likeness(one, one) > peer.likeness(one, near) > peer.likeness(one, other)
    assert peer.threshold is None or peer.likeness(one, one) >= peer.threshold


def test_a_peer_survives_what_numpy_refuses() -> None:
    if why := missing("1e0ng simhash"):
        pytest.skip(why)
    peer = PEERS["1e0ng simhash"]
    long, short = peer.sign("tea " * 3000), peer.sign("tea " * 30)
    assert peer.likeness(long, short) > -32
    assert np.isfinite(peer.likeness(long, peer.sign("")))
