"""The peer in another environment, with a stand-in for its library."""

from __future__ import annotations

import sys
import venv
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from benchmarks.accuracy.structural_peer import PeerError, environment, structural_answers

STAND_IN = """
import difflib

def structural_similarity(a, b):
    if "refuse" in a:
        raise ValueError("refused")
    if a.startswith("<?xml"):
        print("text that declares an encoding")
        return 0
    matcher = difflib.SequenceMatcher()
    matcher.set_seqs(a, b)
    return matcher.ratio()
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "html_similarity.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_answers_come_in_order_with_errors_beside_scores(stand_in: Path) -> None:
    tea, cup = written(stand_in, "tea", "teapot"), written(stand_in, "cup", "teacup")
    refused = written(stand_in, "refused", "refuse me")
    declared = written(stand_in, "declared", '<?xml version="1.0" encoding="utf-8"?>teapot')
    heard: list[int] = []
    pairs = [(tea, cup), (refused, tea), (declared, tea)]
    answers = structural_answers(Path(sys.executable), pairs, lambda: heard.append(1))
    assert [answer.error for answer in answers] == ["", "ValueError('refused')", ""]
    assert answers[0].score == pytest.approx(SequenceMatcher(None, "teapot", "teacup").ratio())
    assert answers[2].score == 1
    assert len(heard) == 3


def test_frequent_tags_are_no_junk(stand_in: Path) -> None:
    one, two = written(stand_in, "one", "ab" * 300), written(stand_in, "two", "x" + "ab" * 300)
    assert SequenceMatcher(None, "ab" * 300, "x" + "ab" * 300).ratio() < 0.1
    assert structural_answers(Path(sys.executable), [(one, two)], lambda: None)[0].score > 0.99


def test_a_worker_that_dies_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "html_similarity.py").write_text("raise ImportError('broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    page = written(tmp_path, "page", "tea")
    with pytest.raises(PeerError, match="0 of 500 pairs"):
        structural_answers(Path(sys.executable), [(page, page)] * 500, lambda: None)


def test_an_environment_that_cannot_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(venv, "create", fail)
    with pytest.raises(PeerError, match="no space left"):
        environment(tmp_path)
