"""The mutation tester on small modules: what it changes, what it leaves alone, what it finds out."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks.mutation import running
from benchmarks.mutation.__main__ import Found, judged, modules_of, read, reason, sample, summary, write
from benchmarks.mutation.operators import Mutant, Source, mutants
from benchmarks.mutation.running import ROOT, Bench, BrokenTestsError, Fate
from benchmarks.mutation.table import EQUIVALENT, TESTS

MODULE = "dedup/toy.py"
TOY = '''
    """A toy."""


    def share(part, whole):
        """Return which part it is.

        >>> share(1, 2)
        0.5
        """
        return part / whole


    def is_large(size):
        return size >= 10


    def counted(size):
        while size > 0:
            size -= 1
        return size
'''
TOY_TESTS = """
    from dedup.toy import counted, is_large

    def test_large():
        assert is_large(12) and not is_large(3)

    def test_counted():
        assert counted(3) == 0
"""


def all_of(text: str) -> list[Mutant]:
    return mutants(MODULE, dedent(text).strip().encode())


def mutant_of(after: str) -> Mutant:
    (found,) = [mutant for mutant in all_of(TOY) if mutant.after == after]
    return found


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    root = tmp_path / "toy"
    for name, text in (
        ("dedup/__init__.py", ""),
        (MODULE, TOY),
        ("tests/__init__.py", ""),
        ("tests/test_toy.py", TOY_TESTS),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\naddopts = "--doctest-modules"\nmarkers = ["slow"]',
        ),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text).strip())
    return root


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("a >= (b)", ["a > (b)"]),
        ("a == b != c", ["a != b != c", "a == b == c"]),
        ("a is not b", ["a is b"]),
        ("a  not  in b", ["a in b"]),
        ("a + b", ["a - b"]),
        ("(a // b) ** c", ["(a // b) * c", "(a / b) ** c"]),
        ("n |= m", ["n &= m", "pass"]),
        ("a and b or c", ["a and b and c", "a or b or c"]),
        ("a or not(b)", ["a and not(b)", "a or (b)"]),
        ("x = a if b.c else d", ["x = a if not (b.c) else d"]),
        ("x = [a for a in b if (c := a)]", ["x = [a for a in b if (not (c := a))]"]),
        ("x = 7", ["x = 6", "x = 8"]),
        ("x = 0.5", ["x = -0.5", "x = 1.5"]),
        ("x = True", ["x = False"]),
        ("f(a)", ["pass"]),
        (
            "x = f(a, b + 1)",
            ["x = f(a, b + 0)", "x = f(a, b + 2)", "x = f(a, b - 1)", "x = f(b + 1, a)"],
        ),
        ("x = max(a, b)", ["x = min(a, b)"]),
        ("x = sorted(a)", ["x = list(a)"]),
        ("x = sorted(a, key=b)", ["x = sorted(a, )"]),
        ("a.sort(key=b, reverse=c)", ["a.sort(reverse=c)", "pass"]),
        ("x = a[b:c]", ["x = a[:c]", "x = a[b:]"]),
        ("x.y = a", ["pass"]),
        ("x = x.strip()", ["pass"]),
        ("raise error", ["pass"]),
        ("def f() -> int: return a", ["def f() -> int: return 0"]),
        ("def f() -> bool: return a", ["def f() -> bool: return False", "def f() -> bool: return True"]),
        (
            "def f(n=2): return a",
            ["def f(n=1): return a", "def f(n=2): return None", "def f(n=3): return a"],
        ),
        ("x = 'é', a < b", ["x = 'é', a <= b"]),
    ],
)
def test_changes_one_place(line: str, changed: Sequence[str]) -> None:
    assert sorted(mutant.after for mutant in all_of(line)) == sorted(changed)


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        "x: Literal[3] | None = None",
        "def f(a: int | None) -> Literal[3]: ...",
        "Answer = Callable[[int], str] | None",
        "if TYPE_CHECKING:\n    x = 1",
        "@dataclass(frozen=True)\nclass A:\n    pass",
        "assert len(a) < 3",
        "logger.info('%d of %d', a + 1, b)",
        "x = f'{a + 1:>3}'",
        "x = 'a %s' % b",
        "x = zip(a, strict=True)",
        "x = isinstance(a, b)",
        "__all__ = a + b",
    ],
)
def test_leaves_alone_what_no_test_is_for(text: str) -> None:
    assert all_of(text) == []


def test_shows_a_change_of_several_lines_as_one() -> None:
    found = all_of("x = []\nf(\n    a,\n    b,\n)")
    assert [(one.line, one.before, one.after) for one in found] == [
        (2, "f( a, b, )", "pass"),
        (3, "a, b,", "b, a,"),
    ]


@pytest.mark.parametrize("path", ["dedup/values/simhashes.py", "benchmarks/mutation/operators.py"])
def test_every_mutant_is_python_and_another_program(path: str) -> None:
    data = (ROOT / path).read_bytes()
    whole = ast.dump(ast.parse(data))
    for mutant in sample(mutants(path, data), 100, seed=0):
        assert ast.dump(ast.parse(Source(data).edited(mutant.edit))) != whole, mutant


def test_draws_the_same_wherever_code_has_moved_to() -> None:
    before = all_of(TOY)
    drawn = sample(before, 8, seed=1)
    assert sample(before, 4, seed=1) == drawn[:4]
    assert sample(before, 8, seed=2) != drawn
    moved = mutants("dedup/moved.py", ("x = y\n\n" + dedent(TOY)).encode())
    assert [(one.before, one.after) for one in sample(moved, 8, seed=1)] == [
        (one.before, one.after) for one in drawn
    ]


def test_tells_killed_from_survived_and_changes_nothing(toy: Path, tmp_path: Path) -> None:
    bench = Bench(toy, tmp_path)
    tests = ["tests/test_toy.py"]
    bench.prepare([MODULE, *tests])
    text = (toy / MODULE).read_text()
    killed = bench.fate(mutant_of("return part * whole"), tests)
    assert (killed.is_killed, killed.by) == (True, "dedup/toy.py::dedup.toy.share")
    survived = bench.fate(mutant_of("return size > 10"), tests)
    assert (survived.is_killed, survived.by) == (False, "")
    assert (toy / MODULE).read_text() == text


def test_a_hang_is_killed(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(toy, tmp_path)
    monkeypatch.setattr(running, "SECONDS", 3)
    fate = bench.fate(mutant_of("size += 1"), ["tests/test_toy.py"])
    assert (fate.is_killed, fate.by) == (True, "timeout")


def test_tests_that_fail_without_a_mutant_are_an_error(toy: Path, tmp_path: Path) -> None:
    (toy / "tests/test_toy.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(BrokenTestsError, match=r"tests/test_toy.py::test_it"):
        Bench(toy, tmp_path).prepare(["tests/test_toy.py"])


class Deadly(Bench):
    """A bench on which all mutants die, once each."""

    def __init__(self) -> None:
        self.seen: list[Mutant] = []

    def prepare(self, tests: Sequence[str]) -> None:
        assert list(tests) == [MODULE, "tests/test_toy.py"]

    def fate(self, mutant: Mutant, tests: Sequence[str]) -> Fate:
        assert list(tests) == ["tests/test_toy.py"]
        self.seen.append(mutant)
        return Fate(True, "tests/test_toy.py::test_large", 0.25)


def test_goes_on_where_it_was(tmp_path: Path) -> None:
    table = {"dedup/*.py": ["tests/test_toy.py"]}
    chosen = sample(all_of(TOY), 6, seed=0)
    explained = {f"{MODULE}: {chosen[2].before} -> {chosen[2].after}": "it is the same"}
    path = tmp_path / "out" / "mutation.csv"
    bench = Deadly()
    write(path, [row for row, _ in judged(chosen[:4], {}, bench, table, explained)])
    known = {row.key: row for row in read(path)}
    rows = [row for row, _ in judged(chosen, known, bench, table, explained)]
    assert bench.seen == [*chosen[:2], *chosen[3:]]
    assert [row.outcome for row in rows] == [
        "killed",
        "killed",
        "equivalent",
        "killed",
        "killed",
        "killed",
    ]
    assert rows[2].by == "it is the same"
    write(path, rows[4:])
    assert read(path) == rows


def test_counts_by_module_and_leaves_what_is_equivalent_out_of_the_share() -> None:
    def found(module: str, outcome: str) -> Found:
        return Found(module, 1, "constant", "x = 1", "x = 2", 0, outcome, "", 2.0)

    rows = [found("a.py", "killed"), found("a.py", "killed"), found("b.py", "killed")]
    text = summary([*rows, found("b.py", "survived"), found("b.py", "equivalent")])
    assert [line.split() for line in text.splitlines()[1:4]] == [
        ["a.py", "2", "0", "0"],
        ["b.py", "1", "1", "1"],
        ["all", "3", "1", "1"],
    ]
    assert text.endswith("75.0% of 4 killed; 2.0 s a mutant, median 2.0 s")


def test_the_table_is_of_what_is_there() -> None:
    for pattern, tests in TESTS.items():
        assert modules_of(ROOT, {pattern: ["x"]}), pattern
        assert [test for test in tests if not (ROOT / test).exists()] == [], pattern


def test_what_is_explained_is_there() -> None:
    found = [
        one for path in modules_of(ROOT, TESTS) for one in mutants(path, (ROOT / path).read_bytes())
    ]
    for key, why in EQUIVALENT.items():
        assert any(reason(mutant, {key: why}) for mutant in found), key
