"""Words lost, counts, the choice of rules and orders on tiny sites, and the whole command on one."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.judged import __main__ as command
from benchmarks.judged.counting import (
    Drop,
    Outcome,
    figures,
)
from benchmarks.judged.labels import Label
from benchmarks.judged.rules import DEFAULT
from benchmarks.judged.running import outcome_of
from benchmarks.judged.sites import ADD, LINKS, read_site
from benchmarks.judged.words import SHINGLE, Words, shingles_of
from dedup import DedupConfig
from dedup.rule import loss
from tests.pages import edited, text


@pytest.fixture(autouse=True)
def nothing_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `LOOSE` drop whatever is similar."""
    monkeypatch.setattr(loss, "MOST_SHARE", 1.0)
    monkeypatch.setattr(loss, "_new_pairs", lambda *_: 0)


LOOSE = DedupConfig(max_lost_words=1000)


def words_of(*pages: str) -> Words:
    return Words.of(pages, [shingles_of(page.split()) for page in pages])


# Words lost


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12), min_size=1, max_size=4))
def test_lost_words_are_in_no_run_of_the_other_pages(pages: list[list[str]]) -> None:
    def runs(tokens: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(tokens[start : start + SHINGLE]) for start in range(len(tokens) - SHINGLE + 1)]

    words = words_of(*(" ".join(page) for page in pages))
    first, *others = pages
    elsewhere = {run for page in others for run in runs(page)}
    kept = [
        place
        for place in range(len(first))
        if not any(
            start <= place < start + SHINGLE and run in elsewhere
            for start, run in enumerate(runs(first))
        )
    ]
    lost = words.lost(0, words.on(range(1, len(pages))))
    assert [token for run in lost for token in run] == [first[place] for place in kept]


# What is counted


def drop(page: str, other: str, *, nowhere: int = 0, beside: int = 0, is_near: bool = True) -> Drop:
    return Drop(page, other, is_near, nowhere, beside, "")


LABELS = [
    Label("tea", "A", "a1", "a0"),
    Label("tea", "A", "a2", "a0"),
    Label("tea", "C", "c1", "c0"),
    Label("tea", "C", "c2", "c0"),
    Label("tea", "C", "c3", "c0"),
    Label("tea", "N", "n1", "n0"),
]


def test_drops_are_counted_by_page_and_by_pair() -> None:
    found = figures(
        Outcome(
            "tea",
            (
                drop("a1", "a0"),
                drop("a2", "x"),
                drop("c1", "c0", nowhere=16),
                drop("n1", "x", nowhere=15),
                drop("y", "x", is_near=False),
            ),
            2.0,
        ),
        LABELS,
    )
    assert found.by_page == {"A": 2, "C": 1, "N": 1}
    assert found.by_pair == {"A": 1, "C": 1, "N": 0}
    assert found.of == {"A": 2, "C": 3, "N": 1}
    assert (found.drops, found.near, found.nowhere, found.heavy) == (5, 4, 31, 1)


@pytest.mark.parametrize(
    ("dropped", "wrong"),
    [
        (drop("c1", "c0", beside=3), 1),  # a reader said so
        (drop("c1", "x", beside=15), 0),
        (drop("c1", "x", beside=16), 1),
        (drop("a1", "a0", beside=99), 0),  # a reader said so
        (drop("a1", "x", beside=16), 1),
        (drop("n1", "x", beside=16), 0),  # a pair that was kept is no drop that was read
    ],
)
def test_a_drop_for_another_page_is_wrong_by_what_it_loses(dropped: Drop, wrong: int) -> None:
    assert figures(Outcome("tea", (dropped,)), LABELS).wrong == wrong


# Whole sites


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sites: a page, a copy with one other word, a copy with a text of its own; two other pages."""
    long = text(1, 400)
    for name, content in {
        "tea/a.html": f"<a href='c.html'>all</a> {long}",
        "tea/b.html": f"<a href='c.html'>all</a> {edited(1, 1, 400)}",
        "tea/c.html": f"<a href='c.html'>all</a> {long} {text(2, 60)}",
        "tea/index.html": f"<a href='c.html'>{text(3)}</a>",
        "cup/a.html": text(4),
        "cup/b.html": text(4),
    }.items():
        file = tmp_path / "sites" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<html><body><p>{content}</p></body></html>")
    folder = tmp_path / "data" / "judged_sites"
    folder.mkdir(parents=True)
    (folder / "pairs.csv").write_text(
        "site,kind,label,page,other\ntea,drop,A,b.html,a.html\ntea,drop,C,c.html,a.html\n"
        "tea,kept,N,index.html,a.html\n"
    )
    with tarfile.open(folder / "html.tar.xz", "w:xz") as archive:
        for site in ("tea", "cup"):
            archive.add(tmp_path / "sites" / site, site)
    return tmp_path / "data"


def test_a_site_is_judged_in_two_orders(data: Path, tmp_path: Path) -> None:
    site = read_site(tmp_path / "sites" / "tea", DedupConfig())
    assert site.paths == ("a.html", "b.html", "c.html", "index.html")
    assert list(site.orders[LINKS]) == [3, 2, 0, 1]
    similar = LOOSE
    by_name = outcome_of(site, similar, site.orders[ADD])
    assert [(one.page, one.other, one.is_near) for one in by_name.drops] == [
        ("b.html", "a.html", True),
        ("c.html", "a.html", True),
    ]
    assert [(one.nowhere, one.beside) for one in by_name.drops] == [(1, 1), (60, 60)]
    by_link = outcome_of(site, similar, site.orders[LINKS])
    assert [(one.page, one.other) for one in by_link.drops] == [
        ("a.html", "c.html"),
        ("b.html", "c.html"),
    ]
    assert [one.page for one in outcome_of(site, DedupConfig(), site.orders[ADD]).drops] == ["b.html"]


def test_the_command_writes_tables_and_no_text(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "judged.md"
    rules = {
        DEFAULT: {},
        "similar": {"max_lost_words": 1000},
        "newer": {"max_magic": 1},
    }
    monkeypatch.setattr(command, "RULES", rules)
    monkeypatch.setattr(command, "GRID", {"similar": {"max_lost_words": 1000}, "loss": {}})
    result = CliRunner().invoke(
        command.main, [str(data), "--write", str(document), "--jobs", "1"], catch_exceptions=False
    )
    assert result.exit_code == 0
    written = document.read_text()
    assert "| tea | 1 / 1 / 1 |  | 0 / 0 / 1 |  |  | 0 / 0 / 1 | 0 | 1 | 1 | 1 | 0 |" in written
    assert "| similar | 1 / 1 / 1 |  | 1 / 1 / 1 |  |  | 0 / 0 / 1 | 1 | 3 | 2 | 61 | 1 |" in written
    assert "| newer | " in written
    assert "| cup | loss |" in written
    assert "pages in the order of links" in written
    assert "word" in result.output
    assert not any(word in written for word in text(2, 60).split())
