"""Made-up pages: that they are what their truth says, and what is counted of them."""

from __future__ import annotations

from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.records.__main__ import KINDS_OF, cases, main
from benchmarks.records.articles import EDITS, NOISE, SHUFFLED, URLS
from benchmarks.records.kinds import APART, KINDS, records_of
from benchmarks.records.running import PARTS, RULES, Case, Score, score_of, scored
from benchmarks.records.writing import Load, frame
from dedup import Page

ALL = [case for case in cases(10, 3, ["default"]) if case.titled]
IDS = [f"{case.part}-{case.kind}-{case.titled}-{case.words}{case.order}" for case in ALL]


def text_of(load: Load) -> str:
    return Page.from_html(load.html).text


@pytest.mark.parametrize("case", ALL, ids=IDS)
def test_the_same_seed_makes_the_same_pages_at_different_addresses(case: Case) -> None:
    loads = case.loads()
    assert loads == case.loads()
    assert len({load.url for load in loads}) == len(loads) > len({load.truth for load in loads})
    assert all(load.truth in range(case.count) for load in loads)


@pytest.mark.parametrize("kind", [*KINDS, *APART])
def test_no_two_records_say_the_same(kind: str) -> None:
    records = records_of(kind, 300, Random(1))
    assert len({body for _, body in records}) == len(records) == 300


@pytest.mark.parametrize("case", [case for case in ALL if case.part == "records"])
def test_a_copy_of_a_record_says_the_same_but_for_a_header(case: Case) -> None:
    loads = case.loads()
    first = {load.truth: text_of(load) for load in loads if not load.turn}
    assert len(set(first.values())) == len(first) == case.count
    copies = [load for load in loads if load.turn]
    assert len(copies) == 2
    for load in copies:
        text = text_of(load).replace("Print this page\n", "").replace("打印本页\n", "")
        assert text == first[load.truth]


@pytest.mark.parametrize("kind", NOISE)
def test_only_noise_tells_the_loads_of_an_article_apart(kind: str) -> None:
    loads = Case("noise", kind, 6, 1, titled=True, order=SHUFFLED).loads()
    texts = [[text_of(load) for load in loads if load.truth == number] for number in range(6)]
    assert all(len(set(of_article)) == (1 if kind == "none" else len(URLS)) for of_article in texts)
    shared = [set.intersection(*(set(text.split("\n")) for text in of_article)) for of_article in texts]
    for number, lines in enumerate(shared):
        others = {line for other in range(6) if other != number for line in shared[other]}
        assert sum(map(len, lines - others)) > 250


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_is_not_its_original(kind: str) -> None:
    loads = Case("edits", kind, 5, 1, titled=True).loads()
    texts = {(load.truth, load.turn): load.html for load in loads}
    assert all(texts[number, 0] != texts[number, 1] for number in range(5))
    hosts = {load.url.split("/")[2] for load in loads}
    assert len(hosts) == (2 if "elsewhere" in kind else 1)


@pytest.mark.parametrize("titled", [False, True])
def test_a_site_has_one_title_or_one_for_each_article(*, titled: bool) -> None:
    loads = Case("series", "replies", 6, 1, titled=titled).loads()
    assert len({Page.from_html(load.html).title for load in loads}) == (6 if titled else 1)


@pytest.mark.parametrize("chinese", [False, True])
@pytest.mark.parametrize("words", [60, 130])
def test_a_frame_has_about_so_many_words(words: int, *, chinese: bool) -> None:
    of_site = frame(Random(1), words, chinese=chinese)
    text = Page.from_html(of_site.page("")).text
    found = sum("\u3400" < sign < "\u9fff" for sign in text) // 2 if chinese else len(text.split())
    assert words * 0.9 <= found <= words * 1.25


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_each_drop_is_a_copy_or_the_loss_of_a_content(met: list[tuple[int, bool]]) -> None:
    loads = [Load(str(number), "", truth) for number, (truth, _) in enumerate(met)]
    score = scored(loads, [is_kept for _, is_kept in met])
    drops = sum(not is_kept for _, is_kept in met)
    assert score.unique + score.copies == len(met)
    assert score.dropped + score.unique - score.kept == drops == sum(score.turns)
    assert 0 <= score.dropped <= score.copies


def test_a_content_is_kept_at_whatever_address() -> None:
    loads = [Load("a", "", 0), Load("b", "", 0, 1), Load("c", "", 0, 2)]
    assert scored(loads, [False, True, False]) == Score(1, 1, 2, 2, (1, 0, 1))
    assert scored(loads, [True, True, True]) == Score(1, 1, 2, 0, (0, 0, 0))
    assert scored(loads, [False, False, False]) == Score(1, 0, 2, 2, (1, 1, 1))


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_drops_texts_that_are_equal(rule: str) -> None:
    score = score_of(Case("noise", "none", 4, 1, titled=True, order=SHUFFLED, rule=rule))
    assert (score.unique, score.kept, score.dropped) == (4, 4, 8)


def test_the_command_prints_a_table_of_each_part() -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["--pages", "8", "--jobs", "1", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    kinds = [word for part in PARTS for word in ("--kind", KINDS_OF[part][0])]
    output = run(*kinds)
    titles = [line for line in output.splitlines() if line.startswith("## ")]
    assert titles == ["## Records", "## Records with counters", "## Noise", "## Edits", "## Series"]
    assert run(*kinds) == output
    assert "## Records, by SimHash 3" in run("--part", "records", "--kind", "matches", "--peers")
    assert "<title>" in run("--part", "series", "--examples")
    assert CliRunner().invoke(main, ["--kind", "no such"]).exit_code == 2
