"""Who does not know the secret of an index cannot make a page that suppresses another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import (
    DedupConfig,
    Detector,
    Fingerprint,
    MemoryIndex,
    Page,
    Reason,
    SQLiteIndex,
    Verdict,
    compare,
    fingerprint,
)
from dedup.index import Index
from dedup.report.replay import replay_into
from dedup.rule.match import match
from dedup.values.hashes import SECRET_SIZE
from tests.attack import VICTIM, attack, forged
from tests.budget import examples
from tests.crawling import ROOT
from tests.pages import edited, page, text
from tests.sightings import find_or_add

EXAMPLES = ROOT / "crawler" / "example" / "pages"
# What an attack must pass without check sketches; the loss asks for as many shingles, too.
PLAIN = DedupConfig(verifier="similarity")
CANDIDATES = ["simhash", "minhash", "both"]


def checked(index: Index, pages: Sequence[Page], config: DedupConfig | None = None) -> list[Verdict]:
    with Detector(index, config or PLAIN) as detector:
        return [detector.check(found) for found in pages]


def checked_in_public(index: Index, pages: Sequence[Page]) -> list[Verdict]:
    """Judge pages as before there were check sketches."""
    index.prepare(PLAIN)
    run = index.begin_run()
    prints = [fingerprint(found) for found in pages]
    return [
        find_or_add(index, found, one.url, run=run, config=PLAIN)
        for found, one in zip(prints, pages, strict=True)
    ]


def test_the_attack_has_no_word_of_its_victim_and_all_of_its_public_fingerprint() -> None:
    assert not set(attack().text.split()) & set(VICTIM.text.split())
    found = compare(attack(), VICTIM, PLAIN)
    assert found.is_duplicate
    assert found.similarity >= 0.9
    assert found.content_distance is not None
    assert found.content_distance <= 10


def test_without_check_sketches_it_suppresses_its_victim(index: Index) -> None:
    assert [verdict.kept for verdict in checked_in_public(index, [attack(), VICTIM])] == [True, False]


@pytest.mark.parametrize("candidates", CANDIDATES)
def test_it_suppresses_nothing(index: Index, candidates: str) -> None:
    config = DedupConfig(candidates=candidates, verifier="similarity")
    verdicts = checked(index, [attack(), VICTIM, attack(), VICTIM], config)
    assert [verdict.kept for verdict in verdicts] == [True, True, False, False]
    assert [verdict.canonical_url for verdict in verdicts[2:]] == ["http://evil/", "http://victim/"]


def test_who_guesses_the_secret_wrongly_gains_nothing_and_who_knows_it_wins() -> None:
    index = MemoryIndex()
    victim = Detector(index).fingerprint(VICTIM)
    for secret, wins in ((bytes(SECRET_SIZE), False), (index.secret, True)):
        words = forged(fingerprint(VICTIM, secret=secret), secret=secret)
        found = Page.from_text(" ".join(words))
        assert compare(found, VICTIM, PLAIN).is_duplicate
        assert match(victim, Detector(index).fingerprint(found), PLAIN).is_duplicate is wins


def test_a_page_without_check_sketch_is_compared_in_public(index: Index) -> None:
    assert checked_in_public(index, [attack()])[0].kept
    assert not checked(index, [VICTIM])[0].kept


def test_without_verification_nothing_is_verified(index: Index) -> None:
    verdicts = checked(index, [attack(), VICTIM], DedupConfig(verifier="distance"))
    assert [verdict.kept for verdict in verdicts] == [True, False]


def test_rows_keep_their_check_sketches(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        checked(index, [VICTIM, attack()])
        index.store.rebuild(blocks=5)
        wanted = [Detector(index).fingerprint(one).check_sketch for one in (VICTIM, attack())]
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [row.sighting.fingerprint.check_sketch for row in index.rows()] == wanted
        assert all(map(any, wanted))


def test_a_replay_judges_by_the_check_sketches_that_are_stored(index: Index) -> None:
    checked(index, [attack(), VICTIM])
    with MemoryIndex() as target:
        replay_into(target, index, DedupConfig())
        assert [row.verdict.kept for row in target.rows()] == [True, True]


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 50), st.integers(1, 200))
def test_the_same_page_twice_is_a_copy(seed: int, words: int) -> None:
    first, second = (page(text(seed, words), f"http://{host}/") for host in "ab")
    assert [verdict.kept for verdict in checked(MemoryIndex(), [first, second])] == [True, False]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 50), st.integers(0, 30), st.integers(20, 400), st.binary(min_size=32, max_size=32))
def test_no_secret_changes_what_becomes_of_honest_pages(
    seed: int, edits: int, words: int, secret: bytes
) -> None:
    pages = [page(text(seed, words)), page(edited(seed, min(edits, words), words)), page(text(seed + 1))]
    keyed = [fingerprint(one, secret=secret) for one in pages]
    for one, other in product(keyed, keyed):
        assert match(one, other, DedupConfig()) == match(public(one), other, DedupConfig())


@settings(max_examples=examples(10), deadline=None)
@given(st.binary(min_size=SECRET_SIZE, max_size=SECRET_SIZE))
def test_no_secret_changes_what_becomes_of_the_example_site(secret: bytes) -> None:
    pages = [Page.from_html(path.read_bytes()) for path in sorted(EXAMPLES.rglob("*.html"))]
    keyed = [fingerprint(one, secret=secret) for one in pages]
    found = [match(one, other, DedupConfig()) for one, other in product(keyed, keyed)]
    assert found == [match(public(one), other, DedupConfig()) for one, other in product(keyed, keyed)]
    assert sum(one.is_duplicate for one in found) > len(pages)


def public(found: Fingerprint) -> Fingerprint:
    return replace(found, check_sketch=b"")


@pytest.mark.parametrize("content", ["", "one two three", "<img src=a.png>"])
def test_a_page_without_shingles_has_an_empty_check_sketch(content: str) -> None:
    found = Detector(MemoryIndex()).fingerprint(page(content))
    assert found.check_sketch == bytes(64)
    assert fingerprint(page(content)).check_sketch == b""
    verdicts = checked(MemoryIndex(), [page(content, "http://a/"), page(content, "http://b/")])
    assert verdicts[1].reason is Reason.EXACT_DUPLICATE
