"""Histograms of near copies, in words and as SVG, with the colours and the font of the page around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from dedup.recipes.config import DedupConfig
from dedup.report.overview import LOST_STEP, MOST_LOST, STEPS, Overview
from dedup.rule.verifier import verifier_of

_WIDTH, _HEIGHT = 500, 240
# Where the bars are: room for the threshold above them, and for numbers and names on two sides.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 488, 24, 192
_MOST_TICKS = 6
# As wide as a letter is at most, on the average of a text.
_LETTER = 7
# Bars that are drawn on the right of the last one and of the threshold.
_ROOM = 2


@dataclass(frozen=True, slots=True)
class Chart:
    """How many near copies there are by what *label* names (*axis* at length), without exact ones.

    Bar n stands for *counts* n, begins at n * *step*, and has *names* n in a table.  The threshold is at
    *edge*, and *bound* says it; None and "" stand for none.
    """

    title: str
    label: str
    axis: str
    counts: Sequence[int]
    names: Sequence[str]
    step: float
    edge: float | None
    bound: str

    @property
    def summary(self) -> str:
        """What the drawing shows, for those who do not see it."""
        bound = f"Threshold: {self.bound}." if self.bound else "No threshold."
        if not any(self.counts):
            return f"No near copies. {bound}"
        most = max(self.counts)
        where = f"most of them, {most:,}, at {self.names[self.counts.index(most)]}"
        return f"Histogram of {sum(self.counts):,} near copies by {self.label}; {where}. {bound}"

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The name and the count of each bar."""
        return [
            (name, f"{count:,}") for name, count in zip(self.names, self.counts, strict=True) if count
        ]

    @property
    def drawn(self) -> Sequence[int]:
        """The counts up to the last one and to the threshold."""
        last = max((place for place, count in enumerate(self.counts) if count), default=0)
        edge = 0 if self.edge is None else int(self.edge / self.step)
        return self.counts[: max(last, edge) + _ROOM]

    def x(self, value: float) -> float:
        """Return where *value* is, in units of the drawing."""
        return _LEFT + value / (self.step * len(self.drawn)) * (_RIGHT - _LEFT)

    def y(self, count: float) -> float:
        """Return how far down a bar of *count* begins."""
        return _BOTTOM - count / max(1, *self.counts) * (_BOTTOM - _TOP)


def charts_of(overview: Overview, config: DedupConfig) -> list[Chart]:
    """Return the charts of words lost and similarity, with the thresholds of *config*.

    There is none of words lost where no row tells any: older ones and other verifiers do not.
    """
    bounds = verifier_of(config).bounds
    lost, similarity = bounds.get("lost"), bounds.get("similarity")
    losses = Chart(
        title="Words lost with near copies",
        label="words lost",
        axis=f"words lost ({MOST_LOST} and more as {MOST_LOST})",
        counts=overview.losses,
        names=[
            *(f"{start} to {start + LOST_STEP - 1}" for start in range(0, MOST_LOST, LOST_STEP)),
            f"{MOST_LOST} or more",
        ],
        step=LOST_STEP,
        edge=lost + 0.5 if lost is not None and lost < MOST_LOST else None,
        bound="" if lost is None else lost_bound(config),
    )
    similarities = Chart(
        title="Similarity of near copies to the page kept",
        label="similarity",
        axis="estimated Jaccard similarity",
        counts=overview.similarities,
        names=[f"{step / STEPS:.2f} to {(step + 1) / STEPS:.2f}" for step in range(STEPS)],
        step=1 / STEPS,
        edge=similarity,
        bound="" if similarity is None else f"at least {similarity:g}",
    )
    return [*([losses] if any(overview.losses) else []), similarities]


def lost_bound(config: DedupConfig) -> str:
    """Return how many words a page may lose."""
    return f"at most {config.max_lost_words:,}, or {config.max_lost_share:.0%} of the words"


def svg(chart: Chart) -> str:
    """Return the drawing, as an element of a page."""
    parts = (*_grid(chart), *_bars(chart), *_edge(chart), *_names(chart))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="13" fill="var(--ink)" aria-hidden="true" '
        f'focusable="false">{"".join(parts)}</svg>'
    )


def _grid(chart: Chart) -> Iterator[str]:
    for count in ticks(max(1, *chart.counts), whole=True):
        y = chart.y(count)
        yield f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="var(--line)"/>'
        yield _text(_LEFT - 6, y + 4, f"{count:,.0f}", "end")
    for value in ticks(chart.step * len(chart.drawn), whole=chart.step >= 1):
        yield _text(chart.x(value), _BOTTOM + 17, f"{value:g}")


def _bars(chart: Chart) -> Iterator[str]:
    width = 0.8 * (_RIGHT - _LEFT) / len(chart.drawn)
    for number, count in enumerate(chart.drawn):
        if count:
            x, y = chart.x((number + 0.5) * chart.step) - width / 2, chart.y(count)
            shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOTTOM - y:.1f}"'
            yield f'<rect {shape} fill="var(--near)"/>'


def _edge(chart: Chart) -> Iterator[str]:
    if chart.edge is not None:
        x = chart.x(chart.edge)
        line = 'stroke="var(--edge)" stroke-width="2" stroke-dasharray="6 4"'
        yield f'<path d="M{x:.1f} {_TOP - 4}V{_BOTTOM}" {line}/>'
        told = f"threshold: {chart.bound}"
        room = len(told) * _LETTER / 2
        yield _text(min(max(x, room), _WIDTH - room), _TOP - 10, told, colour="var(--edge)")


def _names(chart: Chart) -> Iterator[str]:
    yield _text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, chart.axis)
    y = (_TOP + _BOTTOM) / 2
    yield f'<g transform="rotate(-90 14 {y:g})">{_text(14, y, "near copies")}</g>'


def _text(x: float, y: float, text: str, side: str = "middle", colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{side}"{fill}>{text}</text>'


def ticks(last: float, *, whole: bool) -> list[float]:
    """Return round numbers from 0 to *last*, evenly spread, at most seven; *whole* if asked.

    >>> ticks(9, whole=True), ticks(16, whole=True)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 5.0, 10.0, 15.0])
    """
    power = 10.0 ** floor(log10(last / _MOST_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if last / (power * factor) <= _MOST_TICKS)
    step = max(1.0, step) if whole else step
    return [number * step for number in range(floor(last / step + 1e-9) + 1)]
