"""The commands that look: `explain`, and the counts of `report`."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from dedup import Detector, Page, SQLiteIndex, compare
from tests.report.reports import judged
from tests.support.commands import run
from tests.support.crawling import bounds
from tests.support.pages import edited, of_another_recipe, page, text, told_elsewhere


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return filled(tmp_path / "pages.db", store_pages=False)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return filled(tmp_path / "stored.db", store_pages=True)


def filled(path: Path, *, store_pages: bool) -> Path:
    first = page(text(1), "http://a.example/1")
    others = page(edited(1, 4), "http://a.example/2"), page(text(2), "http://b.example/3")
    judged(path, first, *others, page(text(1), "http://a.example/4"), store_pages=store_pages)
    judged(path, first, store_pages=store_pages)
    return path


def near(output: str) -> list[tuple[str, str]]:
    found = r"^(?:about )?\d+ of \d+ words  +(http\S+)  .*\n    (a copy|no copy): "
    return [(said, url) for url, said in re.findall(found, output, re.MULTILINE)]


def test_explain_shows_where_the_words_differ(index: Path) -> None:
    output = run("explain", "http://a.example/2#top", index).output
    one, other = (page(content) for content in (text(1), edited(1, 4)))
    found, lines = compare(one, other), output.splitlines()
    assert lines[0] == "http://a.example/2  (row 2, run 1)"
    assert "verdict  near_duplicate. It was dropped" in output
    said = f"  loses    about {found.lost} of 120 words", f"  rule     {found.sentence}"
    assert {*lines}.issuperset(("  kept     http://a.example/1  (row 1, run 1)", *said))
    assert "simhash" not in output
    output = run("explain", "http://a.example/2", index, "-s", "DEDUP_MAX_LOST_WORDS=0").output
    assert "verdict  near_duplicate. It was dropped" in output, "the record is what it was"
    assert " By the settings of today it would be kept: about 1 of 120 words" in output


def test_words_are_counted_where_texts_are_stored(index: Path, stored: Path) -> None:
    hint, words = "DEDUP_STORE_PAGES = True", "{+feed0000 feed0001 feed0002 feed0003+}"
    for names in (["http://a.example/2"], ["http://a.example/1", "http://a.example/2"]):
        without = run("explain", *names, index).output
        assert (hint in without, "feed0000" in without) == (True, False)
        output = run("explain", *names, stored).output
        assert (hint in output, "  loses    4 of 120 words" in output) == (False, True)
        assert output.index(words) < output.index("  rule     About")
    restoring = "  To keep it next time: dedup restore http://a.example/2; "
    assert restoring in run("explain", "http://a.example/2", stored).output
    assert "\n     http://a.example/2 beside http://a.example/1\n" in run("report", stored).output


@pytest.mark.parametrize(
    ("action", "fate"), [("drop", "dropped"), ("mark", "marked"), ("report", "let through")]
)
def test_explain_says_what_became_of_a_copy_in_its_run(path: Path, action: str, fate: str) -> None:
    with SQLiteIndex(path) as index, Detector(index, action=action) as detector:
        for number in (1, 2):
            detector.check(page(" ".join(text(1).split()[:-number]), f"http://a.example/{number}"))
    said = f"near_duplicate. It was {fate}: its text is nearly that of a page that was kept."
    assert said in run("explain", "http://a.example/2", path).output


def test_explain_says_what_the_site_decided(tmp_path: Path) -> None:
    """A page was dropped because its words stand on two pages that were kept."""
    path, urls = tmp_path / "listed.db", [f"http://a.example/{number}" for number in range(3)]
    judged(path, *map(page, told_elsewhere(), urls), store_pages=False)
    output = run("explain", urls[2], path).output
    assert re.search(r"  loses    about \d+ of 500 words, all( but about \d)? of which stand on", output)
    assert "dropped: it is like a page that was kept, and its other words stand on others.\n" in output
    for other in ((), (urls[0],)):  # which it was dropped for
        told = run("explain", *other, urls[2], path).output
        assert re.search(r"  rule     About \d+ of 500 words would be lost; all .*stand on other", told)
    assert "\nB is no copy of A: new\n" in run("explain", *urls[1:], path).output


def test_explain_of_a_copy_for_print_says_that_the_site_decided(tmp_path: Path) -> None:
    """It is too little like the page kept to be its copy by the two alone."""
    framed, path = "<title>{0}</title><p>" + text(90) + "</p><p>{1}</p><p>{2}", tmp_path / "printed.db"
    table = "<title>{}</title><table><tr><td><ul><li><section><p>{}</p>"
    said = [(f"Text {number}", text(number, 100), text(40 + number, 30)) for number in range(1, 30)]
    pages = [*(framed.format(*one) for one in said), table.format(*said[0])]
    urls = [f"http://a.example/{number}" for number in range(len(pages))]
    prints = [Page.from_html(html, url=url) for html, url in zip(pages, urls, strict=True)]
    judged(path, *prints, store_pages=False)
    output = run("explain", urls[-1], path).output
    assert f"kept     {urls[0]}  (row 1, run 1)" in output
    title = "it shows in another frame what a page that was kept does."
    assert f"dropped: {title}" in output
    assert re.search("  rule     (Under one title, |All pages of its layout )", output)


def test_explain_of_each_time_a_page_was_seen(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run("explain", "http://a.example/1", stored).output
    times = re.findall(r"^row (\d), run 2, .* UTC: (\w+)\. It was kept", output, re.MULTILINE)
    assert times == [("5", "unchanged")]
    assert output.startswith("http://a.example/1  (row 1, run 1)\n"), "where that was decided"
    monkeypatch.setattr(import_module("dedup.cli.explain"), "_MOST_ROWS", 0)
    assert "\nand 1 more before\n" in run("explain", "http://a.example/1", stored).output


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["http://a.exmple/2"], "http://a.exmple/2 is not in"),
        (["http://a.example/1", "http://a.exmple/2"], "http://a.exmple/2 is not in"),
        (["http://a.example/2/"], "; did you mean http://a.example/2?"),
        (["a.example/2"], "; did you mean http://a.example/2?"),
        (["/no/such.html"], "/no/such.html: no such file"),
        (["gone.html"], "gone.html: no such file"),
        (["gone.html", "file"], "gone.html: no such file"),
    ],
)
def test_what_is_not_there_is_an_error_and_no_text(index: Path, names: list[str], said: str) -> None:
    result = run("explain", *names, index)
    assert (result.exit_code, said in result.output) == (1, True)


def test_two_pages_are_compared(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.html").write_text(f"<p>{text(1)} <b>end", "utf-8")
    Path("b.txt").write_text(f"{text(1)} end", "utf-8")
    one, other, third = (f"http://{name}" for name in ("a.example/1", "a.example/2", "b.example/3"))
    for names, code, said in (
        ([one, other, stored], 0, "B is a copy of A: near_duplicate"),
        ([one, third, stored], 3, "B is no copy of A: new"),
        ([one, "a.html", stored], 0, "{+end+}"),
        (["a.html", "b.txt"], 0, "The texts are the same"),
        (["a.html", one, "none.db"], 1, "does not exist"),
    ):
        result = run("explain", *names)
        assert (result.exit_code, said in result.output) == (code, True), result.output


def test_what_is_near_a_file_or_a_url_is_listed(index: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<html><body><p>{edited(2, 3)}</p></body></html>", "utf-8")
    output = run("explain", file, index).output
    assert near(output) == [("a copy", "http://b.example/3")], "and no page of other words"
    for url in ("http://b.example/3", "http://a.example/2", "http://a.example/1"):
        assert near(run("explain", url, index).output) == [], "not itself as it was before"
    file.write_text("quite other words", "utf-8")
    found = run("explain", file, index)
    assert (found.exit_code, "no other page kept is like it" in found.output) == (3, True)


def test_fingerprints_of_another_recipe_are_never_compared(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.txt"
    file.write_text(text(1), "utf-8")
    said = of_another_recipe(monkeypatch)
    for command in (["explain", file], ["explain", text(1)], ["explain", "http://a.example/1", file]):
        result = run(*command, index)
        assert (result.exit_code, said in result.output) == (1, True)
    for command in (["explain", "http://a.example/2"], ["report"]):
        assert run(*command, index).exit_code == 0


def test_files_over_the_limit_are_compared_by_their_bytes(tmp_path: Path) -> None:
    path, file = tmp_path / "pages.db", tmp_path / "large.html"
    file.write_text(f"<p>{text(1)}", "utf-8")
    other = tmp_path / "other.html"
    other.write_text(f"<p>{text(1)} ", "utf-8")
    with bounds(MAX_BYTES=100):
        pages = {"large": file.read_bytes(), "small": b"<p>small"}
        judged(path, *(Page.from_html(said, url=f"http://a.example/{n}") for n, said in pages.items()))
        found, same = run("explain", file, path), run("explain", file, "http://a.example/large", path)
        both = run("explain", file, other)
    assert found.stderr == f"{file} has more than 4,000,000 bytes: only its bytes are compared\n"
    assert re.findall(r"(http\S+) .*\n +(a copy)", found.stdout) == [
        ("http://a.example/large", "a copy")
    ]
    assert (same.exit_code, "All bytes are equal." in same.stdout) == (0, True)
    assert (both.exit_code, both.stderr.count("only its bytes are compared")) == (3, 2)


def test_a_report_counts_by_reason_and_run(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("forget", "http://a.example/4", index)
    monkeypatch.setattr(import_module("dedup.report.text"), "PARTS", 1)
    lines = run("report", index).output.splitlines()
    assert lines[3].startswith("  run 2, ")
    assert lines[3].endswith(" UTC, finished, news: 1 page, 0 copies among them")
    assert lines[4] == "  and 1 more"
    assert ", news: 3 pages, 1 copy among them" in run("report", index, "--all").output


def test_what_can_be_restored_is_listed(index: Path) -> None:
    run("forget", "http://a.example/1", index)
    orphans = run("restore", "--list", "orphans", index).stdout.split()
    assert set(orphans) == {"http://a.example/2", "http://a.example/4"}
    assert "give a URL, --run or --list" in run("restore", index).output
    dropped = run("restore", index, "--list", "dropped", "--run", 1)
    assert dropped.stdout == "http://a.example/2\nhttp://a.example/4\n"
    assert run("restore", index, "--list", "dropped", "--run", 2).stdout == ""
    for mixed in (["http://a.example/2", index, "--run", 1], ["x", index, "--list", "orphans"]):
        assert run("restore", *mixed).exit_code == 2
