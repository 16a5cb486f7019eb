import json
import re
from pathlib import Path

import pytest

from dedup import Detector, SQLiteIndex
from tests.support.commands import NAMES, command_named, run
from tests.support.crawling import ROOT, python, scrapy
from tests.support.pages import edited, page, text

NAMED = ("add", "report")  # by --index
RUN = re.compile(r"  run (\d+), \d{4}-\d\d-\d\d \d\d:\d\d UTC, (.+): (.+)")
EVIL = '=HYPERLINK("http://evil")\x1b[31m\u202e\n<script>'


@pytest.fixture
def index(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # outside of our own Scrapy project
    with SQLiteIndex(path) as opened:
        with Detector(opened, spider="first") as detector:
            detector.check(page(text(1), "http://a/1"))
            detector.check(page(text(1), "http://a/2"))
            detector.check(page(edited(1), EVIL))
        with Detector(opened, spider="first") as detector:
            detector.check(page(edited(1, 2), "http://a/4"))
    return path


def test_report_prints_clusters(index: Path) -> None:
    lines = run("report", index).output.splitlines()
    assert lines[0] == (
        "2 copies lose 1 word each. 2 copies that lose words were not checked for merged products or "
        "events: not all texts are stored (DEDUP_STORE_PAGES = True stores all)."
    )
    told = (
        "4 pages seen (each once, of 2 runs) = 1 kept + 2 near copies + 1 exact copy. "
        "Of 3 copies, 1 loses nothing, 2 lose 1 word each."
    )
    assert (lines[1], lines[2], lines[5]) == (told, "Runs:", "3 copies in 1 cluster")
    assert [RUN.fullmatch(line).groups() for line in lines[3:5]] == [  # type: ignore[union-attr]
        ("2", "finished, first", "1 page, 1 copy among them"),
        ("1", "finished, first", "3 pages, 2 copies among them"),
    ]
    assert lines[7:9] == ["(no title)", "  kept in run 1     http://a/1"]
    assert lines[9].startswith("  dropped in run 1  =HYPERLINK")
    assert lines[10] == "    near copy, loses about 1 of 120 words"
    assert lines[-2:] == ["  dropped in run 1  http://a/2", "    exact copy"]
    assert "2 near copies + 1 exact copy" in run("report", "--index", index, "--all").output


@pytest.mark.parametrize(
    ("arguments", "urls"),
    [
        ([], ["http://a/2", EVIL, "http://a/4"]),
        (["--domain", "a"], ["http://a/2", "http://a/4"]),
        (["--domain", "b"], []),
        (["--run", 2, "--domain", "A"], ["http://a/4"]),
    ],
)
def test_report_of_a_part(index: Path, arguments: list[object], urls: list[str]) -> None:
    output = run("report", index, "--format", "jsonl", *arguments).stdout
    assert [json.loads(line)["url"] for line in output.splitlines()] == urls


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["report", "--all", "--format", "html", "-o", "x"], 2, "--all goes with text, jsonl and csv"),
        (["report", "--format", "html"], 2, "--format html needs --output"),
        (["report", "-o", "x.xlsx"], 2, "--output .xlsx: name it .html, .csv, .jsonl or .txt"),
        (["report", "--html"], 2, "--output FILE.html"),
        (["explain", "a page", "-i", "pages.db"], 2, "INDEX, at the end"),
        (["report", "--changes", "--all"], 2, "--changes goes with"),
        (["report", "--run", 9], 1, "there is no run 9 in pages.db, the last is 2"),
        (["report", "--run", 2**63], 1, f"there is no run {2**63}"),
        (["report", "--serve", "--run", 9], 1, "there is no run 9"),
        (["report", "--serve", "--output", "x.html"], 2, "--serve goes without"),
        (["report", "--index", "x"], 2, "named twice"),
        (["forget", "--run", 9], 1, "there is no run 9"),
        (["restore", "--run", 9], 1, "there is no run 9"),
        (["forget"], 2, ""),
        (["forget", "--run", 1, "http://x/"], 2, ""),
        (["forget", "--older-than", "30"], 2, ""),
    ],
)
@pytest.mark.usefixtures("index")
def test_a_mistake_is_refused(arguments: list[object], code: int, message: str) -> None:
    done = run(*arguments, "pages.db")
    assert (done.exit_code, message in done.output) == (code, True)


def test_forget_takes_a_run_a_url_or_an_age(index: Path) -> None:
    assert run("forget", "HTTP://a/2#x", index).output == "1 row is forgotten.\n"
    assert run("forget", index, "--run", 1).output == "2 rows are forgotten.\n"
    assert "1 copy in" in run("report", index).output
    assert "orphaned" in run("report", index).output
    assert run("forget", index, "--older-than", "1d").output == "0 rows are forgotten.\n"
    assert run("forget", index, "--older-than", "0s").output == "1 row is forgotten.\n"
    assert "There is no page: " in run("report", index).output


def test_orphans_are_addresses_that_can_be_crawled(tmp_path: Path) -> None:
    path, long = tmp_path / "orphans.db", f"http://a/{'x' * 5000}"
    with SQLiteIndex(path) as index, Detector(index) as detector:
        for url in ("http://a/kept", long, "http://a/\u200d\x1b/é", ""):
            detector.check(page(text(1), url))
    with SQLiteIndex(path) as index, Detector(index) as detector:
        detector.check(page(text(1), long))
        index.ledger.forget(url="http://a/kept")
    result = run("restore", "--list", "orphans", path)
    assert result.stdout.splitlines() == [long, "http://a/%E2%80%8D%1B/é"]
    assert result.stderr == "3 orphans\n"
    restored = run("restore", long, path)
    assert restored.stdout.count(f"{long}  ") == 1
    assert restored.stderr == "1 page will be kept by the next crawl that meets it\n"


@pytest.mark.parametrize("command", [["report"], ["report", "--serve"], ["check"]])
def test_a_missing_index_is_one_clear_line(tmp_path: Path, command: list[str]) -> None:
    result = run(*command, tmp_path / "none.db")
    assert result.exit_code == 1
    assert result.output.endswith("none.db does not exist; a crawl with dedup makes it\n")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("command", NAMES)
def test_every_command_explains_itself_is_documented_and_names_its_index_alike(command: str) -> None:
    assert len(run(command, "--help").output.splitlines()) > 5
    assert run(command, "-h").output == run(command, "--help").output
    assert " _" not in run(command, "--help").output  # no name of the code
    assert f"dedup {command}" in (ROOT / "docs/reference/commands.md").read_text("utf-8")
    named = {name for param in command_named(command).params for name in param.opts}
    assert ("--index" in named) is ("-i" in named) is (command in NAMED)
    assert ("--output" in named) is ("-o" in named)
    assert ("index" in named) is (command not in ("add", "try"))


def test_scrapy_dedup_is_the_same_command(index: Path) -> None:
    assert scrapy("dedup", "report", str(index)).stdout == run("report", index).output
    assert scrapy("dedup", "report", "/no/such.db").returncode == 1
    assert "Commands:" in scrapy("dedup", "help").stdout


def test_scrapy_starts_without_loading_what_only_a_crawl_needs() -> None:
    code = (
        "import sys; from dedup.plugin.command import DedupCommand; "
        "print([name for name in ('numpy', 'jieba', 'rjieba', 'mmh3', 'bs4') if name in sys.modules])"
    )
    assert python("-c", code).stdout.strip() == "[]"
