"""Made-up pages: that they are what their truth says, and what is counted of them."""

from __future__ import annotations

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.records.__main__ import KINDS_OF, main
from benchmarks.records.running import PARTS, scored
from benchmarks.records.writing import Load


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_each_drop_is_a_copy_or_the_loss_of_a_content(met: list[tuple[int, bool]]) -> None:
    loads = [Load(str(number), "", truth) for number, (truth, _) in enumerate(met)]
    score = scored(loads, [is_kept for _, is_kept in met])
    drops = sum(not is_kept for _, is_kept in met)
    assert score.unique + score.copies == len(met)
    assert score.dropped + score.unique - score.kept == drops == sum(score.turns)
    assert 0 <= score.dropped <= score.copies


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
