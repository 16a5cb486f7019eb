"""The benchmark of rules for URLs."""

from __future__ import annotations

from benchmarks.rules.__main__ import Crawled, lost

HOST = "http://a.example"


def test_lost_is_what_was_not_asked_for_and_stands_nowhere_else() -> None:
    texts = {f"{HOST}/{name}": name.encode() for name in ("a", "aged", "gone", "moved")}
    truth = Crawled(4, texts, frozenset(texts.values()), 0.0)
    shown = {f"{HOST}/a": b"a", f"{HOST}/aged": b"3 minutes old", f"{HOST}/other": b"moved"}
    run = Crawled(3, shown, frozenset(shown.values()), 0.0)
    assert lost(truth, run) == 1
