"""``dedup rules``."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import SQLiteIndex
from dedup.cli import main
from dedup.index.notes import UrlRules
from dedup.urls.propose import Proposal, read_rules
from dedup.urls.rule import Counterexample, Rule

SID = Rule("a.example", "?sid")
SLASH = Rule("a.example", "/", "/shop/*")
OFF = Rule("b.example", "?x")
HOSTILE = Rule("z.example", "?\x1b[31m")
PAIRS = (
    ("http://a.example/p?sid=1", "http://a.example/p"),
    ("http://a.example/\x1b[2J?sid=1", "http://a.example/"),
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as opened:
        book = UrlRules(opened.store)
        old = [Proposal(Rule("a.example", "?old"), 3, 3, ())]
        runs = [opened.runs.begin("site") for _ in range(2)]
        book.propose(runs[0].id, "site", old)
        new = [Proposal(SID, 12, 30, PAIRS), Proposal(SLASH, 5, 5, ()), Proposal(HOSTILE, 3, 3, ())]
        book.propose(runs[1].id, "site", new)
        wrong = Counterexample(OFF, "http://b.example/?x=1", "http://b.example/", "they show two pages")
        book.note_wrong(runs[1].id, wrong)
    return path


def run(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["rules", *arguments])
    assert done.exit_code == code, done.output
    assert "\x1b" not in done.output
    return done


def test_lists_what_the_last_crawl_proposes_and_what_is_off(index: Path) -> None:
    output = run(str(index)).output
    assert "1  a.example: the parameter ?sid does not matter" in output
    assert "12 groups of URLs, 30 pages, none against it" in output
    assert "http://a.example/p?sid=1 is http://a.example/p" in output
    assert "2  a.example: a slash at the end does not matter, at /shop/*" in output
    assert "4  b.example: the parameter ?x does not matter: off" in output
    assert "http://b.example/?x=1 is not http://b.example/: they show two pages" in output
    assert "?old" not in output


def test_accepted_rules_go_into_the_file_beside_those_that_are_there(index: Path) -> None:
    file = Path("rules.toml")
    file.write_text('# by hand\n[[rule]]\nhost = "c.example"\nignore = "/tutorials/{id}/**"\n')
    assert "a.example: a slash at the end" in run("--accept", "2", "--accept", "1", str(index)).output
    run("--accept", "1", str(index))
    by_hand = Rule("c.example", "/tutorials/{id}/**")
    assert read_rules(file) == [by_hand, SLASH, SID]
    assert file.read_text().startswith("# by hand\n")
    assert "?sid does not matter (accepted)" in run(str(index)).output


def test_a_rule_that_was_switched_off_is_obeyed_again_when_it_is_accepted(index: Path) -> None:
    run("--accept", "4", str(index))
    assert read_rules(Path("rules.toml")) == [OFF]
    with SQLiteIndex(index) as opened:
        assert UrlRules(opened.store).wrong() == {}


def test_numbers_that_are_not_there_are_refused(index: Path) -> None:
    with SQLiteIndex("empty.db") as opened:
        opened.runs.begin("site")
    assert "no rules are proposed" in run("empty.db").output
    assert "there is no rule 9" in run("--accept", "1", "--accept", "9", str(index), code=1).output
    assert not Path("rules.toml").exists()


def test_to_forget_a_run_takes_back_what_it_proposed(index: Path) -> None:
    done = CliRunner().invoke(main, ["forget", "--run", "2", str(index)])
    assert done.exit_code == 0, done.output
    assert "?old" in run(str(index)).output
    assert "b.example" not in run(str(index)).output
