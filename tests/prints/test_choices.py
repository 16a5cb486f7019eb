"""The dictionary of the user's own, the one choice that makes other fingerprints."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup import DedupConfig
from dedup.model.errors import ConfigError
from dedup.prints.fingerprinter import fingerprinter_of, recipe_of, tokens_of


def test_a_dictionary_is_known_by_its_content(tmp_path: Path) -> None:
    for name, content in (("a", "灯塔路 9 n\n"), ("b", "灯塔路 9 n\n"), ("c", "博物馆 9 n\n")):
        (tmp_path / name).write_text(content, "utf-8")
    a, b, c = (recipe_of(DedupConfig(user_dictionary=str(tmp_path / name))) for name in "abc")
    assert a == b != c != recipe_of(DedupConfig())
    assert str(tmp_path) not in str(a)


def test_one_that_is_missing_is_named_when_it_is_used() -> None:
    config = DedupConfig(user_dictionary="/no/such")
    for use in (fingerprinter_of, recipe_of):
        with pytest.raises(
            ConfigError, match=r"^user_dictionary \('/no/such'\) must be a file that can be"
        ):
            use(config)


def test_words_of_the_user_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("灯塔路博物馆 100 n\n", "utf-8")
    text = "克林顿灯塔路博物馆"
    assert "灯塔路博物馆" not in tokens_of(text, DedupConfig())
    assert "灯塔路博物馆" in tokens_of(text, DedupConfig(user_dictionary=str(path)))
