"""``dedup rules``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dedup import Page, SQLiteIndex
from dedup.cli import main
from dedup.index.detector import Detector
from dedup.index.url_rules import UrlRules, WithheldRequest, seen_of
from dedup.urls.edits import Edit, Form
from dedup.urls.evidence import Tally, Wrong
from dedup.urls.learner import RuleRecord
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
        records = [RuleRecord(SID, own=TALLY), RuleRecord(HOSTILE, own=Tally().with_wrong(wrong))]
        book.save(1, map(seen_of, records))
        held = WithheldRequest(
            1, 1, "http://a.example/p?sid=7", "http://a.example/p", (SID.id,), "secret"
        )
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
    one, other = json.loads(run(index, "--json").output)
    assert (one["state"], one["name"], one["right"]) == ("active", "sid", 30)
    assert other["state"] == "refuted"


def test_shows_rules_tests_urls_and_lists_what_is_withheld(index: Path) -> None:
    assert "1 requests are withheld by it" in run(index, SID.id[:6]).output
    assert "would be withheld" in run(index, "http://a.example/p?sid=3").output
    assert "is fetched" in run(index, "http://a.example/p").output
    both = run(index, "http://a.example/p?sid=3", SID.id, "--json").output
    assert [one["rule"] for one in json.loads(both)] == [SID.id, SID.id]
    assert "against it: http://a.example/\\x1b[2J" in run(index, HOSTILE.id).output
    done = withheld(index)
    assert done.stdout == "http://a.example/p?sid=7\n"
    (held,) = json.loads(withheld(index, "--json").stdout)
    assert (held["page"], held["rules"]) == ("http://a.example/p", [SID.id])
    assert "secret" not in withheld(index, "--json").output
    assert "no rules have a name" in run(index, "zz", code=1).output


def withheld(index: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["restore", "--list", "withheld", str(index), *more])


def test_a_person_pins_a_rule_or_switches_it_off(index: Path) -> None:
    for rule, standing, state in (
        (SID, "off", "off"),
        (SID, "learned", "active"),
        (HOSTILE, "pinned", "active"),
        (HOSTILE, "off", "off"),
    ):
        assert run(index, rule.id, "--standing", standing).output.startswith(f"{state}: a.example")
        assert f"  {state}" in run(index, rule.id).output
    assert "goes with the name of a RULE" in run(index, "--standing", "off", code=2).output
    mixed = run(index, SID.id, "http://a.example/", "--standing", "off", code=2)
    assert "goes with the name of a RULE" in mixed.output


def test_to_forget_a_run_takes_back_what_it_has_seen_and_withheld(index: Path) -> None:
    done = CliRunner().invoke(main, ["forget", str(index), "--run", "1"])
    assert done.exit_code == 0
    assert withheld(index).stdout == ""
    assert "no rules were learned yet" in run(index).output
