"""The reference is complete."""

from __future__ import annotations

import re

import dedup
from dedup import plugin
from tests.crawling import ROOT

REFERENCE = ROOT / "docs/reference"


def test_every_verdict_is_described() -> None:
    table = (REFERENCE / "stats.md").read_text("utf-8").split("| verdict |")[1]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert named == [reason.value for reason in dedup.Reason]


def test_every_public_name_is_in_the_python_reference() -> None:
    named = re.findall(r":: (dedup\.\w+)$", (REFERENCE / "python.md").read_text("utf-8"), re.MULTILINE)
    assert {f"dedup.{name}" for name in dedup.__all__} <= set(named)
    assert all(hasattr(dedup, name) for name in dedup.__all__)


def test_so_is_every_public_name_of_the_plugin() -> None:
    text = (REFERENCE / "python.md").read_text("utf-8")
    named = re.findall(r":: dedup\.plugin\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(plugin.__all__)
