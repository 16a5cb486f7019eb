"""All numbers that decide a verdict, each with what a user is told of it."""

from __future__ import annotations

import ast
from pathlib import Path

import dedup.rule
from dedup import DedupConfig
from dedup.rule import loss, site

FOLDER = Path(dedup.rule.__file__).parent
# What two pages must have in common to be compared, what may be lost, and what tells them apart.
SENTENCES = {
    (loss, "MIN_EQUAL_TOKENS"): "Equal texts of four words or more are one page.",
    (
        loss,
        "FEW_WORDS",
    ): "Fifteen words are few: in the frame of a site, or where the others stand elsewhere.",
    (loss, "MAX_LOST_SHARE"): "A longer page may lose a tenth of its words.",
    (loss, "MOST_TIMES"): "A long page loses at most two and a half times max_lost_words.",
    (loss, "MOST_SHARE"): "No page loses more than a third of what it has of its own.",
    (loss, "VERSIONS"): "What differs for the third time is a series or a record, and no version.",
    (loss, "LEAST_SAMPLED"): "A sample of fewer than three runs of words tells nothing.",
    (loss, "EDIT_SHARE"): "A version of a page changes at most an eighth of it.",
    (loss, "OTHER_SHARE"): "Under another title it changes at most a twentieth.",
    (loss, "WALL_PAIRS"): "What says little in the frame of a site needs three new pairs of words.",
    (loss, "EDIT_WORDS"): "A page with fewer than a hundred words of its own has no versions.",
    (loss, "RECORD_WORDS"): "With fewer than forty, under a title of many, it is a record.",
    (loss, "MIN_SIMILARITY"): "Copies share 62 % of their runs of four words.",
    (loss, "STRUCTURE_MAX_DISTANCE"): "A page of nearly the same tags is a candidate as well.",
    (site, "COMMON_PAGES"): "What stands on five pages of a site is its frame,",
    (site, "COMMON_SHARE"): "and on a large site what stands on one page in fifty.",
}
SETTINGS = ("max_distance", "max_lost_words")
# They bound the work and decide nothing.
OTHERS = {(loss, "MAX_CANDIDATES"), (loss, "MAX_STRUCTURE_CANDIDATES")}


def test_no_more_than_eighteen_numbers_decide() -> None:
    assert len(SENTENCES) + len(SETTINGS) <= 18
    assert all(isinstance(getattr(DedupConfig(), name), int | float) for name in SETTINGS)


def test_every_number_of_the_rule_is_among_them() -> None:
    found = {
        (module, target.id)
        for module in (loss, loss, site)
        for node in ast.parse(
            (FOLDER / f"{module.__name__.rsplit('.', 1)[1]}.py").read_text("utf-8")
        ).body
        if isinstance(node, ast.Assign)
        for target in ast.walk(node.targets[0])
        if isinstance(target, ast.Name) and isinstance(getattr(module, target.id), int | float)
    }
    assert found == {*SENTENCES, *OTHERS}


def test_no_number_stands_in_the_middle_of_it() -> None:
    """Beside 0 and 1, 2 of a formula, 3 of a shingle, and what is rounded or shown."""
    for path in sorted(FOLDER.glob("*.py")):
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.FunctionDef)
        ]
        numbers = {
            node.value
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Constant) and type(node.value) in {int, float}
        }
        assert numbers <= {0, 1, 2, 3, 100, 4096}, (path, numbers)
