"""Which pages are new to a crawl: by the sample of their fingerprint."""

from __future__ import annotations

import pickle

import pytest

from dedup import Page, fingerprint
from dedup.urls.budget import NEWS, News, without_numbers
from tests.pages import text

HOST = "a.example"


def sample(page: str) -> bytes:
    return fingerprint(without_numbers(Page.from_text(page))).sample


def test_an_article_is_new_once_a_host() -> None:
    news = News()
    first, again = news.of(HOST, sample(text(1))), news.of(HOST, sample(text(1)))
    assert first >= NEWS > again == 0
    assert news.of("b.example", sample(text(1))) == first


@pytest.mark.parametrize("seed", range(5))
def test_numbers_and_names_in_a_known_frame_are_not_new(seed: int) -> None:
    news = News()
    page = (
        "Nothing is planned for the day {0}. 3. {0}. See the month {0} or the year {0}, or write to us."
    )
    for number in range(10 * seed, 10 * seed + 3):
        news.of(HOST, sample(page.format(number)))
    assert news.of(HOST, sample(page.format(10 * seed + 9))) == 0


def test_of_a_changed_page_what_stands_beside_the_change_is_new() -> None:
    news = News()
    news.of(HOST, sample(text(1)))
    assert news.of(HOST, sample(f"{text(1)} and a few more words")) < NEWS
    assert news.of(HOST, sample(f"{text(1)} {text(2)}")) >= NEWS


def test_memory_is_bounded_and_what_was_learned_can_be_saved() -> None:
    news = News()
    size = len(pickle.dumps(news))
    for seed in range(50):
        news.of(HOST, sample(text(seed, 300)))
    assert len(pickle.dumps(news)) == size
    assert pickle.loads(pickle.dumps(news)).of(HOST, sample(text(49, 300))) == 0


def test_a_page_without_words_brings_nothing() -> None:
    assert News().of(HOST, b"") == 0
