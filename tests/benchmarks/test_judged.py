"""Words lost, counts, the choice of rules and orders on tiny sites, and the whole command on one."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import peers
from benchmarks.accuracy.structural_peer import PeerError
from benchmarks.judged import __main__ as command
from benchmarks.judged import peers as judged_peers
from benchmarks.judged.counting import (
    Drop,
    Figures,
    Outcome,
    chosen,
    elsewhere,
    figures,
    left_out,
    total,
)
from benchmarks.judged.labels import Label, labels_in
from benchmarks.judged.peers import lost_by_peers, lost_table, repeats_a_band, repeats_a_simhash
from benchmarks.judged.rules import DEFAULT, GRID, RULES, configs
from benchmarks.judged.running import outcome_of
from benchmarks.judged.sites import ADD, LINKS, link_order, read_site, target_of
from benchmarks.judged.words import SHINGLE, Words, covered_tokens, excerpt, shingles_of
from benchmarks.peer_contenders import OURS
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


@given(st.lists(st.booleans(), max_size=30))
def test_a_token_is_covered_by_any_run_that_it_is_in(known: list[bool]) -> None:
    tokens = len(known) + SHINGLE - 1
    expected = [any(known[max(0, place - SHINGLE + 1) : place + 1]) for place in range(tokens)]
    assert covered_tokens(np.array(known, bool), tokens).tolist() == expected


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


def test_lost_words_side_by_side_are_one_run() -> None:
    words = words_of("a b c d X Y e f g h Z", "a b c d", "e f g h")
    lost = words.lost(0, words.on([1, 2]))
    assert lost == [["X", "Y"], ["Z"]]
    assert excerpt(lost) == "X Y … Z"
    assert words.lost(0, words.on([0])) == []


def test_a_page_shorter_than_a_run_is_all_lost() -> None:
    words = words_of("a b c", "a b c", "")
    assert words.lost(0, words.on([1])) == [["a", "b", "c"]]
    assert words.lost(2, words.on([0])) == []


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


def test_a_pair_is_dropped_in_either_direction() -> None:
    found = figures(Outcome("tea", (drop("c0", "c1"),)), LABELS)
    assert (found.by_page["C"], found.by_pair["C"], found.wrong) == (1, 1, 1)


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


def test_a_page_dropped_for_another_one_than_that_of_the_label_is_told() -> None:
    moved = drop("a1", "x")
    assert elsewhere(LABELS[0], {"a1": moved}) is moved
    assert elsewhere(LABELS[0], {"a1": drop("a1", "a0")}) is None
    assert elsewhere(LABELS[0], {}) is None


def done(right: int = 0, wrong: int = 0, heavy: int = 0) -> Figures:
    return Figures(by_page={"A": right, "C": wrong}, of={"A": 10, "C": 20}, heavy=heavy, seconds=1.0)


def test_figures_of_sites_are_added() -> None:
    both = total([done(1, 2, 3), done(4, 5, 6), Figures(by_page={"N": 1}, of={"N": 2})])
    assert both.by_page == {"A": 5, "C": 7, "N": 1}
    assert both.of == {"A": 20, "C": 40, "N": 2}
    assert (both.heavy, both.seconds) == (9, 2.0)


@pytest.mark.parametrize(
    ("rules", "best"),
    [
        ({"few": done(1), "many": done(5)}, "many"),
        ({"few": done(1), "many": done(5, wrong=4)}, "few"),  # over 15 % of 20
        ({"few": done(1), "many": done(5, wrong=3)}, "many"),
        ({"few": done(1), "many": done(5, heavy=11)}, "few"),
        ({"heavy": done(5, heavy=10), "light": done(5, heavy=2)}, "light"),
        ({"first": done(5), "second": done(5)}, "first"),
        ({"wrong": done(5, wrong=9)}, ""),
    ],
)
def test_the_rule_is_chosen_that_drops_most_of_what_is_right(
    rules: Mapping[str, Figures], best: str
) -> None:
    assert chosen(rules) == best


def test_a_rule_is_chosen_without_the_site_that_it_is_shown_on() -> None:
    sites = {
        "tea": {"bold": done(9, wrong=9), "shy": done(1)},
        "cup": {"bold": done(9), "shy": done(2)},
        "pot": {"bold": done(9), "shy": done(3)},
    }
    found = left_out(sites)
    assert {site: rule for site, (rule, _) in found.items()} == {
        "tea": "bold",
        "cup": "shy",
        "pot": "shy",
    }
    assert found["cup"][1] is sites["cup"]["shy"]
    nothing = left_out({site: {"bold": done(9, wrong=9)} for site in ("tea", "cup")})["tea"]
    assert nothing == ("", Figures(of={"A": 10, "C": 20}))


def test_rules_that_this_version_does_not_have_are_named() -> None:
    found, refused = configs({DEFAULT: {}, "newer": {"max_magic": 1}, "too much": {"max_distance": 70}})
    assert found == {DEFAULT: DedupConfig()}
    assert "max_magic" in refused["newer"]
    assert "0 to 12" in refused["too much"]
    assert not configs(RULES)[1] | configs(GRID)[1]


# Orders

LINKED = {
    "about.html": ("index.html",),
    "index.html": ("list/", "#top", "about.html", "missing.html", "http://[bad/"),
    "list/a.html": ("../late.html?x=1",),
    "list/index.html": ("b.html", "/list/a.html", "mailto:me@x.example"),
    "list/b.html": (),
    "late.html_x=1.html": (),
    "alone.html": ("index.html",),
    "late.html": (),
}


def test_pages_are_taken_breadth_first_and_those_without_a_link_last() -> None:
    assert link_order(LINKED) == [
        "index.html",
        "list/index.html",
        "about.html",
        "list/b.html",
        "list/a.html",
        "late.html_x=1.html",
        "alone.html",
        "late.html",
    ]
    assert link_order({}) == []


@pytest.mark.parametrize(
    ("link", "host", "target"),
    [
        ("https://a.example/blog/list/b.html", "a.example", "list/b.html"),
        ("https://b.example/list/b.html", "a.example", ""),
        ("//a.example/index.html", "", ""),
        ("list/b", "", "list/b.html"),
        ("..%2flist/", "", ""),
        ("", "", ""),
    ],
)
def test_a_link_with_a_host_leads_to_the_site_only_if_it_is_its_own(
    link: str, host: str, target: str
) -> None:
    assert target_of("index.html", link, LINKED, host=host) == target


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


def test_copies_of_a_page_that_was_kept_are_not_near(data: Path, tmp_path: Path) -> None:
    site = read_site(tmp_path / "sites" / "cup", DedupConfig())
    (found,) = outcome_of(site, DedupConfig(), site.orders[ADD]).drops
    assert (found.page, found.is_near, found.nowhere) == ("b.html", False, 0)


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


def test_losses_are_listed_with_their_words(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "configs", lambda rules: ({DEFAULT: LOOSE}, {}))
    result = CliRunner().invoke(
        command.main, [str(data), "--no-rules", "--order", "add", "--jobs", "1"], catch_exceptions=False
    )
    assert f"60  tea: c.html for a.html\n          {text(2, 60)[:40]}" in result.output
    assert "order of links" not in result.output


def test_labels_are_read(data: Path) -> None:
    assert labels_in(data / "judged_sites")[1] == Label("tea", "C", "c.html", "a.html")


# Peers


def test_what_is_near_a_simhash_before_it_repeats_it() -> None:
    repeats = repeats_a_simhash()
    assert [repeats(simhash) for simhash in (0, 0b111, 0b1111, 0b1111, 2**63)] == [
        False,
        True,
        False,
        True,
        True,
    ]


def test_an_equal_band_repeats_only_what_was_kept() -> None:
    repeats = repeats_a_band()
    bands = [{(0, "a"), (1, "b")}, {(0, "a"), (1, "c")}, {(0, "x"), (1, "c")}, {(0, "y"), (1, "b")}]
    assert [repeats(one) for one in bands] == [False, True, False, True]


def test_peers_go_through_the_same_sites(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(cache: Path) -> Path:
        raise PeerError("no such version")

    monkeypatch.setattr(judged_peers, "text_dedup_python", refuse)
    monkeypatch.setattr(judged_peers, "CONTENDERS", {OURS: "", "absent": "no_such_module"})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found, failures = lost_by_peers(data, tmp_path, scratch, 1)
    assert list(found) == [OURS]
    assert (found[OURS].by_page["A"], found[OURS].by_page["C"], found[OURS].drops) == (1, 0, 2)
    table = lost_table(found, failures).markdown()
    assert "| scrapy-dedup | 1 | 0 | 0 | 2 | 1 | 0 |" in table
    assert "| absent | does not run: no_such_module is not installed |" in table
    assert "does not run: no such version" in table


def test_the_section_of_a_document_is_replaced() -> None:
    table = lost_table({OURS: done(1, 2, 3)}, {})
    added = peers.with_section("# Peers\n\nabout\n", table)
    assert added == f"# Peers\n\nabout\n\n{table.markdown()}\n"
    assert peers.with_section(added, table) == added
    longer = f"{added}\n## More\n\nrows\n"
    newer = lost_table({OURS: done(4, 5, 6)}, {})
    assert peers.with_section(longer, newer) == longer.replace(table.markdown(), newer.markdown())
