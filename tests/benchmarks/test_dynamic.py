"""The truth, the counts and a replay of web programs, on made pages; no program runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dynamic.__main__ import RULES, main
from benchmarks.dynamic.programs import PROGRAMS
from benchmarks.dynamic.replay import ENDING, load, ours, save, words_nowhere, words_only_in
from benchmarks.dynamic.texts import sections
from benchmarks.dynamic.truth import Content, Crawled, counts_of, keys_of, words_in
from tests.pages import text

CONTENT = Content("h1, article", ".answer", ".views")


def page_of(number: int, views: int = 0, answers: int = 0) -> str:
    said = "".join(f"<p class='answer'>{text(100 * number + one, 8)}</p>" for one in range(answers))
    return (
        f"<html><head><title>Blog</title></head><body><p>{views} queries</p><h1>Post {number}</h1>"
        f"<article>{text(number, 150)}<b class='views'>{views}</b></article>{said}</body></html>"
    )


def crawled(url: str, html: str, content: Content = CONTENT) -> Crawled:
    return Crawled(url, html, *keys_of(html, content))


def test_what_is_said_around_a_content_does_not_change_its_key() -> None:
    assert keys_of(page_of(1, views=1), CONTENT) == keys_of(page_of(1, views=2), CONTENT)
    assert keys_of(page_of(1), CONTENT) != keys_of(page_of(2), CONTENT)
    assert keys_of("", CONTENT) == keys_of("<ul><li>A list</ul>", CONTENT) == ("", frozenset())


def test_a_page_without_the_answers_is_a_copy_of_the_one_with_them_and_not_the_other_way() -> None:
    whole, bare = crawled("a", page_of(1, answers=2)), crawled("b", page_of(1))
    assert whole.holds(bare)
    assert not bare.holds(whole)
    assert counts_of([whole, bare], []).copies == 1
    assert counts_of([bare, whole], []).copies == 0


def test_a_copy_dropped_loses_nothing_and_the_last_page_of_a_content_does() -> None:
    pages = [crawled(str(number), page_of(number % 2)) for number in range(4)]
    counts = counts_of(pages, [2, 3])
    assert (counts.copies, counts.kept, counts.lost, counts.drops) == (2, (), (), 2)
    counts = counts_of(pages, [0, 2])
    assert (counts.kept, counts.lost) == ((3,), (0,))
    assert (counts.share, counts.lost_share) == (0.5, 0.5)


def test_pages_that_are_not_judged_count_nowhere() -> None:
    pages = [Crawled(str(number), "<p>A list</p>") for number in range(3)]
    counts = counts_of(pages, [1, 2])
    assert (counts.pages, counts.judged, counts.copies, counts.drops, counts.lost) == (3, 0, 0, 0, ())


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_keeping_everything_loses_nothing_and_dropping_everything_loses_each_content(
    asked: list[tuple[int, bool]],
) -> None:
    pages = [
        Crawled(str(n), "", f"k{key}", frozenset("a" * more)) for n, (key, more) in enumerate(asked)
    ]
    assert counts_of(pages, []).lost == ()
    counts = counts_of(pages, range(len(pages)))
    assert counts.kept == ()
    assert len({(pages[one].key, pages[one].parts) for one in counts.lost}) == len(counts.lost)
    assert len(counts.lost) == len({(page.key, page.parts) for page in pages})


def test_a_crawl_comes_back_from_its_file(tmp_path: Path) -> None:
    pages = [crawled("http://a.example/1", page_of(1, answers=2)), Crawled("http://a.example/", "清單")]
    save(tmp_path / f"blog{ENDING}", pages)
    assert load(tmp_path / f"blog{ENDING}") == pages


def test_a_rule_names_the_page_that_it_drops_one_for() -> None:
    pages = [crawled(f"http://a.example/{n}", page_of(n % 3)) for n in range(6)]
    assert ours(pages) == {3: 0, 4: 1, 5: 2}
    for drops in RULES.values():
        assert {3, 4, 5} <= set(drops(pages))


def test_the_command_prints_a_row_for_each_rule_and_lists_what_is_lost_and_kept(tmp_path: Path) -> None:
    pages = [crawled(f"http://a.example/{n}", page_of(n % 3, views=n)) for n in range(6)]
    pages.append(crawled("http://a.example/other", page_of(0).replace("Post 0", "Post 0 again")))
    # Somebody calls the whole page one content: a copy that no rule finds.
    pages.append(Crawled("http://a.example/kept", page_of(9), pages[0].key))
    save(tmp_path / f"blog{ENDING}", pages)
    done = CliRunner().invoke(main, ["--replay", str(tmp_path), "--list"], catch_exceptions=False)
    assert done.exit_code == 0
    for rule in RULES:
        assert rule in done.output
    assert "kept http://a.example/kept\n  like http://a.example/0: " in done.output


def test_words_that_only_one_page_has_are_counted_as_often_as_they_stand_there() -> None:
    assert words_only_in(Crawled("", "<p>a b a c"), Crawled("", "<p>a b")) == ["a", "c"]
    assert words_only_in(Crawled("", "<p>a b"), None) == ["a", "b"]


def test_words_are_nowhere_if_no_page_kept_has_them_in_a_run_of_four() -> None:
    texts = ("a b c d e 7 x y", "a b c d e", "y x")
    pages = [Crawled(str(number), f"<p>{said}") for number, said in enumerate(texts)]
    assert words_nowhere(pages, {0}, [0]) == {0: ["x", "y"]}
    assert words_nowhere(pages, {0, 1}, [1]) == {1: ["a", "b", "c", "d", "e"]}
    assert words_nowhere(pages, {0}, []) == {}


def test_a_manual_is_cut_at_its_headings_and_short_sections_are_left_out() -> None:
    long = " ".join(["word"] * 80)
    page = f"<h1>1. One¶</h1><p>{long}</p><h2>Short</h2><p>few</p><h2>Two</h2><p>{long}</p><p>{long}</p>"
    assert [(one.title, len(one.paragraphs)) for one in sections(page, "en")] == [("One", 1), ("Two", 2)]
    assert words_in("Ab 中文, c3") == ["ab", "中", "文", "c3"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_selectors_of_a_program_can_be_read(name: str) -> None:
    assert keys_of("<p>A list</p>", PROGRAMS[name].content) == ("", frozenset())
    assert PROGRAMS[name].kind
