"""A promise that is not kept is named, whatever the reason; the table has no command that is not there."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from benchmarks import gates
from benchmarks.gates import Bench, Gate, figure_in, measured

PRINTING = """-c 'print("seconds: 1,200 of 3"); print("seconds: 7 of 3")'"""


def gate(command: str = PRINTING, **choices: object) -> Gate:
    return Gate(promise="p", command=command, figure=r"seconds: ([\d,]+)", **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize(("most", "is_kept"), [(1200, True), (1199.9, False)])
def test_the_worst_figure_counts_and_the_bound_is_allowed(most: float, is_kept: bool) -> None:
    outcome = measured(gate(most=most), Bench({}), None, 1)
    assert (outcome.value, outcome.is_kept) == (1200, is_kept)


@pytest.mark.parametrize(("least", "is_kept"), [(7, True), (7.1, False)])
def test_where_more_is_better_the_least_counts(least: float, is_kept: bool) -> None:
    outcome = measured(gate(least=least), Bench({}), None, 1)
    assert (outcome.value, outcome.is_kept) == (7, is_kept)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("-c 1", "printed no such figure"),
        ("-c 'raise SystemExit(1)'", "printed no such figure"),
        ("-c 1 {data}", "give --data"),
        ("-c 1 {manual}", "no manual"),
    ],
)
def test_what_cannot_be_measured_is_not_kept(command: str, why: str) -> None:
    outcome = measured(gate(command, most=1), Bench({}), None, 1)
    assert not outcome.is_kept
    assert why in outcome.told


def test_what_is_noisy_is_paired_with_the_commit_before(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text("print('seconds: 100')")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "it.py").write_text("print('seconds: 110')")
    paired = gate("-c 'import it'", most=1.05, paired=True)
    bench = Bench({})
    assert not measured(paired, bench, None, 3).is_kept
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates, "ROOT", tmp_path / "here")
        outcome = measured(paired, bench, tmp_path, 3)
    assert outcome.value == pytest.approx(1.1)
    assert not outcome.is_kept


def test_the_command_names_what_fell_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "gates.toml"
    table.write_text(
        f"[[gate]]\npromise = 'good'\ncommand = '''{PRINTING}'''\nfigure = 'seconds: (7)'\nmost = 7\n"
        f"[[gate]]\npromise = 'fallen'\ncommand = '''{PRINTING}'''\nfigure = 'seconds: (7)'\nmost = 6\n"
    )
    monkeypatch.setattr(gates.gates, "__defaults__", (table,))
    done = CliRunner().invoke(gates.main, [])
    assert done.exit_code == 1
    assert "not kept: fallen" in done.stderr
    assert CliRunner().invoke(gates.main, ["--only", "GOOD"]).exit_code == 0
    assert "no promise" in CliRunner().invoke(gates.main, ["--only", "nothing"]).stderr
    assert "good" in CliRunner().invoke(gates.main, ["--list"]).stdout


@pytest.mark.parametrize("bad", [{}, {"most": 1, "least": 1}])
def test_a_promise_has_one_bound(bad: dict[str, Any]) -> None:
    with pytest.raises(click.ClickException, match="most"):
        gate(**bad)


@pytest.mark.parametrize("promised", gates.gates(), ids=lambda one: one.promise)
def test_every_command_is_there(promised: Gate) -> None:
    program, *rest = shlex.split(promised.command)
    if program == "make":
        assert f"\n{rest[0]}: " in (gates.ROOT / "Makefile").read_text("utf-8")
    else:
        assert find_spec(rest[0])
    assert figure_in(promised, "") is None
