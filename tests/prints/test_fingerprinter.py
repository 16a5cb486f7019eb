import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.example import PAGES, page_of
from dedup import DedupConfig, Page, fingerprint, hamming_distance
from dedup.model.errors import ConfigError
from dedup.model.hashes import digest, murmur3
from dedup.model.urls import host_of
from dedup.native._pages import similarity
from dedup.prints import fingerprinter
from dedup.prints.fingerprinter import other_names, pairs_in, title_in, traits
from tests.oracle.prints import pairs_of, runs_of, sketch_of

# What an index holds must mean the same tomorrow: if one of these changes, so must `recipe()`.
PINNED = {
    "history": ("7edcf78598cb7425", "a20f12def50a353e", "2426236c"),
    "zh/history": ("900043659d6e1f8c", "a20f12def50a353e", "5f06f4e4"),
    "shop/oil-lamp": ("61257484a8c93efd", "6a1f32defd3a373d", "30793603"),
}


@pytest.mark.parametrize("name", PINNED)
def test_fingerprints_are_pinned(name: str) -> None:
    found = fingerprint(Page.from_html(page_of(PAGES / f"{name}.html")))
    words = (f"{word:016x}" for word in (found.content_simhash, found.structure_simhash))
    assert (*words, digest(found.sketch).hex()[:8]) == PINNED[name]


def test_a_longer_list_is_the_same_template() -> None:
    htmls = ("<h1>a</h1><ul>" + "<li><a>x</a>" * count + "</ul><p>b" for count in (10, 500))
    short, long = (fingerprint(Page.from_html(html)).structure_simhash for html in htmls)
    assert hamming_distance(short, long) == 0


def test_only_who_drops_what_is_unchanged_asks_for_sentences() -> None:
    page = Page.from_text("The sun rises over the hills at dawn, as ever.")
    assert fingerprint(page, DedupConfig(unchanged="drop")).sentences
    assert not fingerprint(page).sentences


def test_a_sketch_estimates_the_jaccard_similarity() -> None:
    rng, errors = random.Random(1), []
    for _ in range(60):
        shared = [str(rng.random()) for _ in range(rng.randrange(2, 2000))]
        own = ([str(rng.random()) for _ in range(1000)] for _ in range(2))
        one, other = (sketch_of(runs_of(list(map(murmur3, shared + each)), 1)) for each in own)
        errors.append(similarity(one, other) - len(shared) / (len(shared) + 2000))
    assert abs(sum(errors) / len(errors)) < 0.02
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.05


# Traits: the title, and pairs of neighbouring words
HASHES = st.sets(st.integers(0, 2**32 - 1), max_size=30)


def packed(hashes: set[int]) -> bytes:
    return np.array(sorted(hashes), "<u4").tobytes()


def test_a_text_of_many_pairs_has_the_smallest() -> None:
    words = [f"word{n}" for n in range(3000)]
    pairs = pairs_in(fingerprint(Page.from_text(" ".join(words))).traits)
    assert pairs == pairs_of([words])
    assert len(pairs) == fingerprinter.MOST_PAIRS * fingerprinter.SAMPLED_BYTES


@given(HASHES, HASHES)
def test_other_pairs_are_those_that_the_page_kept_has_not(kept: set[int], page: set[int]) -> None:
    here, there = traits("a", packed(kept)), traits("b", packed(page))
    assert fingerprinter.other_pairs(here, there) == packed(page - kept)
    assert pairs_in(there) == packed(page)
    parts = tuple(packed({pair for pair in page if pair % 2 == rest}) for rest in (0, 1))
    assert fingerprinter.words_and_numbers(packed(page)) == parts


@given(st.text(max_size=8))
def test_a_title_is_its_hash(title: str) -> None:
    assert title_in(traits(title)) == title_in(traits(title, packed({1})))
    assert (title_in(traits(title)) == fingerprinter.UNTITLED) == (title == "")
    found = fingerprint(Page.from_html("<title>Match 7</title><p>North beat South 3 to 1.")).traits
    assert title_in(found) == title_in(traits("Match 7"))


NUMBERS = st.lists(st.integers(0, 9), max_size=9).map(lambda some: np.array(some, "<u4").tobytes())


@given(NUMBERS, NUMBERS, st.booleans())
def test_of_damaged_ones_some_names_are_told(one: bytes, other: bytes, is_in: bool) -> None:
    found = other_names(one, other, in_headings=is_in).tolist()
    assert set(found) <= set(range(10))
    assert found == names_of(one, other, in_headings=is_in).tolist()


def names_of(kept: bytes, page: bytes, *, in_headings: bool) -> Any:
    """Return what `other_names` does, of arrays as a whole."""
    ends = (16 + 8 * int.from_bytes(one[12:16], "little") for one in (kept, page))
    there, here = (np.frombuffer(one[16 : next(ends)], "<u4") for one in (kept, page))
    words, others = there[:-1:2], here[:-1:2]
    where, is_alone = words[~np.isin(words, others)] & 1, ~np.isin(others, words)
    is_variant = in_headings and 2 * np.count_nonzero(is_alone) <= len(others)
    return here[1::2][is_alone & np.isin(others & 1, where if is_variant else where[where == 0])]


def test_a_name_is_one_where_both_titles_and_texts_say_another() -> None:
    def named(title: str, text: str) -> bytes:
        return fingerprint(Page.from_html(f"<title>{title}</title><p>{text}")).traits

    kept = named("The Sea tools", "All of the Sea are here")
    assert len(other_names(kept, named("The Tide tools", "All of the Tide are here"))) == 1
    for title, text in [
        ("The Tide tools", "All of the Sea are here"),  # its text does not say it
        ("The Tide tools", "The Tide tools<p>All of the Sea are here"),  # but for a heading
        ("The Sea tools, printed", "printed view: all of the Sea are here"),  # which only adds a word
    ]:
        assert not len(other_names(kept, named(title, text)))
    assert not len(other_names(named("The tools", "All are here"), kept))
    names = "A red coat", "A blue coat", "Warm all winter"
    red, blue, other = (named(one, f"{one}<p>Of wool") for one in names)
    assert len(other_names(red, blue)) == 1  # as both have it in headings alone
    assert not len(other_names(red, other))  # another headline


PARTS = [*"http:// HTTP:// a.example A.EXAMPLE b.example /x /y K \u212a.example".split(), " ", "\n"]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.sampled_from(["a", "k", "\xe4"]))
def test_lines_with_an_own_address_are_muted(text: str, name: str) -> None:
    """As if each address were looked at of each text that may name one."""
    own = f"{name}.example"

    def is_own(address: str) -> bool:
        host = host_of(address if "://" in address else f"http://{address}")
        return host == own or ("." in host and fingerprinter._path_of(address) in {"/x", "/x/y"})

    found = [any(map(is_own, fingerprinter._ADDRESS.findall(line))) for line in text.split("\n")]
    may_be = any(part in text for part in ("://", own, "/x"))
    muted = fingerprinter._muted(text, f"http://{own}/x/y")[0].split("\n")
    assert [line.startswith(fingerprinter._MUTE) for line in muted] == [may_be and one for one in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_distance": 13}, r"max_distance \(13\) must be 0 to 12"),
        ({"max_distance": -1}, r"max_distance \(-1\) must be 0 to 12"),
        ({"max_distance": 3.0}, r"max_distance \(3.0\) must be of type int"),
        ({"max_distance": True}, r"max_distance \(True\) must be of type int"),
        ({"max_lost_words": 100_001}, r"max_lost_words \(100001\) must be 0 to 100000"),
        ({"max_lost_words": -1}, r"max_lost_words \(-1\) must be 0 to 100000"),
        ({"unchanged": 1}, r"unchanged \(1\) must be of type str"),
        ({"scope": "site"}, r"scope \('site'\) must be one of spider, host, domain, global"),
    ],
)
def test_bad_values_name_value_and_rule(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DedupConfig(**options)


def test_both_ends_of_a_range_are_allowed() -> None:
    for distance, words in ((0, 0), (12, 100_000)):
        DedupConfig(max_distance=distance, max_lost_words=words)
