from __future__ import annotations

import re

import pytest
from scrapy.settings import Settings

from dedup import DedupConfig
from dedup.errors import ConfigError
from dedup.plugin.settings import PluginSettings, read_settings, setting_names
from tests.crawling import ROOT


def test_nothing_set_gives_the_defaults() -> None:
    assert read_settings(Settings()) == PluginSettings(config=DedupConfig())


def test_values_from_the_command_line_are_text() -> None:
    texts = {"DEDUP_MAX_DISTANCE": "3", "DEDUP_MIN_SIMILARITY": ".8", "DEDUP_VERIFY": "False"}
    found = read_settings(Settings({**texts, "DEDUP_TEXT_FIELDS": "title,text"}))
    assert found.config == DedupConfig(max_distance=3, min_similarity=0.8, verify=False)
    assert found.text_fields == ("title", "text")


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
        ("DEDUP_INDEX", "", r"DEDUP_INDEX \(''\) must be the path of a file"),
    ],
)
def test_bad_settings_name_setting_value_and_rule(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        read_settings(Settings({name: value}))


def test_the_readme_lists_every_setting_with_its_default() -> None:
    table = re.findall(
        r"^\| `(DEDUP_\w+)` \| `([^`]*)` \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert dict(table) == {name: repr(default) for name, default in setting_names().items()}
