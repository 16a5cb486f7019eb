from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import DedupConfig, Detector, SQLiteIndex
from dedup.cli import main
from tests.pages import edited, page, text


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def crawl(path: str, *contents: str, config: DedupConfig | None = None) -> None:
    with SQLiteIndex(path) as index, Detector(index, config or DedupConfig(), "s") as detector:
        for number, content in enumerate(contents):
            detector.check(page(content, f"http://{path}/{number}"))


def urls(path: str) -> list[tuple[str, bool]]:
    with SQLiteIndex(path, create=False) as index:
        assert index.problems() == []
        return [(row.sighting.url, row.verdict.kept) for row in index.rows()]


def test_two_indexes_become_one() -> None:
    crawl("one.db", text(1), text(2))
    crawl("two.db", edited(1), text(3))
    assert (
        run("export", "one.db", "--output", "one.jsonl").output == "2 rows of one.db are in one.jsonl.\n"
    )
    assert run("export", "--index", "two.db", "--output", "two.jsonl.gz").exit_code == 0
    done = run("import", "one.jsonl", "two.jsonl.gz", "--index", "all.db")
    assert done.stdout.splitlines() == [
        "one.jsonl: 2 rows, 0 known already, 2 new (2 of them kept)",
        "two.jsonl.gz: 2 rows, 0 known already, 2 new (1 of them kept)",
    ]
    assert urls("all.db") == [
        ("http://one.db/0", True),
        ("http://one.db/1", True),
        ("http://two.db/0", False),
        ("http://two.db/1", True),
    ]
    again = run("import", "two.jsonl.gz", "--index", "all.db").stdout
    assert again == "two.jsonl.gz: 2 rows, 2 known already, 0 new (0 of them kept)\n"


def test_pages_that_were_forgotten_are_not_kept() -> None:
    crawl("one.db", text(1), text(2), text(3))
    run("forget", "--index", "one.db", "--run", 1)
    run("export", "one.db", "--output", "one.jsonl")
    for path in ("empty.db", "other.db"):
        if path == "other.db":
            crawl(path, text(4))
        done = run("import", "one.jsonl", "--index", path)
        assert done.stdout == "one.jsonl: 3 rows, 0 known already, 3 new (0 of them kept)\n"


def test_an_index_with_a_run_is_not_empty() -> None:
    crawl("one.db", text(1))
    with SQLiteIndex("other.db") as index:
        index.end_run(index.begin_run("s"), "finished")
    run("export", "one.db", "--output", "one.jsonl")
    assert run("import", "one.jsonl", "--index", "other.db").exit_code == 0
    with SQLiteIndex("other.db", create=False) as index:
        assert [(row.id, row.sighting.run) for row in index.rows()] == [(1, 2)]


def test_a_name_in_a_bar_is_inert_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    crawl("one.db", text(1))
    name = "\x1b]0;title\x07[bold].jsonl"
    run("export", "one.db", "--output", name)
    done = run("import", name, "--index", "other.db")
    assert done.exit_code == 0
    assert "importing \\x1b]0;title\\x07[bold].jsonl" in done.stderr
    assert "\x1b]" not in done.output


def test_thresholds_are_settings() -> None:
    crawl("one.db", text(1))
    crawl("two.db", edited(1))
    run("export", "two.db", "--output", "two.jsonl")
    assert (
        run("import", "two.jsonl", "--index", "one.db", "-s", "DEDUP_RECIPE=min_similarity=1").exit_code
        == 0
    )
    assert urls("one.db")[1] == ("http://two.db/0", True)


def test_a_damaged_file_changes_nothing() -> None:
    crawl("one.db", text(1))
    run("export", "one.db", "--output", "whole.jsonl")
    Path("half.jsonl").write_text(Path("whole.jsonl").read_text()[:-100])
    done = run("import", "whole.jsonl", "half.jsonl", "--index", "all.db")
    assert (done.exit_code, done.output) == (1, "Error: half.jsonl, line 3 is cut off or too long\n")
    assert not Path("all.db").exists()


def test_another_recipe_is_an_error() -> None:
    crawl("one.db", text(1))
    crawl("two.db", text(1), config=DedupConfig(shingle=3))
    run("export", "two.db", "--output", "two.jsonl")
    done = run("import", "two.jsonl", "--index", "one.db")
    assert done.exit_code == 1
    assert "made with shingle=3, one.db with shingle=4: they cannot be compared" in done.output
    assert len(urls("one.db")) == 1


def test_files_of_two_recipes_are_refused_before_the_first_is_imported() -> None:
    crawl("one.db", text(1))
    crawl("two.db", text(1), config=DedupConfig(shingle=3))
    for name in ("one", "two"):
        run("export", f"{name}.db", "--output", f"{name}.jsonl")
    done = run("import", "one.jsonl", "two.jsonl", "--index", "all.db")
    assert done.exit_code == 1
    assert "two.jsonl has fingerprints made with shingle=3, one.jsonl with shingle=4" in done.output
    assert urls("all.db") == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["export", "one.db"], 2, "Missing option '-o' / '--output'"),
        (["export", "none.db", "--output", "x"], 1, "none.db does not exist"),
        (
            ["export", "one.db", "--output", "no/x.jsonl"],
            1,
            "no/x.jsonl cannot be written: No such file",
        ),
        (["import", "--index", "one.db"], 2, "Missing argument 'FILES...'"),
        (["import", "none.jsonl"], 2, "does not exist"),
        (["import", "one.db"], 1, "one.db, line 1: this is no JSON"),
    ],
)
def test_mistakes_are_one_clear_line(arguments: list[str], code: int, message: str) -> None:
    crawl("one.db", text(1))
    done = run(*arguments)
    assert (done.exit_code, message in done.output) == (code, True)
    assert not Path("x").exists()


def test_the_documented_keys_are_those_of_the_file() -> None:
    crawl("one.db", text(1))
    run("export", "one.db", "--output", "one.jsonl")
    lines = [json.loads(line) for line in Path("one.jsonl").read_text().splitlines()]
    text_of = (Path(__file__).parents[2] / "docs/reference/exports.md").read_text("utf-8")
    section = text_of.split("\n## ")[2]
    keys = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    keys.remove("url_rules")  # there where rules for URLs are known
    assert keys == [key for line in lines for key in line]
