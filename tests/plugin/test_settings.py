from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from dedup import DedupConfig, Page
from dedup.errors import ConfigError
from dedup.plugin.marking import known_item_classes
from dedup.plugin.settings import PluginSettings, read_settings, setting_names
from tests.crawling import ROOT


def test_nothing_set_gives_the_defaults() -> None:
    assert read_settings(Settings()) == PluginSettings(config=DedupConfig())


def test_a_project_known_by_the_environment_alone_has_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "settings")
    assert read_settings(Settings()).index_path == ".scrapy/dedup.db"


def test_values_from_the_command_line_are_text() -> None:
    texts = {"DEDUP_MAX_DISTANCE": "3", "DEDUP_MIN_SIMILARITY": ".8", "DEDUP_VERIFY": "False"}
    found = read_settings(Settings({**texts, "DEDUP_TEXT_FIELDS": "title,text"}))
    assert found.config == DedupConfig(max_distance=3, min_similarity=0.8, verify=False)
    assert found.text_fields == ("title", "text")
    assert read_settings(Settings({"DEDUP_TEXT_FIELDS": "title, text"})).text_fields == ("title", "text")


@pytest.mark.parametrize("value", [Page.from_text, "dedup.plugin.pages.page_from_response"])
def test_a_function_is_given_itself_or_by_its_path(value: object) -> None:
    found = read_settings(Settings({"DEDUP_PAGE_FROM_ITEM": value}))
    assert callable(found.page_from_item)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "DEDUP_MAXDISTANCE",
            3,
            "DEDUP_MAXDISTANCE is no setting of dedup; did you mean DEDUP_MAX_DISTANCE?",
        ),
        ("DEDUP_QQQQQQQQQQQ", 3, "DEDUP_QQQQQQQQQQQ is no setting of dedup; known are DEDUP_"),
        ("DEDUP_MAX_DISTANCE", 2.5, r"DEDUP_MAX_DISTANCE \(2.5\) must be a whole number"),
        ("DEDUP_MAX_DISTANCE", "x", r"DEDUP_MAX_DISTANCE \('x'\) must be of type int"),
        ("DEDUP_MIN_SIMILARITY", 2, r"DEDUP_MIN_SIMILARITY \(2.0\) must be 0 to 1"),
        ("DEDUP_WAIT", -1, r"DEDUP_WAIT \(-1.0\) must be 0 seconds or more"),
        ("DEDUP_ACTION", "keep", r"DEDUP_ACTION \('keep'\) must be one of drop, mark"),
        ("DEDUP_SKIP", "all", r"DEDUP_SKIP \('all'\) must be one of nothing, links, callback"),
        ("DEDUP_MIN_DEPTH", -1, r"DEDUP_MIN_DEPTH \(-1\) must be 0 or more"),
        ("DEDUP_EXPLORATION_SHARE", 2, r"DEDUP_EXPLORATION_SHARE \(2.0\) must be 0 to 1"),
        ("DEDUP_CLUSTER_SHARE", "nan", r"DEDUP_CLUSTER_SHARE \(nan\) must be 0 to 1"),
        ("DEDUP_MARK_PREFIX", "", r"DEDUP_MARK_PREFIX \(''\) must be the beginning of a name"),
        ("DEDUP_CANONICAL_LINK", "x", r"DEDUP_CANONICAL_LINK \('x'\) must be one of record, decide"),
        ("DEDUP_PAGE_FROM_ITEM", "no.such.thing", r"DEDUP_PAGE_FROM_ITEM \('no.such.thing'\) must be a"),
        ("DEDUP_PAGE_FROM_ITEM", "math.pi", r"DEDUP_PAGE_FROM_ITEM \('math.pi'\) must be a function"),
        ("DEDUP_INDEX", "", r"DEDUP_INDEX \(''\) must be the path of a file"),
    ],
)
def test_bad_settings_name_setting_value_and_rule(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        read_settings(Settings({name: value}))


_TYPES: dict[str, Any] = {
    "text": str,
    "name or path": str,
    "path": str,
    "list": tuple,
    "bool": bool,
    "number": (int, float),
    "bits": int,
    "seconds": float,
    "share": float,
    "function or its path": type(None),
}


def documented_settings() -> list[tuple[str, str, str, str]]:
    """Name, type, default and example of every setting in the table of settings."""
    row = re.compile(
        r"^\| `(DEDUP_\w+)` \| ([\w ]+), `([^`]*)` \| [^|]+ \| `([^`]+)` \| [^|]+ \|$", re.MULTILINE
    )
    return row.findall((ROOT / "docs/reference/settings.md").read_text("utf-8"))


def test_the_reference_lists_every_setting_with_its_default() -> None:
    table = {name: default for name, _, default, _ in documented_settings()}
    assert table == {name: repr(default) for name, default in setting_names().items()}


@pytest.mark.parametrize(("name", "kind", "default", "example"), documented_settings())
def test_the_reference_gives_types_and_examples_that_work(
    name: str, kind: str, default: str, example: str
) -> None:
    assert isinstance(ast.literal_eval(default), _TYPES[kind])
    value = ast.literal_eval(example)
    assert repr(value) != default
    if kind != "function or its path" and not example.endswith('.txt"'):
        read_settings(Settings({name: value}))


def test_what_is_no_class_of_items_is_named() -> None:
    settings = Settings({"DEDUP_ITEM_CLASSES": ["no.such.module"]})
    with pytest.raises(
        ConfigError, match=r"DEDUP_ITEM_CLASSES, with those of FEEDS, .* must be classes"
    ):
        known_item_classes(read_settings(settings), settings)
