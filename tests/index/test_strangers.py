"""A page made to have the simhash and the sketch of another one, without a word of it, suppresses nothing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Page, Verdict, compare, fingerprint
from dedup.index import Index
from dedup.native._pages import similarity
from dedup.rule.loss import LOST, lost_words
from tests.support.attack import VICTIM, attack
from tests.support.pages import page, text


def checked(index: Index, pages: Sequence[Page], config: DedupConfig | None = None) -> list[Verdict]:
    with Detector(index, config or DedupConfig()) as detector:
        return [detector.check(found) for found in pages]


def test_its_sample_gives_it_away() -> None:
    assert not set(attack().text.split()) & set(VICTIM.text.split())
    found = compare(attack(), VICTIM)
    assert (found.is_duplicate, found.finding, found.content_distance) == (False, LOST, 0)
    evil, victim = fingerprint(attack()), fingerprint(VICTIM)
    assert similarity(evil.sketch, victim.sketch) >= 0.9
    assert lost_words(evil, victim, 1.0) > 600


@pytest.mark.parametrize("host", ["evil", "victim"])
@pytest.mark.parametrize("words", [0, 40, 100, 300])
def test_it_suppresses_nothing(index: Index, host: str, words: int) -> None:
    config = DedupConfig(max_lost_words=words, scope="global")
    evil = replace(attack(), url=f"http://{host}/forged")
    verdicts = checked(index, [*others(host), evil, VICTIM, evil, VICTIM], config)
    assert [verdict.kept for verdict in verdicts[9:11]] == [True, True]


def others(host: str) -> list[Page]:
    return [page(text(50 + number), f"http://{host}/{number}") for number in range(9)]
