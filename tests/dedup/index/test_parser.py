"""The HTML parser that read an index's pages is known, and another one is told of once."""

from __future__ import annotations

import logging

import pytest

from dedup import Detector
from dedup.index import Index
from dedup.reading.page import PARSER


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_another_parser_is_one_warning(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    index.note_parser("libxml2 2.9.1")
    assert warnings(caplog) == []
    Detector(index).close()
    (said,) = warnings(caplog)
    assert f"parsed with libxml2 2.9.1, now it is {PARSER}" in said
    Detector(index).close()
    assert warnings(caplog) == []
