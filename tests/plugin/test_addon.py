import ast
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from dedup import DedupConfig
from dedup.model.errors import ConfigError
from dedup.plugin.addon import index_path, read_settings
from dedup.settings import setting_names
from tests.support.crawling import ROOT


def test_a_project_that_is_named_has_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "settings")
    assert index_path(read_settings(Settings())) == ".scrapy/dedup.db"


def test_values_from_the_command_line_are_text() -> None:
    texts = {"DEDUP_MAX_LOST_WORDS": "100000", "DEDUP_MAX_DISTANCE": "12", "DEDUP_STORE_PAGES": "False"}
    found = read_settings(Settings({**texts, "DEDUP_TEXT_FIELDS": "title,text"}))
    assert found.config == DedupConfig(max_lost_words=100_000, max_distance=12)
    assert found.text_fields == ("title", "text")
    assert read_settings(Settings({"DEDUP_TEXT_FIELDS": "title, text"})).text_fields == ("title", "text")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DEDUP_QQQQQQQQQQQ", 3, "DEDUP_QQQQQQQQQQQ is not a setting of dedup; known are DEDUP_"),
        ("DEDUP_MAX_LOST_WORDS", 2.5, r"DEDUP_MAX_LOST_WORDS \(2.5\) must be a whole number"),
        ("DEDUP_MAX_LOST_WORDS", "x", r"DEDUP_MAX_LOST_WORDS \('x'\) must be of type int"),
        ("DEDUP_MAX_DISTANCE", 13, r"DEDUP_MAX_DISTANCE \(13\) must be 0 to 12"),
        ("DEDUP_ACTION", "keep", r"DEDUP_ACTION \('keep'\) must be one of drop, skip, mark, report"),
        ("DEDUP_KEY_FIELDS", {"a": 1}, r"DEDUP_KEY_FIELDS \({'a': 1}\) must be of type list"),
        ("DEDUP_KEY_FIELDS", '{"a": 1}', "DEDUP_KEY_FIELDS .* must be of type list"),
        ("DEDUP_IGNORE", "a[", "DEDUP_IGNORE"),
        ("DEDUP_IGNORE", "p::text", "DEDUP_IGNORE"),
        ("DEDUP_INDEX", "", r"DEDUP_INDEX \(''\) must be the path of a file"),
    ],
)
def test_bad_settings_name_setting_value_and_rule(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        read_settings(Settings({name: value}))


def test_a_name_with_a_letter_too_few_is_refused_and_one_proposed() -> None:
    rests = (name.removeprefix("DEDUP_") for name in setting_names())
    wrong = [f"DEDUP_{it[:n]}{it[n + 1 :]}" for it in rests if len(it) > 4 for n in range(len(it))]
    for name in wrong:
        with pytest.raises(ConfigError, match=f"^{name} is not a setting of dedup; did you mean DEDUP_"):
            read_settings(Settings({name: 1}))


def test_settings_of_others_are_left_alone() -> None:
    others = "DEDUPE_REDIS_URL DEDUPE_ENABLED DEDUPLICATION dedup_of_ours DEDUPE DUPEFILTER".split()
    assert read_settings(Settings(dict.fromkeys(others, 1))) == read_settings(Settings())


TYPES: Any = {"text": str, "path": str, "list": tuple, "bool": bool, "number": (int, float), "bits": int}
REFERENCE = ROOT / "docs/reference"


def documented_settings() -> list[tuple[str, str, str, str]]:
    """Name, type, default and example of every setting in the table of settings."""
    row = r"^\| `(DEDUP_\w+)` \| ([\w ]+), `([^`]*)` \| [^|]+ \| `([^`]+)` \| [^|]+ \|$"
    return re.findall(row, (REFERENCE / "settings.md").read_text("utf-8"), re.MULTILINE)


def test_the_reference_lists_every_setting_with_its_default() -> None:
    table = {name: default for name, _, default, _ in documented_settings()}
    assert table == {name: repr(default) for name, default in setting_names().items()}


@pytest.mark.parametrize(("name", "kind", "default", "example"), documented_settings())
def test_types_and_examples_of_it_work(name: str, kind: str, default: str, example: str) -> None:
    assert isinstance(ast.literal_eval(default), TYPES[kind])
    value = ast.literal_eval(example)
    assert repr(value) != default
    if not example.endswith('.txt"'):
        read_settings(Settings({name: value}))
