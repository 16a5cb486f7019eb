"""What copies lose alone, counted on tiny sites and on made pages of web programs; no program runs."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dynamic.__main__ import RULES
from benchmarks.dynamic.__main__ import main as dynamic
from benchmarks.dynamic.replay import ENDING, save
from benchmarks.dynamic.truth import Content, Crawled, counts_of, keys_of
from benchmarks.judged.__main__ import main as judged
from benchmarks.judged.words import SHINGLE, Words, shingles_of
from tests.support.pages import edited, text

CONTENT = Content("h1, article", ".answer", ".views")


def page_of(number: int, views: int = 0) -> str:
    return (
        f"<html><head><title>Blog</title></head><body><p>{views} queries</p><h1>Post {number}</h1>"
        f"<article>{text(number, 150)}<b class='views'>{views}</b></article></body></html>"
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_who_keeps_all_loses_nothing_who_drops_all_each_content(asked: list[tuple[int, bool]]) -> None:
    pages = [Crawled(str(n), "", f"k{key}", frozenset("a" * m)) for n, (key, m) in enumerate(asked)]
    assert counts_of(pages, []).lost == ()
    counts = counts_of(pages, range(len(pages)))
    assert counts.kept == ()
    assert len({(pages[one].key, pages[one].parts) for one in counts.lost}) == len(counts.lost)
    assert len(counts.lost) == len({(page.key, page.parts) for page in pages})


def test_the_command_prints_a_row_for_each_rule_and_lists_what_is_kept(tmp_path: Path) -> None:
    htmls, url = [page_of(n % 3, views=n) for n in range(6)], "http://a.example/{}"
    pages = [Crawled(url.format(n), one, *keys_of(one, CONTENT)) for n, one in enumerate(htmls)]
    # Somebody calls the whole page one content: a copy that no rule finds.
    pages.append(Crawled("http://a.example/kept", page_of(9), pages[0].key))
    save(tmp_path / f"blog{ENDING}", pages)
    done = CliRunner().invoke(dynamic, ["--replay", str(tmp_path), "--list"], catch_exceptions=False)
    assert done.exit_code == 0
    assert all(f"| blog | {rule} | 7 | 4 |" in done.output for rule in RULES)
    assert "kept http://a.example/kept\n  like http://a.example/0: " in done.output


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12), min_size=1, max_size=4))
def test_lost_words_are_in_no_run_of_the_other_pages(pages: list[list[str]]) -> None:
    def runs(tokens: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(tokens[start : start + SHINGLE]) for start in range(len(tokens) - SHINGLE + 1)]

    words = Words.of([" ".join(page) for page in pages], [shingles_of(page) for page in pages])
    first, *others = pages
    elsewhere = {run for page in others for run in runs(page)}
    starts = [start for start, run in enumerate(runs(first)) if run in elsewhere]
    repeated = {place for start in starts for place in range(start, start + SHINGLE)}
    lost = words.lost(0, words.on(range(1, len(pages))))
    kept = [token for place, token in enumerate(first) if place not in repeated]
    assert [token for run in lost for token in run] == kept


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sites: a page, a copy with one other word, a copy with a text of its own; two equal pages."""
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


def test_the_command_prints_a_table_of_each_order(data: Path) -> None:
    done = CliRunner().invoke(judged, [str(data), "--jobs", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "| tea | 1 / 1 |  | 0 / 1 |  |  | 0 / 1 | 1 | 1 | 1 | 0 |" in done.output
    assert "| all | 1 / 1 |  | 0 / 1 |  |  | 0 / 1 | 2 | 1 | 1 | 0 |" in done.output
    assert "Pages in the order of links" in done.output
