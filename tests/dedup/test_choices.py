"""Functions of the user's own, by their dotted path, wherever a name of ours may stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from dedup import DedupConfig, Page, fingerprint, simhash
from dedup.recipes.fingerprinter import recipe_of, require_recipe
from dedup.values.errors import ConfigError

HERE = __name__
PAGE = Page.from_html("<h1>one two</h1><p>two three three")


def my_terms(text: str) -> list[str]:
    return text.split()


def my_weights(terms: list[str]) -> dict[str, float]:
    return {term: 0.001 * len(term) for term in terms}


def my_structure(page: Page) -> dict[str, float]:
    return dict.fromkeys(page.tags, 1.5)


def my_hasher(feature: str) -> int:
    return crc32(feature.encode()) << 32 | crc32(feature[::-1].encode())


def bad(_: Any) -> Any:
    return -1


def odd_terms(_: str) -> Any:
    return ["one", 2]


def odd_weights(terms: list[str]) -> Any:
    return dict.fromkeys(terms, "heavy")


def infinite_weights(terms: list[str]) -> dict[str, float]:
    return dict.fromkeys(terms, float("inf"))


def test_own_functions_are_used_everywhere() -> None:
    config = DedupConfig(
        terms=f"{HERE}.my_terms",
        weights=f"{HERE}.my_weights",
        structure=f"{HERE}.my_structure",
        hasher=f"{HERE}.my_hasher",
    )
    found = fingerprint(PAGE, config)
    assert found.content_simhash == simhash(my_weights(my_terms(PAGE.text)), hasher=my_hasher)
    assert found.structure_simhash == simhash(my_structure(PAGE), hasher=my_hasher)
    assert recipe_of(config)["terms"] == f"{HERE}.my_terms"


@pytest.mark.parametrize("field", ["terms", "weights", "structure", "hasher"])
def test_what_is_no_function_is_refused(field: str) -> None:
    for value, message in [
        ("none_of_ours", r"\('none_of_ours'\) must be one of .*, or the path of a function"),
        ("no.such.module", r"\('no.such.module'\) must be the path of a function: No module"),
        (f"{HERE}.missing", "has none of that name"),
        (f"{HERE}.HERE", "must be the path of a function"),
        ("..", "must be the path of a function"),
    ]:
        with pytest.raises(ConfigError, match=f"^{field} .*{message}"):
            require_recipe(DedupConfig(**{field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["terms", "weights", "structure", "hasher"])
def test_a_function_that_returns_nonsense_is_named(field: str) -> None:
    config = DedupConfig(**{field: f"{HERE}.bad"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=rf"^{field} \(.*bad.*\) must return"):
        fingerprint(PAGE, config)


def test_a_hasher_of_your_own_takes_no_seed() -> None:
    with pytest.raises(ConfigError, match=r"hash_seed \(3\) must be 0"):
        DedupConfig(hasher=f"{HERE}.my_hasher", hash_seed=3)


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    for name, content in (("a", "the\n"), ("b", "the\n"), ("c", "a\n")):
        (tmp_path / name).write_text(content)
    a, b, c = (recipe_of(DedupConfig(stop_words=str(tmp_path / name))) for name in "abc")
    assert a == b != c
    assert str(tmp_path) not in str(a)


@pytest.mark.parametrize("field", ["user_dictionary", "stop_words"])
def test_a_file_that_is_missing_is_named(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{field} \('/no/such'\) must be a file that can be read"):
        require_recipe(DedupConfig(**{field: "/no/such"}))  # type: ignore[arg-type]


def test_words_of_the_user_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("灯塔路博物馆 100 n\n", "utf-8")
    from dedup.recipes.terms import tokens_of

    text = "克林顿灯塔路博物馆"
    assert "灯塔路博物馆" not in tokens_of(text, DedupConfig())
    assert "灯塔路博物馆" in tokens_of(text, DedupConfig(user_dictionary=str(path)))


def test_stop_words_weigh_nothing_but_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("Two\n")
    found = fingerprint(PAGE, DedupConfig(stop_words=str(path)))
    assert (found.tokens, found.sketch) == (5, fingerprint(PAGE).sketch)
    assert found.content_simhash == fingerprint(Page.from_text("one three three")).content_simhash


@pytest.mark.parametrize(
    ("field", "name", "message"),
    [
        ("terms", "odd_terms", "must return a list of texts"),
        ("weights", "odd_weights", "must return a map of texts to finite numbers"),
        ("weights", "infinite_weights", "must return a map of texts to finite numbers"),
    ],
)
def test_what_returns_odd_things_is_refused(field: str, name: str, message: str) -> None:
    config = DedupConfig(**{field: f"{HERE}.{name}"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        fingerprint(PAGE, config)
