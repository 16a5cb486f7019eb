"""The curves and histograms of a recipe, as small SVG files.  Equal figures give equal files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.judging import MEASURES, SAME_TEMPLATE, Judged
from benchmarks.accuracy.scoring import confusion, curve
from dedup import DedupConfig
from dedup.rule.similarity import MIN_SIMILARITY
from dedup.values.hashes import SIMHASH_BITS

CURVES = "accuracy-precision-recall.svg"
HISTOGRAMS = "accuracy-histograms.svg"

# One colour for a measure, and for a label, in every plot; told apart by those who see few colours.
_COLOURS = {"content": "#0072b2", "structure": "#e69f00", "similarity": "#009e73"}
_CLASSES = {1: ("copies", "#0072b2"), 0: ("different pages", "#d55e00")}
_BINS = {measure: np.arange(0, SIMHASH_BITS + 2) - 0.5 for measure in ("content", "structure")}
_BINS["similarity"] = np.linspace(0, 1, 41)
# Text stays text, in one font rather than in a list of all; ids do not change from run to run.
STYLE: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "svg.fonttype": "none",
    "svg.hashsalt": "dedup",
}
# Outlines come with six digits after the point; a tenth of a point is finer than a screen.
_OUTLINE = re.compile(r' d="[^"]*"')
_FRACTION = re.compile(r"(\.\d)\d+")
_PERCENT = np.linspace(0, 1, 101)


def plot(found: Sequence[Judged], config: DedupConfig, folder: Path) -> None:
    """Write `CURVES` and `HISTOGRAMS` of *found*, what one recipe and seed says of each part."""
    import matplotlib as mpl

    mpl.use("svg")
    with mpl.rc_context(STYLE):
        _curves(found, folder / CURVES)
        _histograms(found, config, folder / HISTOGRAMS)


def _curves(found: Sequence[Judged], path: Path) -> None:
    figure, grid = _grid(1, len(found))
    for axes, judged in zip(grid[0], found, strict=True):
        labels = judged.labels[judged.scored]
        for measure in MEASURES:
            points = curve(labels, judged.alikeness(measure), _thresholds(measure))
            axes.plot(
                [recall for _, _, recall in points],
                [precision for _, precision, _ in points],
                label=measure,
                color=_COLOURS[measure],
                linewidth=1,
            )
        rule = confusion(labels, judged.dropped[judged.scored])
        axes.plot(rule.recall, rule.precision, "k*", label="the rule")
        axes.set(title=judged.part.name, xlabel="recall", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    grid[0][0].set_ylabel("precision")
    grid[0][0].legend(loc="lower left")
    save(figure, path)


def _histograms(found: Sequence[Judged], config: DedupConfig, path: Path) -> None:
    limits = {
        "content": config.max_distance + 0.5,
        "structure": SAME_TEMPLATE + 0.5,
        "similarity": MIN_SIMILARITY,
    }
    figure, grid = _grid(len(MEASURES), len(found))
    for row, measure in zip(grid, MEASURES, strict=True):
        for axes, judged in zip(row, found, strict=True):
            for label, (name, colour) in _CLASSES.items():
                values = np.minimum(getattr(judged, measure)[judged.labels == label], SIMHASH_BITS)
                counts, edges = np.histogram(values, _BINS[measure])
                share = counts / max(1, len(values))
                axes.stairs(share, edges, label=name, color=colour, fill=True, alpha=0.5)
            axes.axvline(limits[measure], color="black", linewidth=0.8)
            axes.set(xlabel=measure if measure == "similarity" else f"{measure} distance")
        row[0].set_ylabel("share of the pairs")
    for axes, judged in zip(grid[0], found, strict=True):
        axes.set_title(judged.part.name)
    grid[0][0].legend()
    save(figure, path)


def _grid(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4 * columns, 2.2 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _thresholds(measure: str) -> Iterable[float]:
    return _PERCENT.tolist() if measure == "similarity" else range(-SIMHASH_BITS, 1)


def save(figure: Any, path: Path) -> None:
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    path.write_text(_OUTLINE.sub(_rounded, drawn.getvalue()), "utf-8")


def _rounded(outline: re.Match[str]) -> str:
    return _FRACTION.sub(r"\1", outline.group()).replace(" \n", "\n")
