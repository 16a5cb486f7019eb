"""``dedup rules``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import Page, SQLiteIndex
from dedup.cli import main
from dedup.index.detector import Detector
from dedup.index.url_rules import HeldBack, UrlRules, seen_of
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import Standing, State, Tally, Wrong
from dedup.urls.learner import Record
from dedup.urls.rule import Rule
from tests.pages import text

SID = Rule("a.example", Edit(Form.PARAMETER, "sid"))
HOSTILE = Rule("a.example", Edit(Form.PARAMETER, "\x1b[31m"))
TALLY = Tally(
    groups=tuple((number, number) for number in range(10)),
    right=tuple(range(10)),
    since=30,
    rights=30,
    withheld=1,
    examples=(("http://a.example/p?sid=1", "http://a.example/p"),),
)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as opened, Detector(opened) as detector:
        for number in range(4):
            for mark in ("", "?ref=1"):
                url = f"http://b.example/p{number}{mark}"
                assert detector.check(Page.from_text(text(number), url=url)).row
        book = UrlRules(opened.store)
        wrong = Wrong(1, "/x", "http://a.example/\x1b[2J", "http://a.example/", "other content", True)
        records = [Record(SID, own=TALLY), Record(HOSTILE, own=Tally().with_wrong(wrong))]
        book.save(1, map(seen_of, records))
        held = HeldBack(1, 1, "http://a.example/p?sid=7", "http://a.example/p", (SID.id,), "secret")
        assert book.withhold(held, [1])
    return path


def run(index: Path, *arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["rules", "--index", str(index), *arguments])
    assert done.exit_code == code, done.output
    assert "\x1b" not in done.output
    return done


def test_lists_rules_with_what_speaks_for_them(index: Path) -> None:
    output = run(index).output
    assert (
        f"active         10      30      0         1  {SID.id}  a.example: the parameter sid" in output
    )
    assert "http://a.example/p?sid=1 and http://a.example/p" in output
    assert "refuted" not in output
    assert "refuted" in run(index, "--all").output
    (one,) = json.loads(run(index, "--json").output)
    assert (one["state"], one["name"], one["right"]) == ("active", "sid", 30)


def test_shows_tests_and_lists_what_is_withheld(index: Path) -> None:
    assert "1 requests are withheld by it" in run(index, "show", SID.id[:6]).output
    assert "would be withheld" in run(index, "test", "http://a.example/p?sid=3").output
    assert "is fetched" in run(index, "test", "http://a.example/p").output
    assert "against it: http://a.example/\\x1b[2J" in run(index, "show", HOSTILE.id).output
    done = run(index, "withheld")
    assert done.stdout == "http://a.example/p?sid=7\n"
    assert "secret" not in run(index, "withheld", "--json").output
    assert "no rules have a name" in run(index, "show", "zz", code=1).output


def test_a_person_pins_a_rule_or_switches_it_off(index: Path) -> None:
    for arguments, state in (
        (("off", SID.id), "off"),
        (("off", "--undo", SID.id), "active"),
        (("pin", HOSTILE.id), "active"),
        (("off", HOSTILE.id), "off"),
    ):
        assert run(index, *arguments).output.startswith(f"{state}: a.example")
        assert f"  {state}" in run(index, "show", arguments[-1]).output


def test_learns_from_the_pages_of_an_index(index: Path) -> None:
    assert "candidate" in run(index, "learn").output
    with SQLiteIndex(index) as opened:
        records = {record.rule: record for record in UrlRules(opened.store).records()}
    assert records[Rule("b.example", Edit(Form.PARAMETER, "ref"))].state is State.CANDIDATE
    assert records[SID].state is State.ACTIVE


@pytest.mark.parametrize("kind", ["dud", "json"])
def test_rules_travel_and_begin_on_trial(index: Path, tmp_path: Path, kind: str) -> None:
    with SQLiteIndex(index) as opened:
        slash = Record(Rule("a.example", Edit(Form.SLASH)), standing=Standing.PINNED)
        UrlRules(opened.store).set_standing(slash)
    file = tmp_path / "rules.json"
    done = run(index, "export", "--format", kind, "--output", str(file))
    assert ("does not fit: a.example: a slash at the end" in done.output) is (kind == "dud")
    if kind == "dud":
        assert json.loads(file.read_text())[0]["urlPattern"] == {"include": ["a.example/"]}
    other = tmp_path / "other.db"
    with SQLiteIndex(other):
        pass
    number = 1 if kind == "dud" else 2
    assert run(other, "import", str(file)).output.startswith(f"{number} rules are on trial")
    with SQLiteIndex(other) as opened:
        assert {one.state for one in UrlRules(opened.store).records()} == {State.TRIAL}


@pytest.mark.parametrize("content", ["{}", "nothing", '[{"form": "x"}]', "[" * 100_000, '["a"]'])
def test_a_file_without_rules_is_refused_or_said_not_to_fit(
    index: Path, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "rules.json"
    file.write_text(content)
    done = CliRunner().invoke(main, ["rules", "--index", str(index), "import", str(file)])
    assert "has no rules" in done.output or "does not fit" in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_an_export_takes_rules_along_and_no_stored_requests(index: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "all.jsonl", tmp_path / "other.db"
    runner = CliRunner()
    assert runner.invoke(main, ["export", str(index), "--output", str(file)]).exit_code == 0
    assert "secret" not in file.read_text()
    for _ in range(2):
        done = runner.invoke(main, ["import", str(file), "--index", str(other)])
        assert done.exit_code == 0, done.output
    with SQLiteIndex(other) as opened:
        book = UrlRules(opened.store)
        records = {record.rule: record for record in book.records()}
        assert records[SID].evidence == Record(SID, own=TALLY).evidence
        assert [one.url for one in book.held_back()] == ["http://a.example/p?sid=7"]


def test_to_forget_a_run_takes_back_what_it_has_seen_and_withheld(index: Path) -> None:
    done = CliRunner().invoke(main, ["forget", "--index", str(index), "--run", "1"])
    assert done.exit_code == 0
    assert run(index, "withheld").stdout == ""
    assert "no rules were learned yet" in run(index).output


def test_the_html_report_has_rules_and_what_they_withheld(index: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    arguments = ["report", str(index), "--format", "html", "--output", str(file), "--all"]
    done = CliRunner().invoke(main, arguments[:-1])
    assert done.exit_code == 0, done.output
    html = file.read_text("utf-8")
    assert "the parameter sid does not matter" in html
    assert "http://a.example/p?sid=7" in html
    assert "secret" not in html
